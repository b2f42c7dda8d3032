// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

static struct netlink_range_validation weir_not_zero = { .min = 1, .max = U32_MAX };

const struct nla_policy weir_rule_policy[WEIR_RULE_A_MAX + 1] = {
	[WEIR_RULE_A_ADDRESS] = { .type = NLA_BINARY, .len = sizeof(struct in6_addr) },
	[WEIR_RULE_A_PROTOCOL] = { .type = NLA_U8 },
	[WEIR_RULE_A_FIRST_PORT] = { .type = NLA_U16 },
	[WEIR_RULE_A_LAST_PORT] = { .type = NLA_U16 },
};

const struct nla_policy weir_backend_policy[WEIR_BACKEND_A_MAX + 1] = {
	[WEIR_BACKEND_A_SLOT] = { .type = NLA_U16 },
	[WEIR_BACKEND_A_MARK] = NLA_POLICY_FULL_RANGE(NLA_U32, &weir_not_zero),
	[WEIR_BACKEND_A_EPOCH_TCP] = { .type = NLA_U32 },
	[WEIR_BACKEND_A_EPOCH_UDP] = { .type = NLA_U32 },
	[WEIR_BACKEND_A_EPOCH_OTHER] = { .type = NLA_U32 },
};

/* Runs a command for the service that the message names, under the node's lock. */
static int weir_on_service(struct genl_info *info,
			   int (*command)(struct weir_node *node, struct weir_service *service,
					  struct genl_info *info))
{
	struct weir_service *service;
	struct weir_node *node;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, WEIR_A_SERVICE))
		return -EINVAL;
	node = weir_nl_lock_node(info);
	if (IS_ERR(node))
		return PTR_ERR(node);
	service = weir_service_find(node, nla_get_u16(info->attrs[WEIR_A_SERVICE]));
	err = service ? command(node, service, info) :
			weir_refuse(info->extack, info->attrs[WEIR_A_SERVICE], -ENOENT,
				    "no such service");
	mutex_unlock(&node->lock);
	return err;
}

static int weir_read_rule(struct nlattr *nest, struct weir_rule *rule,
			  struct netlink_ext_ack *extack)
{
	struct nlattr *of[WEIR_RULE_A_MAX + 1];
	int err;

	err = nla_parse_nested(of, WEIR_RULE_A_MAX, nest, weir_rule_policy, extack);
	if (err)
		return err;
	if (!weir_nl_read_address(of[WEIR_RULE_A_ADDRESS], &rule->address))
		return weir_refuse(extack, nest, -EINVAL,
				   "a rule needs an address of 4 or 16 bytes");
	if (of[WEIR_RULE_A_PROTOCOL])
		rule->protocol = nla_get_u8(of[WEIR_RULE_A_PROTOCOL]);
	rule->all_ports = !of[WEIR_RULE_A_FIRST_PORT];
	if (rule->all_ports != !of[WEIR_RULE_A_LAST_PORT] ||
	    (!rule->all_ports && !rule->protocol))
		return weir_refuse(extack, nest, -EINVAL,
				   "ports come with a protocol, first and last");
	if (rule->all_ports)
		return 0;
	rule->first_port = nla_get_u16(of[WEIR_RULE_A_FIRST_PORT]);
	rule->last_port = nla_get_u16(of[WEIR_RULE_A_LAST_PORT]);
	if (rule->first_port <= rule->last_port)
		return 0;
	return weir_refuse(extack, nest, -EINVAL, "the first port is above the last");
}

static struct weir_rules *weir_read_rules(struct nlattr *array, struct netlink_ext_ack *extack)
{
	struct weir_rules *rules;
	struct nlattr *nest;
	u32 count = 0;
	int rest, err;

	nla_for_each_nested(nest, array, rest)
		++count;
	rules = kvzalloc(struct_size(rules, rules, count), GFP_KERNEL_ACCOUNT);
	if (!rules)
		return ERR_PTR(-ENOMEM);
	nla_for_each_nested(nest, array, rest) {
		err = weir_read_rule(nest, &rules->rules[rules->count], extack);
		if (err) {
			kvfree(rules);
			return ERR_PTR(err);
		}
		++rules->count;
	}
	return rules;
}

