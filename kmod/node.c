// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

#include <net/netns/generic.h>

/* Most flows where only a user namespace's root has asked: their memory is nobody's account. */
#define WEIR_MAX_FLOWS_UNPRIVILEGED 65536

static unsigned int weir_net_id;

struct weir_node *weir_node_of(const struct net *net)
{
	return net_generic(net, weir_net_id);
}

int weir_node_set(struct weir_node *node, u32 mark_mask, u32 max_flows,
		  struct netlink_ext_ack *extack)
{
	int err;

	lockdep_assert_held(&node->lock);
	if (node->mark_mask && node->mark_mask != mark_mask) {
		NL_SET_ERR_MSG(extack, "another mark mask is in use; end it with NODE_DEL first");
		return -EBUSY;
	}
	if (node->net->user_ns != &init_user_ns)
		max_flows = min_t(u32, max_flows, WEIR_MAX_FLOWS_UNPRIVILEGED);
	WRITE_ONCE(node->max_flows, max_flows);
	if (node->mark_mask)
		return 0;
	WRITE_ONCE(node->mark_mask, mark_mask);
	err = weir_hooks_register(node->net);
	if (err) {
		WRITE_ONCE(node->mark_mask, 0);
		return err;
	}
	schedule_delayed_work(&node->collector, HZ);
	return 0;
}

/* When no packet is in a hook any more, so that nothing is learned. */
static void weir_node_empty(struct weir_node *node)
{
	struct weir_service *service;
	unsigned long id;

	cancel_delayed_work_sync(&node->collector);
	xa_for_each(&node->services, id, service)
		weir_service_remove(node, service);
	weir_flows_flush(node);
}

void weir_node_clear(struct weir_node *node)
{
	int cpu;

	lockdep_assert_held(&node->lock);
	if (!node->mark_mask)
		return;
	weir_hooks_unregister(node->net);
	synchronize_rcu();
	WRITE_ONCE(node->mark_mask, 0);
	weir_node_empty(node);
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(node->counters, cpu), 0, sizeof(struct weir_counters));
}

static int __net_init weir_net_init(struct net *net)
{
	struct weir_node *node = weir_node_of(net);
	int err, i;

	node->net = net;
	mutex_init(&node->lock);
	xa_init_flags(&node->services, XA_FLAGS_ACCOUNT);
	INIT_DELAYED_WORK(&node->collector, weir_collect);
	for (i = 0; i < WEIR_SHARDS; ++i) {
		spin_lock_init(&node->shards[i].lock);
		INIT_LIST_HEAD(&node->shards[i].flows);
	}
	for (i = 0; i < WEIR_RULE_BUCKETS; ++i)
		INIT_HLIST_HEAD(&node->rules[i]);
	node->counters = alloc_percpu(struct weir_counters);
	if (!node->counters)
		return -ENOMEM;
	err = weir_table_init(node);
	if (err)
		free_percpu(node->counters);
	return err;
}

/* Between this and the next there is a grace period: packets that are in a hook leave it. */
static void __net_exit weir_net_pre_exit(struct net *net)
{
	struct weir_node *node = weir_node_of(net);

	if (node->mark_mask)
		weir_hooks_unregister(net);
}

/*
 * Nobody else is left who might know the node: packets have gone (above), commands come over
 * sockets that hold the namespace or have ended with the family, and the collector ends here.
 */
static void __net_exit weir_net_exit(struct net *net)
{
	struct weir_node *node = weir_node_of(net);

	mutex_lock(&node->lock);
	weir_node_empty(node);
	mutex_unlock(&node->lock);
	xa_destroy(&node->services);
	weir_table_destroy(node);
	free_percpu(node->counters);
}

struct pernet_operations weir_net_ops = {
	.init = weir_net_init,
	.pre_exit = weir_net_pre_exit,
	.exit = weir_net_exit,
	.id = &weir_net_id,
	.size = sizeof(struct weir_node),
};
