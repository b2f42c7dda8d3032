/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * weir's flow cache: the backend of a known flow, without asking the queue.
 *
 *   main.c          loading and unloading
 *   node.c          a network namespace: what is there, and its end
 *   service.c       services and their backends
 *   rule.c          from a packet's destination to its service
 *   packet.c        from a packet to its key
 *   flow.c          the table of flows: finding, adding, removing, collecting
 *   path.c          the two hooks: known flows, and learning from the mark of a verdict
 *   direct.c        from a known flow to its neighbour, past the routing rules
 *   netlink.c       the commands; nodes
 *   netlink_service.c, netlink_flow.c
 *
 * Locks. Packets take none to find their flow: services, backends, rules and flows are read under
 * RCU and freed after a grace period. Commands change what is configured under weir_node.lock.
 * Flows are linked and unlinked under the lock of their shard, from packets as from commands; it
 * is taken inside of weir_node.lock, and nothing is taken inside of it but the hash table's own.
 *
 * Who holds what. A flow holds its backend, a backend holds its service. What is taken away is
 * marked dead at once, which makes its flows invalid, and goes when the last flow has let go.
 */
#ifndef WEIR_MODULE_H
#define WEIR_MODULE_H

#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/xarray.h>
#include <net/dst_cache.h>
#include <net/genetlink.h>
#include <uapi/weir.h>

#define WEIR_SHARDS 64
#define WEIR_RULE_BUCKETS 256
#define WEIR_COUNTERS WEIR_COUNTER_A_PAD

enum weir_class { WEIR_CLASS_TCP, WEIR_CLASS_UDP, WEIR_CLASS_OTHER, WEIR_CLASSES };

struct weir_counters {
	u64 of[WEIR_COUNTERS]; /* by enum weir_counter_attr */
};

/* All attributes that do not count are zero. IPv4 addresses are mapped (::ffff:a.b.c.d). */
struct weir_key {
	struct in6_addr source;
	struct in6_addr destination;
	__be16 source_port;
	__be16 destination_port;
	u8 protocol;
	u8 kind; /* enum weir_flow_kind */
	u16 zero;
	u32 service; /* weir_service.uid */
	u32 zero_too;
} __aligned(8);

struct weir_backend_counters {
	u64 packets;
	u64 bytes;
};

struct weir_backend {
	u32 mark;
	u16 slot;
	bool dead;
	u32 epochs[WEIR_CLASSES];
	struct weir_service *service;
	struct weir_backend_counters __percpu *counters;
	struct dst_cache routes[2]; /* IPv4, IPv6 */
	unsigned long direct_after; /* jiffies: no route for direct transmission before */
	refcount_t refs;	    /* its service's, and one for each flow */
	struct rcu_head rcu;
};

struct weir_rule {
	struct hlist_node node;
	struct in6_addr address;
	u8 protocol;
	bool all_ports;
	u16 first_port;
	u16 last_port;
	struct weir_service *service;
};

struct weir_rules {
	struct rcu_head rcu;
	u32 count;
	struct weir_rule rules[];
};

struct weir_service {
	u16 id;
	u8 key_mode;
	/* What keys carry instead of the id; a new one leaves all old flows behind. */
	u32 uid;
	u32 flags;
	u32 idle; /* jiffies */
	u32 epoch;
	struct xarray by_slot; /* its backends, both under weir_node.lock */
	struct xarray by_mark;
	struct weir_rules *rules; /* under weir_node.lock; may be NULL */
	refcount_t refs;	  /* its node's, and one for each backend */
	struct rcu_head rcu;
};

struct weir_flow {
	struct rhash_head node;
	struct weir_key key;
	struct weir_backend *backend;
	u32 epoch;
	u32 last_used; /* lower half of jiffies */
	u8 shard;
	bool only_syn;
	bool unlinked; /* under the shard's lock */
	union {
		struct list_head list; /* of the shard, until unlinked */
		struct rcu_head rcu;
	};
};

/* Flows in the order in which they were last looked at by whoever looks for old ones. */
struct weir_shard {
	spinlock_t lock; /* the list and its flows' membership */
	u32 count;
	struct list_head flows;
} ____cacheline_aligned_in_smp;

struct weir_node {
	struct net *net;
	struct mutex lock; /* services, backends, rules, and whether it is active */
	u32 mark_mask; /* 0: not active, no hooks */
	u32 max_flows;
	atomic_t flow_count;
	struct rhashtable flows;
	struct xarray services; /* by id, under lock */
	struct weir_counters __percpu *counters;
	struct delayed_work collector;
	struct weir_shard shards[WEIR_SHARDS];
	struct hlist_head rules[WEIR_RULE_BUCKETS];
};

/* What the hooks want to know of a packet. */
struct weir_packet {
	struct weir_key key; /* with all attributes that the packet has; `service` is not set */
	bool has_ports;
	bool fragment; /* of TCP or UDP */
	bool only_syn; /* SYN without ACK, not in a fragment */
};