static int weir_set_service(struct weir_node *node, struct genl_info *info,
			    struct weir_rules *rules)
{
	u16 id = nla_get_u16(info->attrs[WEIR_A_SERVICE]);
	struct weir_service *service = weir_service_find(node, id);
	struct nlattr **of = info->attrs;

	if (!service) {
		if (GENL_REQ_ATTR_CHECK(info, WEIR_A_KEY) ||
		    GENL_REQ_ATTR_CHECK(info, WEIR_A_IDLE_TIMEOUT))
			return -EINVAL;
		service = weir_service_make(node, id, nla_get_u8(of[WEIR_A_KEY]));
		if (IS_ERR(service))
			return PTR_ERR(service);
	} else if (of[WEIR_A_KEY] && nla_get_u8(of[WEIR_A_KEY]) != service->key_mode) {
		WRITE_ONCE(service->key_mode, nla_get_u8(of[WEIR_A_KEY]));
		weir_service_forget_flows(service);
	}
	WRITE_ONCE(service->epoch, nla_get_u32(of[WEIR_A_EPOCH]));
	if (of[WEIR_A_SERVICE_FLAGS])
		WRITE_ONCE(service->flags, nla_get_u32(of[WEIR_A_SERVICE_FLAGS]));
	if (of[WEIR_A_IDLE_TIMEOUT])
		WRITE_ONCE(service->idle, nla_get_u32(of[WEIR_A_IDLE_TIMEOUT]) * HZ);
	if (rules)
		weir_rules_replace(node, service, rules);
	return 0;
}

int weir_nl_service_set(struct sk_buff *skb, struct genl_info *info)
{
	struct weir_rules *rules = NULL;
	struct weir_node *node;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, WEIR_A_SERVICE) || GENL_REQ_ATTR_CHECK(info, WEIR_A_EPOCH))
		return -EINVAL;
	if (info->attrs[WEIR_A_RULES]) {
		rules = weir_read_rules(info->attrs[WEIR_A_RULES], info->extack);
		if (IS_ERR(rules))
			return PTR_ERR(rules);
	}
	node = weir_nl_lock_node(info);
	if (IS_ERR(node)) {
		kvfree(rules);
		return PTR_ERR(node);
	}
	err = weir_set_service(node, info, rules);
	mutex_unlock(&node->lock);
	if (err)
		kvfree(rules);
	return err;
}

static int weir_del_service(struct weir_node *node, struct weir_service *service,
			    struct genl_info *info)
{
	weir_service_remove(node, service);
	return 0;
}

int weir_nl_service_del(struct sk_buff *skb, struct genl_info *info)
{
	return weir_on_service(info, weir_del_service);
}

static int weir_read_backend(struct weir_node *node, struct weir_service *service,
			     struct nlattr *nest, struct netlink_ext_ack *extack)
{
	struct nlattr *of[WEIR_BACKEND_A_MAX + 1];
	u32 epochs[WEIR_CLASSES] = {};
	u32 mark;
	int err, i;

	err = nla_parse_nested(of, WEIR_BACKEND_A_MAX, nest, weir_backend_policy, extack);
	if (err)
		return err;
	if (!of[WEIR_BACKEND_A_SLOT] || !of[WEIR_BACKEND_A_MARK])
		return weir_refuse(extack, nest, -EINVAL, "a backend needs a slot and a mark");
	mark = nla_get_u32(of[WEIR_BACKEND_A_MARK]);
	if (mark & ~node->mark_mask)
		return weir_refuse(extack, of[WEIR_BACKEND_A_MARK], -ERANGE,
				   "the mark is not within the mask");
	for (i = 0; i < WEIR_CLASSES; ++i)
		if (of[WEIR_BACKEND_A_EPOCH_TCP + i])
			epochs[i] = nla_get_u32(of[WEIR_BACKEND_A_EPOCH_TCP + i]);
	return weir_backend_set(service, nla_get_u16(of[WEIR_BACKEND_A_SLOT]), mark, epochs);
}

static int weir_set_backends(struct weir_node *node, struct weir_service *service,
			     struct genl_info *info)
{
	struct nlattr *nest;
	int rest, err;

	nla_for_each_nested(nest, info->attrs[WEIR_A_BACKENDS], rest) {
		err = weir_read_backend(node, service, nest, info->extack);
		if (err)
			return err;
	}
	return 0;
}

