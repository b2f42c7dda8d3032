// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

const struct nla_policy weir_flow_policy[WEIR_FLOW_A_MAX + 1] = {
	[WEIR_FLOW_A_SERVICE] = { .type = NLA_U16 },
	[WEIR_FLOW_A_KIND] = NLA_POLICY_MAX(NLA_U8, WEIR_FLOW_ONE),
	[WEIR_FLOW_A_SOURCE] = { .type = NLA_BINARY, .len = sizeof(struct in6_addr) },
	[WEIR_FLOW_A_DESTINATION] = { .type = NLA_BINARY, .len = sizeof(struct in6_addr) },
	[WEIR_FLOW_A_PROTOCOL] = { .type = NLA_U8 },
	[WEIR_FLOW_A_SOURCE_PORT] = { .type = NLA_U16 },
	[WEIR_FLOW_A_DESTINATION_PORT] = { .type = NLA_U16 },
};

/* The attributes of a key are those of its kind, no more and no less. */
static bool weir_read_key(struct nlattr **of, struct weir_key *key)
{
	bool has_destination, has_protocol, has_ports;

	if (!of[WEIR_FLOW_A_SERVICE] || !of[WEIR_FLOW_A_KIND] ||
	    !weir_nl_read_address(of[WEIR_FLOW_A_SOURCE], &key->source))
		return false;
	key->kind = nla_get_u8(of[WEIR_FLOW_A_KIND]);
	has_destination = key->kind != WEIR_FLOW_ONE;
	has_protocol = key->kind == WEIR_FLOW_FIVE || key->kind == WEIR_FLOW_THREE;
	has_ports = key->kind == WEIR_FLOW_FIVE;
	if (has_destination != !!of[WEIR_FLOW_A_DESTINATION] ||
	    has_protocol != !!of[WEIR_FLOW_A_PROTOCOL] ||
	    has_ports != !!of[WEIR_FLOW_A_SOURCE_PORT] ||
	    has_ports != !!of[WEIR_FLOW_A_DESTINATION_PORT])
		return false;
	if (has_destination &&
	    (nla_len(of[WEIR_FLOW_A_DESTINATION]) != nla_len(of[WEIR_FLOW_A_SOURCE]) ||
	     !weir_nl_read_address(of[WEIR_FLOW_A_DESTINATION], &key->destination)))
		return false;
	if (has_protocol)
		key->protocol = nla_get_u8(of[WEIR_FLOW_A_PROTOCOL]);
	if (has_ports) {
		key->source_port = htons(nla_get_u16(of[WEIR_FLOW_A_SOURCE_PORT]));
		key->destination_port = htons(nla_get_u16(of[WEIR_FLOW_A_DESTINATION_PORT]));
	}
	return true;
}

static int weir_put_address(struct sk_buff *skb, enum weir_flow_attr attribute,
			    const struct in6_addr *address)
{
	if (ipv6_addr_v4mapped(address))
		return nla_put_in_addr(skb, attribute, address->s6_addr32[3]);
	return nla_put_in6_addr(skb, attribute, address);
}

/* Under RCU. */
static int weir_put_flow(struct sk_buff *skb, const struct weir_flow *flow)
{
	const struct weir_key *key = &flow->key;
	struct nlattr *nest = nla_nest_start(skb, 1);
	u32 idle = (u32)jiffies - READ_ONCE(flow->last_used);

	if (!nest || nla_put_u16(skb, WEIR_FLOW_A_SERVICE, flow->backend->service->id) ||
	    nla_put_u8(skb, WEIR_FLOW_A_KIND, key->kind) ||
	    weir_put_address(skb, WEIR_FLOW_A_SOURCE, &key->source))
		goto full;
	if (key->kind != WEIR_FLOW_ONE &&
	    weir_put_address(skb, WEIR_FLOW_A_DESTINATION, &key->destination))
		goto full;
	if (key->kind <= WEIR_FLOW_THREE &&
	    nla_put_u8(skb, WEIR_FLOW_A_PROTOCOL, key->protocol))
		goto full;
	if (key->kind == WEIR_FLOW_FIVE &&
	    (nla_put_u16(skb, WEIR_FLOW_A_SOURCE_PORT, ntohs(key->source_port)) ||
	     nla_put_u16(skb, WEIR_FLOW_A_DESTINATION_PORT, ntohs(key->destination_port))))
		goto full;
	if (nla_put_u16(skb, WEIR_FLOW_A_SLOT, flow->backend->slot) ||
	    nla_put_u32(skb, WEIR_FLOW_A_EPOCH, READ_ONCE(flow->epoch)) ||
	    nla_put_u32(skb, WEIR_FLOW_A_IDLE, jiffies_to_msecs(idle)) ||
	    (READ_ONCE(flow->only_syn) && nla_put_flag(skb, WEIR_FLOW_A_ONLY_SYN)))
		goto full;
	nla_nest_end(skb, nest);
	return 0;

full:
	nla_nest_cancel(skb, nest);
	return -EMSGSIZE;
}

/*
 * Calls `each` for the flows of the keys in the request, valid or not, under RCU and the node's
 * lock. A service that is not there has no flows.
 */
