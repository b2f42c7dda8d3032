// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hooks around weir's chain in nf_tables, which has priority -450 and queues what is for a
 * virtual address and not marked:
 *
 *   -460  known flow: mark it, which makes the chain accept it; or transmit it. Else leave it.
 *   -440  a packet that was left, and now has a mark: learn from it.
 */
#include "module.h"

#include <linux/ipv6.h>
#include <linux/netfilter_bridge.h>
#include <net/ip.h>
#include <net/netfilter/nf_conntrack.h>

#define WEIR_PRIORITY_KNOWN (-460)
#define WEIR_PRIORITY_LEARN (-440)

/*
 * What the first hook tells the second of a packet: in the last bytes of the control block, which
 * belongs to the network layer here and is kept while the packet waits in a queue. A value that
 * somebody else left there costs the second hook a look, and nothing else.
 */
struct weir_cb {
	u8 network_layer[44];
	u32 missed;
};

#define WEIR_MISSED 0x77656972

static struct weir_cb *weir_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct weir_cb) > sizeof(skb->cb));
	BUILD_BUG_ON(sizeof(struct inet_skb_parm) > offsetof(struct weir_cb, missed));
	BUILD_BUG_ON(sizeof(struct inet6_skb_parm) > offsetof(struct weir_cb, missed));
	return (struct weir_cb *)skb->cb;
}

static void weir_touch(struct weir_flow *flow, const struct weir_packet *packet)
{
	u32 now = (u32)jiffies;

	/* Written only when it changes: packets of one flow may come in on several processors. */
	if (READ_ONCE(flow->last_used) != now)
		WRITE_ONCE(flow->last_used, now);
	if (unlikely(READ_ONCE(flow->only_syn)) && !packet->only_syn)
		WRITE_ONCE(flow->only_syn, false);
}

static unsigned int weir_known(struct weir_node *node, struct weir_flow *flow,
			       struct sk_buff *skb, const struct nf_hook_state *state, bool direct)
{
	struct weir_backend *backend = flow->backend;

	this_cpu_inc(backend->counters->packets);
	this_cpu_add(backend->counters->bytes, skb->len);
	if (direct && weir_direct(state->net, skb, backend, state->pf)) {
		weir_count(node, WEIR_COUNTER_A_DIRECT);
		return NF_STOLEN;
	}
	skb->mark = (skb->mark & ~READ_ONCE(node->mark_mask)) | backend->mark;
	if (!skb_nfct(skb))
		nf_ct_set(skb, NULL, IP_CT_UNTRACKED);
	weir_count(node, WEIR_COUNTER_A_MARKED);
	return NF_ACCEPT;
}

static unsigned int weir_look_up(struct weir_node *node, struct weir_packet *packet,
				 struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct weir_service *service = weir_rules_match(node, packet);
	struct weir_flow *flow;
	u32 flags;

	if (!service)
		return NF_ACCEPT;
	flags = READ_ONCE(service->flags);
	if (packet->only_syn && (flags & WEIR_SERVICE_SYN_IS_NEW)) {
		weir_count(node, WEIR_COUNTER_A_NEW_BY_SYN);
		weir_cb(skb)->missed = WEIR_MISSED;
		return NF_ACCEPT;
	}
	weir_key_reduce(packet, service);
	flow = weir_flow_find(node, &packet->key);
	if (unlikely(!flow || !weir_flow_is_valid(flow))) {
		weir_count(node, WEIR_COUNTER_A_MISSED);
		weir_cb(skb)->missed = WEIR_MISSED;
		return NF_ACCEPT;
	}
	weir_touch(flow, packet);
	return weir_known(node, flow, skb, state, flags & WEIR_SERVICE_DIRECT);
}

static unsigned int weir_known_hook(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	struct weir_node *node = weir_node_of(state->net);
	struct weir_packet packet;

	weir_cb(skb)->missed = 0;
	/* Decided by somebody already, or on its way through a bridge. */
	if ((skb->mark & READ_ONCE(node->mark_mask)) || nf_bridge_info_exists(skb))
		return NF_ACCEPT;
	if (unlikely(!weir_parse(skb, state->pf, &packet))) {
		weir_count(node, WEIR_COUNTER_A_UNUSUAL);
		return NF_ACCEPT;
	}
	return weir_look_up(node, &packet, skb, state);
}

/*
 * The packet missed its flow and went on to the queue; now it carries a mark. If that is the mark
 * of a backend of its service, the engine has chosen this backend. Other marks (of the fallback, of
 * neighbour discovery, of somebody else's rules) are no backend's, and teach nothing. Under RCU.
 */
static void weir_learn(struct weir_node *node, const struct sk_buff *skb, u8 family)
{
	struct weir_service *service;
	struct weir_backend *backend;
	struct weir_packet packet;

	if (!weir_parse(skb, family, &packet))
		return;
	service = weir_rules_match(node, &packet);
	if (!service)
		return;
	backend = xa_load(&service->by_mark, skb->mark & READ_ONCE(node->mark_mask));
	if (!backend)
		return;
	weir_key_reduce(&packet, service);
	if (weir_flow_put_in(node, &packet.key, backend, READ_ONCE(service->epoch),
			     packet.only_syn))
		weir_count(node, WEIR_COUNTER_A_UNLEARNED);
}

static unsigned int weir_learn_hook(void *priv, struct sk_buff *skb,
				    const struct nf_hook_state *state)
{
	struct weir_node *node = weir_node_of(state->net);

	if (likely(weir_cb(skb)->missed != WEIR_MISSED))
		return NF_ACCEPT;
	weir_cb(skb)->missed = 0;
	if (!(skb->mark & READ_ONCE(node->mark_mask)))
		return NF_ACCEPT;
	/* Behind a queue this runs in the context of the engine's system call. */
	rcu_read_lock();
	weir_learn(node, skb, state->pf);
	rcu_read_unlock();
	return NF_ACCEPT;
}

#define WEIR_HOOK(family, function, place)                                  \
	{                                                                   \
		.hook = (function), .pf = (family), .priority = (place),    \
		.hooknum = NF_INET_PRE_ROUTING,                             \
	}

static const struct nf_hook_ops weir_hooks[] = {
	WEIR_HOOK(NFPROTO_IPV4, weir_known_hook, WEIR_PRIORITY_KNOWN),
	WEIR_HOOK(NFPROTO_IPV4, weir_learn_hook, WEIR_PRIORITY_LEARN),
	WEIR_HOOK(NFPROTO_IPV6, weir_known_hook, WEIR_PRIORITY_KNOWN),
	WEIR_HOOK(NFPROTO_IPV6, weir_learn_hook, WEIR_PRIORITY_LEARN),
};

int weir_hooks_register(struct net *net)
{
	return nf_register_net_hooks(net, weir_hooks, ARRAY_SIZE(weir_hooks));
}

void weir_hooks_unregister(struct net *net)
{
	nf_unregister_net_hooks(net, weir_hooks, ARRAY_SIZE(weir_hooks));
}