int weir_nl_backend_set(struct sk_buff *skb, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, WEIR_A_BACKENDS))
		return -EINVAL;
	return weir_on_service(info, weir_set_backends);
}

static int weir_del_backend(struct weir_node *node, struct weir_service *service,
			    struct genl_info *info)
{
	struct nlattr *slot = info->attrs[WEIR_A_SLOT];
	struct weir_backend *backend = weir_backend_find(service, nla_get_u16(slot));

	if (!backend)
		return weir_refuse(info->extack, slot, -ENOENT, "no such backend");
	weir_backend_remove(service, backend);
	return 0;
}

int weir_nl_backend_del(struct sk_buff *skb, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, WEIR_A_SLOT))
		return -EINVAL;
	return weir_on_service(info, weir_del_backend);
}

static int weir_put_service(struct sk_buff *skb, const struct weir_service *service)
{
	if (nla_put_u8(skb, WEIR_A_KEY, service->key_mode) ||
	    nla_put_u32(skb, WEIR_A_SERVICE_FLAGS, service->flags) ||
	    nla_put_u32(skb, WEIR_A_IDLE_TIMEOUT, service->idle / HZ) ||
	    nla_put_u32(skb, WEIR_A_EPOCH, service->epoch))
		return -EMSGSIZE;
	return 0;
}

static int weir_put_backend(struct sk_buff *skb, const struct weir_backend *backend)
{
	struct nlattr *array = nla_nest_start(skb, WEIR_A_BACKENDS);
	struct nlattr *nest = array ? nla_nest_start(skb, 1) : NULL;
	u64 packets = 0, bytes = 0;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		const struct weir_backend_counters *counters = per_cpu_ptr(backend->counters, cpu);

		packets += READ_ONCE(counters->packets);
		bytes += READ_ONCE(counters->bytes);
	}
	if (!nest || nla_put_u16(skb, WEIR_BACKEND_A_SLOT, backend->slot) ||
	    nla_put_u32(skb, WEIR_BACKEND_A_MARK, backend->mark) ||
	    nla_put_u64_64bit(skb, WEIR_BACKEND_A_PACKETS, packets, WEIR_BACKEND_A_PAD) ||
	    nla_put_u64_64bit(skb, WEIR_BACKEND_A_BYTES, bytes, WEIR_BACKEND_A_PAD))
		return -EMSGSIZE;
	for (i = 0; i < WEIR_CLASSES; ++i)
		if (nla_put_u32(skb, WEIR_BACKEND_A_EPOCH_TCP + i, backend->epochs[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	nla_nest_end(skb, array);
	return 0;
}

/* A message of a dump: of the service, or of its backend if there is one. */
static int weir_put_message(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct weir_service *service, const struct weir_backend *backend)
{
	void *header = weir_nl_put_header(skb, cb, backend ? WEIR_CMD_BACKEND_GET :
							     WEIR_CMD_SERVICE_GET);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u16(skb, WEIR_A_SERVICE, service->id) ||
	    (backend ? weir_put_backend(skb, backend) : weir_put_service(skb, service))) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* cb->args[0]: the id to go on with; past the last one when all have been put. */
int weir_nl_service_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct weir_node *node = weir_node_of(sock_net(skb->sk));
	struct weir_service *service;
	unsigned long id;

	mutex_lock(&node->lock);
	xa_for_each_start(&node->services, id, service, cb->args[0])
		if (weir_put_message(skb, cb, service, NULL))
			break;
	cb->args[0] = service ? id : ULONG_MAX;
	mutex_unlock(&node->lock);
	return skb->len;
}

/* cb->args: the service's id and the slot to go on with. */
int weir_nl_backend_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct weir_node *node = weir_node_of(sock_net(skb->sk));
	struct weir_service *service;
	unsigned long id;

	mutex_lock(&node->lock);
	xa_for_each_start(&node->services, id, service, cb->args[0]) {
		unsigned long slot, first = id == cb->args[0] ? cb->args[1] : 0;
		struct weir_backend *backend;

		xa_for_each_start(&service->by_slot, slot, backend, first)
			if (weir_put_message(skb, cb, service, backend))
				break;
		if (backend) {
			cb->args[1] = slot;
			break;
		}
	}
	cb->args[0] = service ? id : ULONG_MAX;
	mutex_unlock(&node->lock);
	return skb->len;
}

