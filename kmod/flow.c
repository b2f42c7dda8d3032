// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of flows. The hash table grows and shrinks by itself and has a lock for each bucket;
 * around it stand shards, which know the flows' order of age. A shard's list is walked by the
 * collector and by whoever needs room; each puts the flows it leaves alone at the end.
 */
#include "module.h"

#include <linux/jhash.h>
#include <linux/random.h>

/* Flows that are looked at before the oldest of them gives way to a new one. */
#define WEIR_EVICT_LOOKS 32
/* Flows that the collector looks at while it holds a lock. */
#define WEIR_COLLECT_BATCH 128
/* The collector looks at every flow about once in so many seconds. */
#define WEIR_COLLECT_ROUND 30

static struct kmem_cache *weir_flow_cache __read_mostly;
static u64 weir_secret[8] __read_mostly;

static inline u64 weir_mix(u64 a, u64 b)
{
#ifdef CONFIG_ARCH_SUPPORTS_INT128
	__uint128_t product = (__uint128_t)a * b;

	return (u64)product ^ (u64)(product >> 64);
#else
	return (u64)jhash_2words((u32)a, (u32)(a >> 32), (u32)b) << 32 |
	       jhash_2words((u32)b, (u32)(b >> 32), (u32)a);
#endif
}

/* Products of secret factors, so that nobody can choose keys that meet. */
static inline u32 weir_key_hash(const void *data, u32 length, u32 seed)
{
	const u64 *word = data;
	u64 hash;

	BUILD_BUG_ON(sizeof(struct weir_key) != 6 * sizeof(u64));
	hash = weir_mix(word[0] ^ weir_secret[0], word[1] ^ weir_secret[1]);
	hash ^= weir_mix(word[2] ^ weir_secret[2], word[3] ^ weir_secret[3]);
	hash ^= weir_mix(word[4] ^ weir_secret[4], word[5] ^ weir_secret[5]);
	return (u32)(weir_mix(hash ^ weir_secret[6], seed ^ weir_secret[7]) >> 32);
}

static inline int weir_key_differs(struct rhashtable_compare_arg *arg, const void *object)
{
	const u64 *a = arg->key;
	const u64 *b = (const u64 *)&((const struct weir_flow *)object)->key;

	return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) |
		(a[5] ^ b[5])) != 0;
}

static const struct rhashtable_params weir_table_params = {
	.head_offset = offsetof(struct weir_flow, node),
	.key_offset = offsetof(struct weir_flow, key),
	.key_len = sizeof(struct weir_key),
	.hashfn = weir_key_hash,
	.obj_cmpfn = weir_key_differs,
	.automatic_shrinking = true,
};

int weir_flows_init(void)
{
	get_random_bytes(weir_secret, sizeof(weir_secret));
	weir_flow_cache = KMEM_CACHE(weir_flow, 0);
	return weir_flow_cache ? 0 : -ENOMEM;
}

void weir_flows_exit(void)
{
	/* For the flows, backends and services whose grace period has not ended. */
	rcu_barrier();
	kmem_cache_destroy(weir_flow_cache);
}

u32 weir_flow_bytes(void)
{
	return kmem_cache_size(weir_flow_cache);
}

int weir_table_init(struct weir_node *node)
{
	return rhashtable_init(&node->flows, &weir_table_params);
}

void weir_table_destroy(struct weir_node *node)
{
	rhashtable_destroy(&node->flows);
}

/* Under RCU. Valid or not. */
struct weir_flow *weir_flow_find(struct weir_node *node, const struct weir_key *key)
{
	return rhashtable_lookup(&node->flows, key, weir_table_params);
}

bool weir_flow_is_valid(const struct weir_flow *flow)
{
	const struct weir_backend *backend = flow->backend;
	const struct weir_service *service = backend->service;
	u32 valid_from = READ_ONCE(backend->epochs[weir_class_of(flow->key.protocol)]);

	return !READ_ONCE(backend->dead) && READ_ONCE(flow->epoch) >= valid_from &&
	       flow->key.service == READ_ONCE(service->uid) &&
	       (u32)jiffies - READ_ONCE(flow->last_used) < READ_ONCE(service->idle);
}

static void weir_flow_free(struct rcu_head *rcu)
{
	kmem_cache_free(weir_flow_cache, container_of(rcu, struct weir_flow, rcu));
}

static struct weir_flow *weir_oldest(struct weir_shard *shard)
{
	return list_first_entry(&shard->flows, struct weir_flow, list);
}

/* Takes the flow out of its list; it has left the hash table. Whoever finds it still may go on. */
static void weir_flow_unlink(struct weir_node *node, struct weir_shard *shard,
			     struct weir_flow *flow)
{
	lockdep_assert_held(&shard->lock);
	flow->unlinked = true;
	list_del(&flow->list);
	--shard->count;
	atomic_dec(&node->flow_count);
	weir_backend_put(flow->backend);
	call_rcu(&flow->rcu, weir_flow_free);
}

static void weir_flow_drop(struct weir_node *node, struct weir_shard *shard,
			   struct weir_flow *flow)
{
	lockdep_assert_held(&shard->lock);
	rhashtable_remove_fast(&node->flows, &flow->node, weir_table_params);
	weir_flow_unlink(node, shard, flow);
}

/* Under RCU. */
void weir_flow_remove(struct weir_node *node, struct weir_flow *flow)
{
	struct weir_shard *shard = &node->shards[flow->shard];

	spin_lock_bh(&shard->lock);
	if (!flow->unlinked)
		weir_flow_drop(node, shard, flow);
	spin_unlock_bh(&shard->lock);
}

