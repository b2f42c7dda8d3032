# SPDX-License-Identifier: GPL-2.0-or-later
"""Configurations for the lab's four backends."""

from lab import VIP4, VIP6


def endpoints(numbers):
    return ", ".join(f'{{ipAddress: 10.2.0.{10 + n}, ipv6Address: "fd02::{10 + n}"}}' for n in numbers)


def web_and_echo(primary=(1, 2), standby=(3, 4), service="", interval_s=1):
    """A TCP service `web` on port 80 and a UDP service `echo` on port 5353, both on both virtual
    addresses. `service`: further fields of both services, as YAML lines without indentation."""
    groups = [("primary", "zone-a", primary, "")]
    if standby:
        groups.append(("standby", "zone-b", standby, ", failover: true"))
    text = f"""
healthChecks:
  - {{name: web-hc, type: HTTP, checkIntervalSec: {interval_s}, timeoutSec: 1, httpHealthCheck: {{port: 80}}}}
networkEndpointGroups:
"""
    for name, zone, numbers, _ in groups:
        text += f"  - {{name: {name}, zone: {zone}, endpoints: [{endpoints(numbers)}]}}\n"
    text += "backendServices:\n"
    fields = "".join(f"    {line}\n" for line in service.splitlines() if line.strip())
    members = ", ".join(f"{{group: {name}{failover}}}" for name, _, _, failover in groups)
    for name, protocol in (("web", "TCP"), ("echo", "UDP")):
        text += f"""  - name: {name}
    loadBalancingScheme: INTERNAL
    protocol: {protocol}
    healthChecks: [web-hc]
    connectionDraining: {{drainingTimeoutSec: 300}}
{fields}    backends: [{members}]
"""
    text += "forwardingRules:\n"
    for name, protocol, port, service_name in (("web", "TCP", 80, "web"), ("echo", "UDP", 5353, "echo")):
        for version, address in ((4, VIP4), (6, f'"{VIP6}"')):
            text += (f"  - {{name: {name}-v{version}, loadBalancingScheme: INTERNAL, IPAddress: {address}, "
                     f"IPProtocol: {protocol}, ports: [{port}], backendService: {service_name}}}\n")
    return text


def every_protocol():
    """Three services on the same two addresses: `web` (TCP port 80), `datagrams` (UDP, by the
    recipe that keeps fragments together) and `rest` (every other protocol and port)."""
    text = web_and_echo(primary=(1, 2, 3, 4), standby=())
    services, rules = text.split("forwardingRules:\n")
    rules = "".join(line for line in rules.splitlines(True) if "web-v" in line)
    services = services.replace("name: echo", "name: datagrams").replace(
        "    protocol: UDP\n", "    protocol: UDP\n    sessionAffinity: CLIENT_IP\n    connectionTrackingPolicy: {trackingMode: PER_SESSION}\n")
    services += """  - name: rest
    loadBalancingScheme: INTERNAL
    protocol: UNSPECIFIED
    healthChecks: [web-hc]
    backends: [{group: primary}]
"""
    for name, protocol in (("datagrams", "UDP"), ("rest", "L3_DEFAULT")):
        for version, address in ((4, VIP4), (6, f'"{VIP6}"')):
            rules += (f"  - {{name: {name}-v{version}, loadBalancingScheme: INTERNAL, IPAddress: {address}, "
                      f"IPProtocol: {protocol}, allPorts: true, backendService: {name}}}\n")
    return services + "forwardingRules:\n" + rules
