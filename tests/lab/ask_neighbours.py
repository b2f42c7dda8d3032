# SPDX-License-Identifier: GPL-2.0-or-later
"""ask_neighbours.py INTERFACE ADDRESS...: asks the link for each address, IPv6 ones by the
solicited-node group and, when answered, once more by the address itself. Prints "ADDRESS MAC..."
with every answer; an address alone was not answered."""
import logging
import sys

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
from scapy.all import (ARP, Ether, ICMPv6NDOptSrcLLAddr, ICMPv6ND_NA, ICMPv6ND_NS, IPv6, get_if_addr,  # noqa: E402
                       get_if_addr6, get_if_hwaddr, in6_getnsma, in6_getnsmac, inet_pton, inet_ntop, srp1)
import socket  # noqa: E402

interface = sys.argv[1]
mac = get_if_hwaddr(interface)


def ask(packet, wanted):
    answer = srp1(packet, iface=interface, timeout=0.8, verbose=0, retry=0)
    return [answer[wanted].hwsrc if wanted is ARP else answer.src] if answer is not None and wanted in answer else []


for address in sys.argv[2:]:
    if ":" not in address:
        heard = ask(Ether(dst="ff:ff:ff:ff:ff:ff", src=mac) / ARP(psrc=get_if_addr(interface), pdst=address), ARP)
    else:
        group = in6_getnsma(inet_pton(socket.AF_INET6, address))

        def solicitation(to, link):
            return (Ether(dst=link, src=mac) / IPv6(src=get_if_addr6(interface), dst=to, hlim=255) / ICMPv6ND_NS(tgt=address) /
                    ICMPv6NDOptSrcLLAddr(lladdr=mac))
        heard = ask(solicitation(inet_ntop(socket.AF_INET6, group), in6_getnsmac(group)), ICMPv6ND_NA)
        if heard:
            heard += ask(solicitation(address, heard[0]), ICMPv6ND_NA)
    print(address, *heard, flush=True)