/*
 * Of those that waited longest for a look: one not valid, else only a SYN, else the oldest. None
 * that has seen more gives way to a flow `for_syn`: that one can be learned from its next packet.
 */
static bool weir_evict(struct weir_node *node, struct weir_shard *shard, bool for_syn)
{
	struct weir_flow *victim = NULL;
	u32 looks = min_t(u32, shard->count, WEIR_EVICT_LOOKS);

	lockdep_assert_held(&shard->lock);
	while (looks--) {
		struct weir_flow *flow = weir_oldest(shard);

		if (!weir_flow_is_valid(flow)) {
			weir_flow_drop(node, shard, flow);
			weir_count(node, WEIR_COUNTER_A_EXPIRED);
			return true;
		}
		list_move_tail(&flow->list, &shard->flows);
		if (!victim || flow->only_syn > victim->only_syn ||
		    (flow->only_syn == victim->only_syn &&
		     (s32)(flow->last_used - victim->last_used) < 0))
			victim = flow;
	}
	if (!victim || (for_syn && !victim->only_syn))
		return false;
	weir_flow_drop(node, shard, victim);
	weir_count(node, WEIR_COUNTER_A_EVICTED);
	return true;
}

static struct weir_flow *weir_flow_make(const struct weir_key *key, struct weir_backend *backend,
					u32 epoch, bool only_syn)
{
	struct weir_flow *flow = kmem_cache_alloc(weir_flow_cache, GFP_ATOMIC | __GFP_NOWARN);

	if (!flow)
		return NULL;
	if (!refcount_inc_not_zero(&backend->refs)) {
		kmem_cache_free(weir_flow_cache, flow);
		return NULL;
	}
	flow->key = *key;
	flow->backend = backend;
	flow->epoch = epoch;
	flow->last_used = (u32)jiffies;
	flow->only_syn = only_syn;
	flow->unlinked = false;
	return flow;
}

static int weir_flow_link(struct weir_node *node, struct weir_shard *shard,
			  struct weir_flow *former, struct weir_flow *flow)
{
	int err;

	lockdep_assert_held(&shard->lock);
	if (former) {
		err = rhashtable_replace_fast(&node->flows, &former->node, &flow->node,
					      weir_table_params);
	} else {
		if (atomic_read(&node->flow_count) >= READ_ONCE(node->max_flows) &&
		    !weir_evict(node, shard, flow->only_syn))
			return -ENOSPC;
		err = rhashtable_insert_fast(&node->flows, &flow->node, weir_table_params);
	}
	if (err)
		return err;
	list_add_tail(&flow->list, &shard->flows);
	++shard->count;
	atomic_inc(&node->flow_count);
	if (former)
		weir_flow_unlink(node, shard, former);
	weir_count(node, former ? WEIR_COUNTER_A_REPLACED : WEIR_COUNTER_A_LEARNED);
	return 0;
}

/* Makes or renews the flow of a key. Under RCU. An error leaves what was there. */
int weir_flow_put_in(struct weir_node *node, const struct weir_key *key,
		     struct weir_backend *backend, u32 epoch, bool only_syn)
{
	u8 number = weir_key_hash(key, sizeof(*key), 0) % WEIR_SHARDS;
	struct weir_shard *shard = &node->shards[number];
	struct weir_flow *flow, *former;
	int err = 0;

	spin_lock_bh(&shard->lock);
	former = weir_flow_find(node, key);
	if (former && former->backend == backend) {
		WRITE_ONCE(former->epoch, epoch);
		WRITE_ONCE(former->last_used, (u32)jiffies);
		WRITE_ONCE(former->only_syn, only_syn);
		goto out;
	}
	err = -ENOMEM;
	flow = weir_flow_make(key, backend, epoch, only_syn);
	if (!flow)
		goto out;
	flow->shard = number;
	err = weir_flow_link(node, shard, former, flow);
	if (err) {
		weir_backend_put(backend);
		kmem_cache_free(weir_flow_cache, flow);
	}
out:
	spin_unlock_bh(&shard->lock);
	return err;
}

/* Looks at `share` flows of a shard, a batch at a time: all of them go, or those not valid. */
static void weir_sweep(struct weir_node *node, struct weir_shard *shard, u32 share, bool all)
{
	while (share) {
		u32 batch = min_t(u32, share, WEIR_COLLECT_BATCH);

		share -= batch;
		spin_lock_bh(&shard->lock);
		while (batch-- && !list_empty(&shard->flows)) {
			struct weir_flow *flow = weir_oldest(shard);

			if (!all && weir_flow_is_valid(flow)) {
				list_move_tail(&flow->list, &shard->flows);
				continue;
			}
			weir_flow_drop(node, shard, flow);
			weir_count(node, WEIR_COUNTER_A_EXPIRED);
		}
		spin_unlock_bh(&shard->lock);
		cond_resched();
	}
}

/* When none are learned any more. */
void weir_flows_flush(struct weir_node *node)
{
	int i;

	for (i = 0; i < WEIR_SHARDS; ++i)
		weir_sweep(node, &node->shards[i], READ_ONCE(node->shards[i].count), true);
}

void weir_collect(struct work_struct *work)
{
	struct weir_node *node = container_of(to_delayed_work(work), struct weir_node, collector);
	int i;

	for (i = 0; i < WEIR_SHARDS; ++i) {
		u32 count = READ_ONCE(node->shards[i].count);

		weir_sweep(node, &node->shards[i], DIV_ROUND_UP(count, WEIR_COLLECT_ROUND), false);
	}
	schedule_delayed_work(&node->collector, HZ);
}
