// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commands and what each may carry; include/uapi/weir.h says what they mean. Types, lengths and
 * ranges are the policies' matter, so the functions see valid values only.
 */
#include "module.h"

#include <linux/module.h>

static struct netlink_range_validation weir_max_flows_range = { .min = 1, .max = 1 << 27 };
static struct netlink_range_validation weir_idle_range = { .min = 1, .max = 57600 };
static struct netlink_range_validation weir_not_zero = { .min = 1, .max = U32_MAX };

/* One for each set of attributes that a command knows; others are refused. */
static const struct nla_policy weir_none_policy[WEIR_A_MAX + 1] = {
};

static const struct nla_policy weir_node_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_MARK_MASK] = NLA_POLICY_FULL_RANGE(NLA_U32, &weir_not_zero),
	[WEIR_A_MAX_FLOWS] = NLA_POLICY_FULL_RANGE(NLA_U32, &weir_max_flows_range),
};

static const struct nla_policy weir_service_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_SERVICE] = { .type = NLA_U16 },
	[WEIR_A_KEY] = NLA_POLICY_MAX(NLA_U8, WEIR_KEY_ONE),
	[WEIR_A_SERVICE_FLAGS] = NLA_POLICY_MASK(NLA_U32, WEIR_SERVICE_FLAGS),
	[WEIR_A_IDLE_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &weir_idle_range),
	[WEIR_A_EPOCH] = { .type = NLA_U32 },
	[WEIR_A_RULES] = NLA_POLICY_NESTED_ARRAY(weir_rule_policy),
};

static const struct nla_policy weir_backends_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_SERVICE] = { .type = NLA_U16 },
	[WEIR_A_BACKENDS] = NLA_POLICY_NESTED_ARRAY(weir_backend_policy),
};

static const struct nla_policy weir_service_id_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_SERVICE] = { .type = NLA_U16 },
};

static const struct nla_policy weir_slot_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_SERVICE] = { .type = NLA_U16 },
	[WEIR_A_SLOT] = { .type = NLA_U16 },
};

static const struct nla_policy weir_keys_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_FLOWS] = NLA_POLICY_NESTED_ARRAY(weir_flow_policy),
};

static const struct nla_policy weir_flows_policy[WEIR_A_MAX + 1] = {
	[WEIR_A_SERVICE] = { .type = NLA_U16 },
	[WEIR_A_SLOT] = { .type = NLA_U16 },
	[WEIR_A_FLOWS] = NLA_POLICY_NESTED_ARRAY(weir_flow_policy),
};

struct weir_node *weir_nl_lock_node(struct genl_info *info)
{
	struct weir_node *node = weir_node_of(genl_info_net(info));

	mutex_lock(&node->lock);
	if (node->mark_mask)
		return node;
	mutex_unlock(&node->lock);
	NL_SET_ERR_MSG(info->extack, "no node in this network namespace; begin with NODE_SET");
	return ERR_PTR(-ENOTCONN);
}

bool weir_nl_read_address(const struct nlattr *attribute, struct in6_addr *address)
{
	if (attribute && nla_len(attribute) == sizeof(struct in6_addr)) {
		*address = nla_get_in6_addr(attribute);
		return true;
	}
	if (attribute && nla_len(attribute) == sizeof(struct in_addr)) {
		ipv6_addr_set_v4mapped(nla_get_in_addr(attribute), address);
		return true;
	}
	return false;
}

void *weir_nl_put_header(struct sk_buff *skb, struct netlink_callback *cb, enum weir_cmd command)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &weir_family,
			   NLM_F_MULTI, command);
}

static int weir_nl_node_set(struct sk_buff *skb, struct genl_info *info)
{
	struct weir_node *node = weir_node_of(genl_info_net(info));
	int err;

	if (GENL_REQ_ATTR_CHECK(info, WEIR_A_MARK_MASK) ||
	    GENL_REQ_ATTR_CHECK(info, WEIR_A_MAX_FLOWS))
		return -EINVAL;
	mutex_lock(&node->lock);
	err = weir_node_set(node, nla_get_u32(info->attrs[WEIR_A_MARK_MASK]),
			    nla_get_u32(info->attrs[WEIR_A_MAX_FLOWS]), info->extack);
	mutex_unlock(&node->lock);
	return err;
}

