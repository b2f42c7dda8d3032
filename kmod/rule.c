// SPDX-License-Identifier: GPL-2.0-or-later
#include "module.h"

#include <linux/hash.h>

static struct hlist_head *weir_rule_bucket(struct weir_node *node, const struct in6_addr *address)
{
	const u32 *word = (const u32 __force *)address->s6_addr32;
	u32 folded = word[0] ^ word[1] ^ word[2] ^ word[3];

	return &node->rules[hash_32(folded, ilog2(WEIR_RULE_BUCKETS))];
}

/* Takes over `rules` (or NULL). A packet in between meets the old ones, the new, or both. */
void weir_rules_replace(struct weir_node *node, struct weir_service *service,
			struct weir_rules *rules)
{
	struct weir_rules *former = service->rules;
	u32 i;

	lockdep_assert_held(&node->lock);
	for (i = 0; rules && i < rules->count; ++i) {
		struct weir_rule *rule = &rules->rules[i];

		rule->service = service;
		hlist_add_head_rcu(&rule->node, weir_rule_bucket(node, &rule->address));
	}
	service->rules = rules;
	if (!former)
		return;
	for (i = 0; i < former->count; ++i)
		hlist_del_rcu(&former->rules[i].node);
	kvfree_rcu(former, rcu);
}

/*
 * How well a rule fits a packet to its address; 0: not at all. One of another protocol does not,
 * nor one of ports for a packet that has none.
 */
static unsigned int weir_rule_fit(const struct weir_rule *rule, const struct weir_packet *packet)
{
	u16 port = ntohs(packet->key.destination_port);

	if (!rule->protocol)
		return 1;
	if (rule->protocol != packet->key.protocol)
		return 0;
	if (rule->all_ports)
		return 2;
	return packet->has_ports && port >= rule->first_port && port <= rule->last_port ? 3 : 0;
}

/* Under RCU. */
struct weir_service *weir_rules_match(struct weir_node *node, const struct weir_packet *packet)
{
	struct hlist_head *bucket = weir_rule_bucket(node, &packet->key.destination);
	struct weir_service *service = NULL;
	struct weir_rule *rule;
	unsigned int best = 0;

	hlist_for_each_entry_rcu(rule, bucket, node) {
		unsigned int fit;

		if (!ipv6_addr_equal(&rule->address, &packet->key.destination))
			continue;
		fit = weir_rule_fit(rule, packet);
		if (fit > best) {
			best = fit;
			service = rule->service;
		}
	}
	return service;
}
