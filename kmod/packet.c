// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a packet to its key. The kernel has checked the network header before prerouting. Whatever
 * the engine would call malformed or has to look at more closely is unusual here, and left to it.
 */
#include "module.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

static void weir_set_ports(struct weir_packet *packet, __be16 source, __be16 destination)
{
	packet->key.source_port = source;
	packet->key.destination_port = destination;
	packet->has_ports = true;
}

static bool weir_parse_tcp(const struct sk_buff *skb, unsigned int offset,
			   struct weir_packet *packet)
{
	struct tcphdr buffer;
	const struct tcphdr *tcp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);

	if (!tcp || tcp->doff < 5 || offset + tcp->doff * 4 > skb->len)
		return false;
	weir_set_ports(packet, tcp->source, tcp->dest);
	packet->only_syn = tcp->syn && !tcp->ack;
	return true;
}

static bool weir_parse_udp(const struct sk_buff *skb, unsigned int offset,
			   struct weir_packet *packet)
{
	struct udphdr buffer;
	const struct udphdr *udp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);

	if (!udp || ntohs(udp->len) < sizeof(*udp) || offset + ntohs(udp->len) > skb->len)
		return false;
	weir_set_ports(packet, udp->source, udp->dest);
	return true;
}

/* Of TCP or UDP: the first has ports, which choose its rule, but are no part of its key. */
static bool weir_parse_fragment(const struct sk_buff *skb, unsigned int offset, bool first,
				struct weir_packet *packet)
{
	__be16 buffer[2];
	const __be16 *ports;

	packet->fragment = true;
	if (!first)
		return true;
	ports = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
	if (ports)
		weir_set_ports(packet, ports[0], ports[1]);
	return ports;
}

static bool weir_is_icmp_error(u8 type)
{
	return type == ICMP_DEST_UNREACH || type == ICMP_TIME_EXCEEDED ||
	       type == ICMP_PARAMETERPROB;
}

/* Errors are about another flow; neighbour discovery is not for backends. */
static bool weir_is_special_icmpv6(u8 type)
{
	return type < ICMPV6_INFOMSG_MASK || (type >= 133 && type <= 137);
}

static bool weir_parse_transport(const struct sk_buff *skb, unsigned int offset,
				 struct weir_packet *packet)
{
	u8 buffer[sizeof(struct icmphdr)];
	const u8 *icmp;

	switch (packet->key.protocol) {
	case IPPROTO_TCP:
		return weir_parse_tcp(skb, offset, packet);
	case IPPROTO_UDP:
		return weir_parse_udp(skb, offset, packet);
	case IPPROTO_ICMP:
		icmp = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
		return icmp && !weir_is_icmp_error(*icmp);
	case IPPROTO_ICMPV6:
		icmp = skb_header_pointer(skb, offset, sizeof(buffer), buffer);
		return icmp && !weir_is_special_icmpv6(*icmp);
	default:
		return true;
	}
}

static bool weir_parse_ipv4(const struct sk_buff *skb, struct weir_packet *packet)
{
	const struct iphdr *ip = ip_hdr(skb);
	unsigned int offset = skb_network_offset(skb) + ip->ihl * 4;
	unsigned int position = (ntohs(ip->frag_off) & IP_OFFSET) * 8;

	if (ipv4_is_multicast(ip->saddr) || ipv4_is_lbcast(ip->saddr))
		return false;
	memset(packet, 0, sizeof(*packet));
	ipv6_addr_set_v4mapped(ip->saddr, &packet->key.source);
	ipv6_addr_set_v4mapped(ip->daddr, &packet->key.destination);
	packet->key.protocol = ip->protocol;
	if (likely(!ip_is_fragment(ip)))
		return weir_parse_transport(skb, offset, packet);
	if (position + skb->len - skb_network_offset(skb) > IP_MAX_MTU)
		return false;
	if (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP)
		return weir_parse_fragment(skb, offset, !position, packet);
	return ip->protocol != IPPROTO_ICMPV6;
}

static bool weir_is_walked_extension(u8 next)
{
	return next == NEXTHDR_HOP || next == NEXTHDR_ROUTING || next == NEXTHDR_DEST ||
	       next == NEXTHDR_FRAGMENT;
}

static bool weir_parse_ipv6(const struct sk_buff *skb, struct weir_packet *packet)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	unsigned int offset = skb_network_offset(skb) + sizeof(*ip);
	u8 next = ip->nexthdr;
	u16 field = 0;

	if (ipv6_addr_is_multicast(&ip->saddr) || ipv6_addr_v4mapped(&ip->saddr) ||
	    ipv6_addr_v4mapped(&ip->daddr))
		return false;
	memset(packet, 0, sizeof(*packet));
	packet->key.source = ip->saddr;
	packet->key.destination = ip->daddr;
	if (next == NEXTHDR_FRAGMENT) {
		struct frag_hdr buffer;
		const struct frag_hdr *fragment =
			skb_header_pointer(skb, offset, sizeof(buffer), &buffer);

		if (!fragment)
			return false;
		offset += sizeof(*fragment);
		next = fragment->nexthdr;
		field = ntohs(fragment->frag_off) & (IP6_OFFSET | IP6_MF);
		if ((field & IP6_OFFSET) + skb->len - offset > IP_MAX_MTU)
			return false;
	}
	/* The engine walks chains of them. Behind a later fragment's header there is none. */
	if (weir_is_walked_extension(next) && !(field & IP6_OFFSET))
		return false;
	packet->key.protocol = next;
	if (likely(!field))
		return weir_parse_transport(skb, offset, packet);
	if (next == IPPROTO_TCP || next == IPPROTO_UDP)
		return weir_parse_fragment(skb, offset, !(field & IP6_OFFSET), packet);
	return next != IPPROTO_ICMPV6;
}

/* False: not to be looked up. */
bool weir_parse(const struct sk_buff *skb, u8 family, struct weir_packet *packet)
{
	return family == NFPROTO_IPV4 ? weir_parse_ipv4(skb, packet) :
					weir_parse_ipv6(skb, packet);
}

/* Leaves of the packet's attributes those that count for the service. */
void weir_key_reduce(struct weir_packet *packet, const struct weir_service *service)
{
	struct weir_key *key = &packet->key;

	/* A key's kind is the mode that asks for it, and each has less than the one before. */
	BUILD_BUG_ON(WEIR_FLOW_FIVE != (int)WEIR_KEY_FINEST);
	BUILD_BUG_ON(WEIR_FLOW_THREE != (int)WEIR_KEY_THREE);
	BUILD_BUG_ON(WEIR_FLOW_TWO != (int)WEIR_KEY_TWO);
	BUILD_BUG_ON(WEIR_FLOW_ONE != (int)WEIR_KEY_ONE);
	key->service = READ_ONCE(service->uid);
	key->kind = READ_ONCE(service->key_mode);
	if (key->kind == WEIR_FLOW_FIVE) {
		if (packet->has_ports && !packet->fragment)
			return;
		key->kind = WEIR_FLOW_THREE;
	}
	key->source_port = 0;
	key->destination_port = 0;
	if (key->kind >= WEIR_FLOW_TWO)
		key->protocol = 0;
	if (key->kind == WEIR_FLOW_ONE)
		memset(&key->destination, 0, sizeof(key->destination));
}
