// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Direct transmission: to the neighbour that the routing rules give for the backend's mark, looked
 * up once and kept until routes change. It leaves out the hooks behind prerouting (FORWARD and
 * POSTROUTING), so it is for those who ask for it. Everything that forwarding would have to answer,
 * cut or think about (expired TTL, options, too large, IPsec, no gateway) is left to forwarding.
 */
#include "module.h"

#include <linux/inetdevice.h>
#include <linux/module.h>
#include <net/addrconf.h>
#include <net/arp.h>
#ifdef WEIR_HAS_GSO_HEADER /* from 6.5 on */
#include <net/gso.h>
#endif
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ndisc.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <net/xfrm.h>

static bool weir_direct_allowed __read_mostly;
module_param_named(direct, weir_direct_allowed, bool, 0644);
MODULE_PARM_DESC(direct,
		 "let packets of known flows skip the FORWARD and POSTROUTING hooks (default: no)");

static bool weir_has_ipsec(const struct net *net)
{
#ifdef CONFIG_XFRM
	return net->xfrm.policy_count[XFRM_POLICY_FWD] || net->xfrm.policy_count[XFRM_POLICY_OUT];
#else
	return false;
#endif
}

static bool weir_is_too_big(const struct sk_buff *skb, unsigned int mtu)
{
	return skb->len > mtu && !(skb_is_gso(skb) && skb_gso_validate_network_len(skb, mtu));
}

/* What both families refuse. */
static bool weir_is_plain(const struct net *net, struct sk_buff *skb)
{
	return skb->pkt_type == PACKET_HOST && !skb_warn_if_lro(skb) && !skb_sec_path(skb) &&
	       !weir_has_ipsec(net) && !netif_is_l3_master(skb->dev);
}

/* Puts the packet on the route, whose reference it takes. False: the packet is as it was. */
static bool weir_take_route(struct sk_buff *skb, struct dst_entry *dst, unsigned int mtu)
{
	if (weir_is_too_big(skb, mtu) || skb_cow(skb, LL_RESERVED_SPACE(dst->dev))) {
		dst_release(dst);
		return false;
	}
	skb_dst_drop(skb);
	skb_dst_set(skb, dst);
	skb->dev = dst->dev;
	skb_clear_tstamp(skb);
	skb_forward_csum(skb);
	return true;
}

/* A route that is of no use is not looked for again before a second has passed. */
static bool weir_may_look_for_route(const struct weir_backend *backend)
{
	return time_after_eq(jiffies, READ_ONCE(backend->direct_after));
}

static struct rtable *weir_route_ipv4(struct net *net, struct weir_backend *backend, __be32 to)
{
	struct flowi4 flow = { .daddr = to, .flowi4_mark = backend->mark };
	__be32 source;
	struct rtable *route = dst_cache_get_ip4(&backend->routes[0], &source);

	if (likely(route))
		return route;
	if (!weir_may_look_for_route(backend))
		return NULL;
	route = __ip_route_output_key(net, &flow);
	if (!IS_ERR(route)) {
		if (route->rt_type == RTN_UNICAST && route->rt_gw_family == AF_INET &&
		    !route->dst.xfrm && !route->dst.lwtstate) {
			dst_cache_set_ip4(&backend->routes[0], &route->dst, 0);
			return route;
		}
		ip_rt_put(route);
	}
	WRITE_ONCE(backend->direct_after, jiffies + HZ);
	return NULL;
}

static bool weir_direct_ipv4(struct net *net, struct sk_buff *skb, struct weir_backend *backend)
{
	struct in_device *in = __in_dev_get_rcu(skb->dev);
	const struct iphdr *ip = ip_hdr(skb);
	struct rtable *route;
	__be32 gateway;

	if (!in || !IN_DEV_FORWARD(in) || ip->ihl != 5 || ip->ttl <= 1)
		return false;
	route = weir_route_ipv4(net, backend, ip->daddr);
	if (!route)
		return false;
	gateway = route->rt_gw4;
	if (!weir_take_route(skb, &route->dst, ip_dst_mtu_maybe_forward(&route->dst, true)))
		return false;
	ip_decrease_ttl(ip_hdr(skb));
	IP_INC_STATS(net, IPSTATS_MIB_OUTFORWDATAGRAMS);
	neigh_xmit(NEIGH_ARP_TABLE, skb->dev, &gateway, skb);
	return true;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *weir_route_ipv6(struct net *net, struct weir_backend *backend,
					 const struct in6_addr *to)
{
	struct flowi6 flow = { .daddr = *to, .flowi6_mark = backend->mark };
	struct in6_addr source;
	struct dst_entry *dst = dst_cache_get_ip6(&backend->routes[1], &source);

	if (likely(dst))
		return dst;
	if (!weir_may_look_for_route(backend))
		return NULL;
	dst = ip6_route_output(net, NULL, &flow);
	if (!dst->error && !dst->xfrm && !dst->lwtstate &&
	    (((struct rt6_info *)dst)->rt6i_flags & RTF_GATEWAY)) {
		dst_cache_set_ip6(&backend->routes[1], dst, &in6addr_any);
		return dst;
	}
	dst_release(dst);
	WRITE_ONCE(backend->direct_after, jiffies + HZ);
	return NULL;
}

static bool weir_direct_ipv6(struct net *net, struct sk_buff *skb, struct weir_backend *backend)
{
	const struct inet6_dev *in = __in6_dev_get(skb->dev);
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	struct in6_addr gateway;
	struct dst_entry *dst;

	if (!in || !READ_ONCE(in->cnf.forwarding) || ip->hop_limit <= 1)
		return false;
	dst = weir_route_ipv6(net, backend, &ip->daddr);
	if (!dst)
		return false;
	gateway = ((struct rt6_info *)dst)->rt6i_gateway;
	if (!weir_take_route(skb, dst, ip6_dst_mtu_maybe_forward(dst, true)))
		return false;
	--ipv6_hdr(skb)->hop_limit;
	IP6_INC_STATS(net, __in6_dev_get(skb->dev), IPSTATS_MIB_OUTFORWDATAGRAMS);
	neigh_xmit(NEIGH_ND_TABLE, skb->dev, &gateway, skb);
	return true;
}
#else
static bool weir_direct_ipv6(struct net *net, struct sk_buff *skb, struct weir_backend *backend)
{
	return false;
}
#endif

/* True: the packet has gone. False: it goes by its mark. With bottom halves off. */
bool weir_direct(struct net *net, struct sk_buff *skb, struct weir_backend *backend, u8 family)
{
	if (!READ_ONCE(weir_direct_allowed) || !weir_is_plain(net, skb))
		return false;
	return family == NFPROTO_IPV4 ? weir_direct_ipv4(net, skb, backend) :
					weir_direct_ipv6(net, skb, backend);
}