/* node.c */
extern struct pernet_operations weir_net_ops;
struct weir_node *weir_node_of(const struct net *net);
int weir_node_set(struct weir_node *node, u32 mark_mask, u32 max_flows,
		  struct netlink_ext_ack *extack);
void weir_node_clear(struct weir_node *node);

static inline void weir_count(struct weir_node *node, enum weir_counter_attr counter)
{
	this_cpu_inc(node->counters->of[counter]);
}

/* service.c; callers hold weir_node.lock, except where it says otherwise */
struct weir_service *weir_service_find(struct weir_node *node, u16 id);
struct weir_service *weir_service_make(struct weir_node *node, u16 id, u8 key_mode);
void weir_service_remove(struct weir_node *node, struct weir_service *service);
void weir_service_forget_flows(struct weir_service *service);
struct weir_backend *weir_backend_find(struct weir_service *service, u16 slot);
int weir_backend_set(struct weir_service *service, u16 slot, u32 mark, const u32 *epochs);
int weir_backend_renew(struct weir_service *service, struct weir_backend *backend);
void weir_backend_remove(struct weir_service *service, struct weir_backend *backend);
/* Any context. */
void weir_backend_put(struct weir_backend *backend);

/* rule.c */
void weir_rules_replace(struct weir_node *node, struct weir_service *service,
			struct weir_rules *rules);
struct weir_service *weir_rules_match(struct weir_node *node, const struct weir_packet *packet);

/* packet.c */
bool weir_parse(const struct sk_buff *skb, u8 family, struct weir_packet *packet);
void weir_key_reduce(struct weir_packet *packet, const struct weir_service *service);

/* flow.c */
int weir_flows_init(void);
void weir_flows_exit(void);
int weir_table_init(struct weir_node *node);
void weir_table_destroy(struct weir_node *node);
struct weir_flow *weir_flow_find(struct weir_node *node, const struct weir_key *key);
bool weir_flow_is_valid(const struct weir_flow *flow);
void weir_flow_remove(struct weir_node *node, struct weir_flow *flow);
int weir_flow_put_in(struct weir_node *node, const struct weir_key *key,
		     struct weir_backend *backend, u32 epoch, bool only_syn);
void weir_flows_flush(struct weir_node *node);
void weir_collect(struct work_struct *work);
u32 weir_flow_bytes(void);

/* path.c */
int weir_hooks_register(struct net *net);
void weir_hooks_unregister(struct net *net);

/* direct.c */
bool weir_direct(struct net *net, struct sk_buff *skb, struct weir_backend *backend, u8 family);

/* netlink.c */
extern struct genl_family weir_family;
int weir_netlink_init(void);
void weir_netlink_exit(void);
/* Says why a command is refused, and gives what it is to return. */
#define weir_refuse(extack, attribute, error, words)               \
	({                                                         \
		NL_SET_ERR_MSG_ATTR(extack, attribute, words);     \
		(error);                                           \
	})

/* The namespace's node, locked; an error if it is not active. */
struct weir_node *weir_nl_lock_node(struct genl_info *info);
/* False unless there is an address of 4 or 16 bytes. */
bool weir_nl_read_address(const struct nlattr *attribute, struct in6_addr *address);
void *weir_nl_put_header(struct sk_buff *skb, struct netlink_callback *cb, enum weir_cmd command);

/* netlink_service.c */
extern const struct nla_policy weir_rule_policy[WEIR_RULE_A_MAX + 1];
extern const struct nla_policy weir_backend_policy[WEIR_BACKEND_A_MAX + 1];
int weir_nl_service_set(struct sk_buff *skb, struct genl_info *info);
int weir_nl_service_del(struct sk_buff *skb, struct genl_info *info);
int weir_nl_service_dump(struct sk_buff *skb, struct netlink_callback *cb);
int weir_nl_backend_set(struct sk_buff *skb, struct genl_info *info);
int weir_nl_backend_del(struct sk_buff *skb, struct genl_info *info);
int weir_nl_backend_dump(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink_flow.c */
extern const struct nla_policy weir_flow_policy[WEIR_FLOW_A_MAX + 1];
int weir_nl_flow_del(struct sk_buff *skb, struct genl_info *info);
int weir_nl_flow_get(struct sk_buff *skb, struct genl_info *info);
int weir_nl_flow_dump_start(struct netlink_callback *cb);
int weir_nl_flow_dump(struct sk_buff *skb, struct netlink_callback *cb);
int weir_nl_flow_dump_done(struct netlink_callback *cb);

static inline enum weir_class weir_class_of(u8 protocol)
{
	return protocol == IPPROTO_TCP ? WEIR_CLASS_TCP :
	       protocol == IPPROTO_UDP ? WEIR_CLASS_UDP :
					 WEIR_CLASS_OTHER;
}

#endif
