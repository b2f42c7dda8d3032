# SPDX-License-Identifier: GPL-2.0-or-later
"""The proxies that bench-proxy compares, each with one thread and one process, at an address of its own."""

import json
import os

NAMES = ["one.bench.example", "two.bench.example", "*.more.bench.example"]
TCP_PORT, TLS_PORT, SERVER_PORT = 7000, 7443, 9000


class Contender:
    """`files` are written, then `command` is started; the process that it becomes is the one that is measured."""

    def __init__(self, name, address, directory, servers):
        self.name, self.address, self.directory, self.servers = name, address, f"{directory}/{name}", servers
        os.makedirs(self.directory, exist_ok=True)

    def write(self, name, text):
        path = f"{self.directory}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path


class Weir(Contender):
    def __init__(self, binaries, *words):
        super().__init__(*words)
        self.binaries = binaries
        endpoints = [{"ipAddress": server, "port": SERVER_PORT} for server in self.servers]
        rule = {"loadBalancingScheme": "INTERNAL_MANAGED", "IPAddress": self.address, "IPProtocol": "TCP"}
        resources = {
            "healthChecks": [{"name": "hc", "type": "TCP", "checkIntervalSec": 300,
                              "tcpHealthCheck": {"portSpecification": "USE_SERVING_PORT"}}],
            "networkEndpointGroups": [{"name": "group", "networkEndpointType": "GCE_VM_IP_PORT", "endpoints": endpoints}],
            "backendServices": [{"name": "service", "loadBalancingScheme": "INTERNAL_MANAGED", "protocol": "TCP",
                                 "healthChecks": ["hc"], "timeoutSec": 3600,
                                 "backends": [{"group": "group", "balancingMode": "CONNECTION", "maxConnections": 100000}]}],
            "targetTcpProxies": [{"name": "tcp", "service": "service"}, {"name": "tls"}],
            "tlsRoutes": [{"name": "routes", "targetProxies": ["tls"], "rules": [
                {"matches": [{"sniHost": [name]}], "action": {"destinations": [{"serviceName": "service"}]}} for name in NAMES]}],
            "forwardingRules": [{"name": "tcp", "ports": [TCP_PORT], "target": "tcp", **rule},
                                {"name": "tls", "ports": [TLS_PORT], "target": "tls", **rule}],
        }
        # JSON is YAML.
        self.write("etc/weir.yaml", "proxy: {threads: 1}\n")
        self.write("etc/conf.d/bench.yaml", json.dumps(resources))
        os.makedirs(f"{self.directory}/run", exist_ok=True)
        options = ["--config-dir", f"{self.directory}/etc", "--run-dir", f"{self.directory}/run",
                   "--state-dir", f"{self.directory}/run"]
        self.manager = [f"{binaries}/weir-manager", *options]
        self.command = [f"{binaries}/weir-proxy", *options]


class Haproxy(Contender):
    """`extra`: lines of the section `global`, and of `defaults`."""

    def __init__(self, extra_global, extra_defaults, *words):
        super().__init__(*words)
        servers = "".join(f"  server s{i} {server}:{SERVER_PORT}\n" for i, server in enumerate(self.servers))
        names = "".join(f"  use_backend servers if {{ req.ssl_sni -m {'end' if name[0] == '*' else 'str'} -i "
                        f"{name.lstrip('*')} }}\n" for name in NAMES)
        path = self.write("haproxy.cfg", f"""global
  nbthread 1
  maxconn 9200
{extra_global}
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
{extra_defaults}
frontend tcp
  bind {self.address}:{TCP_PORT} backlog 4096
  default_backend servers
frontend tls
  bind {self.address}:{TLS_PORT} backlog 4096
  tcp-request inspect-delay 10s
  tcp-request content accept if {{ req.ssl_hello_type 1 }}
{names}
backend servers
  balance roundrobin
{servers}""")
        self.command = ["haproxy", "-db", "-q", "-f", path]


class Nginx(Contender):
    def __init__(self, *words):
        super().__init__(*words)
        servers = " ".join(f"server {server}:{SERVER_PORT};" for server in self.servers)
        names = " ".join(f"{name} servers;" for name in NAMES)
        path = self.write("nginx.conf", f"""load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; master_process off; worker_processes 1; pid {self.directory}/pid; error_log {self.directory}/error.log crit;
worker_rlimit_nofile 20000;
events {{ worker_connections 20000; multi_accept on; }}
stream {{
  proxy_timeout 1h; proxy_connect_timeout 5s; preread_timeout 10s; tcp_nodelay on;
  upstream servers {{ {servers} }}
  map $ssl_preread_server_name $by_name {{ hostnames; {names} }}
  server {{ listen {self.address}:{TCP_PORT} backlog=4096; proxy_pass servers; }}
  server {{ listen {self.address}:{TLS_PORT} backlog=4096; ssl_preread on; proxy_pass $by_name; }}
}}
""")
        self.command = ["nginx", "-c", path, "-p", self.directory]


class Asio(Contender):
    """A bare relay on Boost.Asio, for the plain port alone: what the library's loop costs."""

    no_names = True

    def __init__(self, binaries, *words):
        super().__init__(*words)
        self.command = [f"{binaries}/weir_bench_proxy_asio", self.address, str(TCP_PORT), str(SERVER_PORT), *self.servers]


def contenders(binaries, directory, servers, addresses):
    """weir first; what its figures are divided by is haproxy's."""
    take = iter(addresses)

    def common(name):
        return name, next(take), directory, servers
    return [Weir(binaries, *common("weir")), Haproxy("", "", *common("haproxy")),
            # As few and as large moves as it can make: what its users do who look at the cost of bytes.
            Haproxy("  tune.pipesize 1048576\n  maxpipes 300\n", "  option splice-request\n  option splice-response\n", *common("haproxy-splice")),
            Nginx(*common("nginx")), Asio(binaries, *common("asio-relay"))]