static int weir_nl_node_del(struct sk_buff *skb, struct genl_info *info)
{
	struct weir_node *node = weir_node_of(genl_info_net(info));

	mutex_lock(&node->lock);
	weir_node_clear(node);
	mutex_unlock(&node->lock);
	return 0;
}

static int weir_put_counters(struct sk_buff *reply, struct weir_node *node)
{
	struct nlattr *nest = nla_nest_start(reply, WEIR_A_COUNTERS);
	int counter, cpu;

	if (!nest)
		return -EMSGSIZE;
	for (counter = 1; counter < WEIR_COUNTERS; ++counter) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu_ptr(node->counters, cpu)->of[counter]);
		if (nla_put_u64_64bit(reply, counter, sum, WEIR_COUNTER_A_PAD))
			return -EMSGSIZE;
	}
	nla_nest_end(reply, nest);
	return 0;
}

static int weir_nl_node_get(struct sk_buff *skb, struct genl_info *info)
{
	struct weir_node *node = weir_node_of(genl_info_net(info));
	struct sk_buff *reply = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;

	if (!reply)
		return -ENOMEM;
	header = genlmsg_put_reply(reply, info, &weir_family, 0, WEIR_CMD_NODE_GET);
	if (!header || nla_put_string(reply, WEIR_A_MODULE_VERSION, WEIR_VERSION) ||
	    nla_put_u32(reply, WEIR_A_MARK_MASK, READ_ONCE(node->mark_mask)) ||
	    nla_put_u32(reply, WEIR_A_MAX_FLOWS, READ_ONCE(node->max_flows)) ||
	    nla_put_u32(reply, WEIR_A_FLOW_COUNT, atomic_read(&node->flow_count)) ||
	    nla_put_u32(reply, WEIR_A_BYTES_PER_FLOW, weir_flow_bytes()) ||
	    weir_put_counters(reply, node)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

#define WEIR_OP(command, known, ...)                                                       \
	{                                                                                  \
		.cmd = WEIR_CMD_##command, .flags = GENL_UNS_ADMIN_PERM, .policy = (known), \
		.maxattr = WEIR_A_MAX, __VA_ARGS__                                         \
	}

static const struct genl_ops weir_ops[] = {
	WEIR_OP(NODE_SET, weir_node_policy, .doit = weir_nl_node_set),
	WEIR_OP(NODE_DEL, weir_none_policy, .doit = weir_nl_node_del),
	WEIR_OP(NODE_GET, weir_none_policy, .doit = weir_nl_node_get),
	WEIR_OP(SERVICE_SET, weir_service_policy, .doit = weir_nl_service_set),
	WEIR_OP(SERVICE_DEL, weir_service_id_policy, .doit = weir_nl_service_del),
	WEIR_OP(SERVICE_GET, weir_none_policy, .dumpit = weir_nl_service_dump),
	WEIR_OP(BACKEND_SET, weir_backends_policy, .doit = weir_nl_backend_set),
	WEIR_OP(BACKEND_DEL, weir_slot_policy, .doit = weir_nl_backend_del),
	WEIR_OP(BACKEND_GET, weir_none_policy, .dumpit = weir_nl_backend_dump),
	WEIR_OP(FLOW_DEL, weir_flows_policy, .doit = weir_nl_flow_del),
	WEIR_OP(FLOW_GET, weir_keys_policy, .doit = weir_nl_flow_get,
		.start = weir_nl_flow_dump_start, .dumpit = weir_nl_flow_dump,
		.done = weir_nl_flow_dump_done),
};

struct genl_family weir_family __ro_after_init = {
	.name = WEIR_GENL_NAME,
	.version = WEIR_GENL_VERSION,
	.maxattr = WEIR_A_MAX,
	.netnsok = true,
	.parallel_ops = true, /* each node has its lock */
	.module = THIS_MODULE,
	.ops = weir_ops,
	.n_ops = ARRAY_SIZE(weir_ops),
	.resv_start_op = WEIR_CMD_NODE_SET,
};

int __init weir_netlink_init(void)
{
	return genl_register_family(&weir_family);
}

void weir_netlink_exit(void)
{
	genl_unregister_family(&weir_family);
}