static int weir_for_keys(struct genl_info *info, struct weir_node *node,
			 int (*each)(struct weir_node *node, struct weir_flow *flow, void *data),
			 void *data)
{
	struct nlattr *of[WEIR_FLOW_A_MAX + 1];
	int rest, err = 0, count = 0;
	struct nlattr *nest;

	lockdep_assert_held(&node->lock);
	nla_for_each_nested(nest, info->attrs[WEIR_A_FLOWS], rest) {
		struct weir_service *service;
		struct weir_key key = {};
		struct weir_flow *flow;

		err = nla_parse_nested(of, WEIR_FLOW_A_MAX, nest, weir_flow_policy, info->extack);
		if (err)
			return err;
		if (++count > WEIR_MAX_FLOWS_PER_MESSAGE || !weir_read_key(of, &key))
			return weir_refuse(info->extack, nest, -EINVAL,
					   "too many keys, or one without what its kind has");
		service = weir_service_find(node, nla_get_u16(of[WEIR_FLOW_A_SERVICE]));
		if (!service)
			continue;
		key.service = service->uid;
		rcu_read_lock();
		flow = weir_flow_find(node, &key);
		if (flow)
			err = each(node, flow, data);
		rcu_read_unlock();
		if (err)
			return err;
	}
	return 0;
}

static int weir_delete_each(struct weir_node *node, struct weir_flow *flow, void *data)
{
	weir_flow_remove(node, flow);
	return 0;
}

static int weir_forget(struct weir_node *node, struct genl_info *info)
{
	struct weir_backend *backend;
	struct weir_service *service;

	if (!info->attrs[WEIR_A_SERVICE])
		return weir_refuse(info->extack, NULL, -EINVAL,
				   "say which: FLOWS, SERVICE, or SERVICE and SLOT");
	service = weir_service_find(node, nla_get_u16(info->attrs[WEIR_A_SERVICE]));
	if (!service)
		return -ENOENT;
	if (!info->attrs[WEIR_A_SLOT]) {
		weir_service_forget_flows(service);
		return 0;
	}
	backend = weir_backend_find(service, nla_get_u16(info->attrs[WEIR_A_SLOT]));
	return backend ? weir_backend_renew(service, backend) : -ENOENT;
}

int weir_nl_flow_del(struct sk_buff *skb, struct genl_info *info)
{
	struct weir_node *node = weir_node_of(genl_info_net(info));
	int err;

	mutex_lock(&node->lock);
	err = info->attrs[WEIR_A_FLOWS] ? weir_for_keys(info, node, weir_delete_each, NULL) :
					  weir_forget(node, info);
	mutex_unlock(&node->lock);
	return err;
}

static int weir_answer_each(struct weir_node *node, struct weir_flow *flow, void *data)
{
	return weir_flow_is_valid(flow) ? weir_put_flow(data, flow) : 0;
}

int weir_nl_flow_get(struct sk_buff *skb, struct genl_info *info)
{
	/* Room for the largest flow (IPv6, five attributes more than its key) in every place. */
	const size_t most = WEIR_MAX_FLOWS_PER_MESSAGE * 128;
	struct weir_node *node = weir_node_of(genl_info_net(info));
	struct nlattr *array;
	struct sk_buff *reply;
	void *header;
	int err = -EMSGSIZE;

	if (!info->attrs[WEIR_A_FLOWS])
		return weir_refuse(info->extack, NULL, -EINVAL,
				   "FLOWS is missing; ask for a dump to get all");
	reply = genlmsg_new(most, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	header = genlmsg_put_reply(reply, info, &weir_family, 0, WEIR_CMD_FLOW_GET);
	array = header ? nla_nest_start(reply, WEIR_A_FLOWS) : NULL;
	if (!array)
		goto failed;
	mutex_lock(&node->lock);
	err = weir_for_keys(info, node, weir_answer_each, reply);
	mutex_unlock(&node->lock);
	if (err)
		goto failed;
	nla_nest_end(reply, array);
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);

failed:
	nlmsg_free(reply);
	return err;
}

/* Flows that one message of a dump looks at: those not valid any more take time, but no room. */
#define WEIR_DUMP_LOOKS 16384

int weir_nl_flow_dump_start(struct netlink_callback *cb)
{
	struct weir_node *node = weir_node_of(sock_net(cb->skb->sk));
	struct rhashtable_iter *walk = kzalloc(sizeof(*walk), GFP_KERNEL_ACCOUNT);

	if (!walk)
		return -ENOMEM;
	rhashtable_walk_enter(&node->flows, walk);
	cb->args[0] = (long)walk;
	return 0;
}

int weir_nl_flow_dump_done(struct netlink_callback *cb)
{
	struct rhashtable_iter *walk = (struct rhashtable_iter *)cb->args[0];

	rhashtable_walk_exit(walk);
	kfree(walk);
	return 0;
}

/* One message with as many flows as fit. The walk peeks: the first that does not comes next. */
int weir_nl_flow_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rhashtable_iter *walk = (struct rhashtable_iter *)cb->args[0];
	struct weir_flow *flow;
	struct nlattr *array;
	void *header;
	int looks = 0;

	header = weir_nl_put_header(skb, cb, WEIR_CMD_FLOW_GET);
	array = header ? nla_nest_start(skb, WEIR_A_FLOWS) : NULL;
	if (!array)
		return -EMSGSIZE;
	rhashtable_walk_start(walk);
	while (looks < WEIR_DUMP_LOOKS && (flow = rhashtable_walk_peek(walk))) {
		/* The table was resized: the walk has begun anew. */
		if (IS_ERR(flow) && PTR_ERR(flow) == -EAGAIN)
			continue;
		if (IS_ERR(flow))
			break;
		if (weir_flow_is_valid(flow) && weir_put_flow(skb, flow))
			break;
		++looks;
		rhashtable_walk_next(walk);
	}
	rhashtable_walk_stop(walk);
	if (!looks) {
		genlmsg_cancel(skb, header);
		return 0;
	}
	nla_nest_end(skb, array);
	genlmsg_end(skb, header);
	return skb->len;
}
