# SPDX-License-Identifier: GPL-2.0-or-later
"""A small network of namespaces with a weir node in the middle.

                  +-----------+         +-------------+        +-----------+
                  |  client   |         |    weir     |        |  switch   |---- b1  10.2.0.11  fd02::11
   10.1.0.2       |      up0  |---------| client0     |        |   (L2     |---- b2  10.2.0.12  fd02::12
   fd01::2        +-----------+         |     lan0    |--------|  bridge)  |---- b3  10.2.0.13  fd02::13
                                        +-------------+        +-----------+---- b4  10.2.0.14  fd02::14
                                   10.1.0.1      10.2.0.1
                                   fd01::1       fd02::1

The virtual addresses 10.9.9.9 and fd09::9 stand on lo of every backend and nowhere on the weir
node; the client's default route leads to the weir node, which is also the backends' way back.

Every lab has names of its own, so that several can run at once, and takes everything down again
when it ends, also after a failure or a signal.
"""

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

VIP4 = "10.9.9.9"
VIP6 = "fd09::9"
HERE = os.path.dirname(os.path.abspath(__file__))


class LabError(Exception):
    pass


def run(*words, check=True, **kwargs):
    done = subprocess.run(words, text=True, capture_output=True, **kwargs)
    if check and done.returncode != 0:
        raise LabError(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done


class Namespace:
    """One host of the lab. Processes started in it end with the lab."""

    def __init__(self, lab, name):
        self.lab, self.name = lab, f"{lab.tag}-{name}"
        run("ip", "netns", "add", self.name)
        self.ip("link set lo up")
        # Link-local addresses are there at once, so that two readings of the tables compare.
        self.sysctl(net__ipv6__conf__default__accept_dad=0)

    def ip(self, arguments):
        return run("ip", "-n", self.name, *arguments.split())

    def sysctl(self, **values):
        for key, value in values.items():
            run("ip", "netns", "exec", self.name, "sysctl", "-qw", f"{key.replace('__', '.')}={value}")

    def run(self, *words, check=True, **kwargs):
        return run("ip", "netns", "exec", self.name, *words, check=check, **kwargs)

    def start(self, *words, log=None, **kwargs):
        # Without a log of its own a program's last words would be lost.
        out = open(log, "ab") if log else subprocess.DEVNULL
        process = subprocess.Popen(("ip", "netns", "exec", self.name) + words, stdout=kwargs.pop("stdout", out),
                                   stderr=kwargs.pop("stderr", out), stdin=kwargs.pop("stdin", subprocess.DEVNULL), **kwargs)
        self.lab.processes.append(process)
        return process


class Lab:
    """`router`: a router stands between the client and the weir node, on 10.5.0.0/24."""

    def __init__(self, binaries, backends=4, tag=None, router=False):
        self.binaries = os.path.abspath(binaries)
        self.tag = tag or f"weir{os.getpid() % 100000}"
        self.directory = tempfile.mkdtemp(prefix="weir-lab-")
        self.config, self.run_dir = f"{self.directory}/etc", f"{self.directory}/run"
        self.processes, self.namespaces, self.keep = [], {}, False
        self.servers, self.echoes, self.programs = {}, {}, {}
        os.makedirs(f"{self.config}/conf.d")
        os.makedirs(self.run_dir)
        atexit.register(self.close)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        self._build(backends, router)
        # The kernel notices a carrier late and then makes the link-local address and its routes; two
        # readings of the tables compare only after that.
        self.until(lambda: self.weir.run("ip", "-6", "-o", "addr", "show", "scope", "link").stdout.count("fe80::") == 2,
                   10, "the weir node's interfaces have their link-local addresses")

    # --- topology

    def _build(self, backends, router):
        client, weir, switch = (self.add(name) for name in ("client", "weir", "switch"))
        self.client, self.weir, self.router = client, weir, self.add("router") if router else None
        uplink = self.router or weir
        self.link(client, "up0", "10.1.0.2/24", "fd01::2/64", uplink, "client0", "10.1.0.1/24", "fd01::1/64")
        if router:
            self._build_router()
        client.ip("route add default via 10.1.0.1")
        client.ip("-6 route add default via fd01::1")
        switch.ip("link add br0 type bridge")
        switch.ip("link set br0 up")
        self.plug(weir, "lan0", "10.2.0.1/24", "fd02::1/64")
        weir.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1, net__ipv4__conf__all__rp_filter=0,
                    net__ipv4__conf__default__rp_filter=0, net__ipv4__conf__all__send_redirects=0,
                    net__ipv4__conf__lan0__send_redirects=0)
        self.backends = []
        for index in range(1, backends + 1):
            backend = self.add(f"b{index}")
            backend.address4, backend.address6 = f"10.2.0.{10 + index}", f"fd02::{10 + index}"
            backend.short = f"b{index}"
            # The preparation of a backend that the README describes.
            backend.sysctl(net__ipv4__conf__all__arp_ignore=1, net__ipv4__conf__all__arp_announce=2)
            self.plug(backend, "eth0", f"{backend.address4}/24", f"{backend.address6}/64")
            backend.ip(f"addr add {VIP4}/32 dev lo")
            backend.ip(f"addr add {VIP6}/128 dev lo nodad")
            backend.ip("route add default via 10.2.0.1")
            backend.ip("-6 route add default via fd02::1")
            self.backends.append(backend)

    def _build_router(self):
        router, weir = self.router, self.weir
        self.link(router, "weir0", "10.5.0.2/24", "fd05::2/64", weir, "up0", "10.5.0.1/24", "fd05::1/64")
        router.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        for vip in (VIP4, "10.2.0.0/24"):
            router.ip(f"route add {vip} via 10.5.0.1")
        for vip in (VIP6, "fd02::/64"):
            router.ip(f"-6 route add {vip} via fd05::1")
        weir.ip("route add 10.1.0.0/24 via 10.5.0.2")
        weir.ip("-6 route add fd01::/64 via fd05::2")

    def add(self, name):
        namespace = Namespace(self, name)
        self.namespaces[name] = namespace
        return namespace

    def link(self, a, a_name, a4, a6, b, b_name, b4, b6):
        run("ip", "link", "add", a_name, "netns", a.name, "type", "veth", "peer", "name", b_name, "netns", b.name)
        for side, name, v4, v6 in ((a, a_name, a4, a6), (b, b_name, b4, b6)):
            if v4:
                side.ip(f"addr add {v4} dev {name}")
            if v6:
                side.ip(f"addr add {v6} dev {name} nodad")
            side.ip(f"link set {name} up")

    def plug(self, host, name, v4, v6):
        """Connects a host to the switch."""
        port = f"p{len(self.namespaces)}{name[:4]}"
        switch = self.namespaces["switch"]
        self.link(host, name, v4, v6, switch, port, None, None)
        switch.ip(f"link set {port} master br0")

    # --- programs on the backends

    def serve(self, backend, port=80):
        """nginx that answers with its name, the client it sees and the address it was called at."""
        directory = f"{self.directory}/nginx-{backend.short}-{port}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/nginx.conf", "w", encoding="utf-8") as out:
            out.write(f"""daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_timeout 3600; keepalive_requests 1000000; default_type text/plain;
  client_body_temp_path {directory}/b; proxy_temp_path {directory}/p; fastcgi_temp_path {directory}/f;
  uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen {port} backlog=4096; listen [::]:{port} backlog=4096;
    client_max_body_size 0;
    location / {{ return 200 "{backend.short} $remote_addr $server_addr\\n"; }}
    location /files {{ root {self.directory}; }}
    location /upload {{ root {directory}; dav_methods PUT; create_full_put_path on; }}
  }}
}}
""")
        process = backend.start("nginx", "-c", f"{directory}/nginx.conf", "-p", directory, log=f"{directory}/log")
        self.servers[backend.short] = process
        self.until(lambda: backend.run("curl", "-sf", "-o", "/dev/null", f"http://{backend.address4}:{port}/",
                                       check=False).returncode == 0, 10, f"nginx on {backend.short} answers")
        return process

    def echo(self, backend, port=5353):
        """Answers each UDP datagram with the backend's name and the datagram."""
        process = backend.start(sys.executable, f"{HERE}/udp_echo.py", backend.short, str(port),
                                log=f"{self.directory}/echo-{backend.short}.log")
        self.echoes[backend.short] = process
        return process

    @staticmethod
    def stop(process, number=signal.SIGTERM, wait=10):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(wait)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return process.returncode

    # --- weir itself

    def configure(self, resources, node=""):
        """Writes the configuration directory: the node's settings and one file of resources."""
        for path, text in ((f"{self.config}/weir.yaml", node), (f"{self.config}/conf.d/lab.yaml", resources)):
            with open(f"{path}.new", "w", encoding="utf-8") as out:
                out.write(text)
            os.replace(f"{path}.new", path)

    def program(self, name, limits=()):
        """Starts one of weir's programs on the weir node. `limits`: words for prlimit."""
        log = f"{self.directory}/{name}.log"
        # exec: the process that we hold is the program, so that a signal reaches it.
        process = self.weir.start(*(("prlimit", *limits) if limits else ()), f"{self.binaries}/{name}", "--config-dir", self.config, "--run-dir", self.run_dir,
                                  "--state-dir", self.run_dir, log=log)
        self.programs[name] = process
        return process

    def start_weir(self, timeout=20):
        for name in ("weir-manager", "weir-engine"):
            self.program(name)
        self.until(self.ready, timeout, "weir is up with every backend's health known", self.tail)

    def ready(self):
        """The engine has applied the manager's state and no backend's health is unknown."""
        status = self.weirctl("status", check=False)
        if not isinstance(status, dict) or not status["dataPlanes"]:
            return False
        if status["dataPlanes"][0]["appliedGeneration"] < status["manager"]["generation"]:
            return False
        health = [self.weirctl("backend-services", "get-health", s["name"], check=False) for s in status["services"]]
        # The manager may have been killed since.
        return all(isinstance(h, dict) and all(b["healthState"] != "UNKNOWN" for b in h["healthStatus"]) for h in health)

    def weirctl(self, *words, check=True, json_output=True):
        format_words = ("--format", "json") if json_output else ()
        done = self.weir.run(f"{self.binaries}/weirctl", "--run-dir", self.run_dir, *words, *format_words, check=False)
        if done.returncode != 0:
            if check:
                raise LabError(f"weirctl {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
            return done
        return json.loads(done.stdout) if json_output and done.stdout.strip() else done.stdout

    def health(self, service):
        return self.weirctl("backend-services", "get-health", service)["healthStatus"]

    def health_of(self, service, backend):
        return next((b["healthState"] for b in self.health(service) if b["endpoint"] == backend.address4), None)

    def traffic(self, *words, background=False):
        """Runs traffic.py on the client; its report as JSON (a process, in the background)."""
        command = (sys.executable, f"{HERE}/traffic.py") + tuple(str(w) for w in words)
        if background:
            return self.client.start(*command, stdout=subprocess.PIPE, stderr=None)
        return json.loads(self.client.run(*command).stdout)

    @staticmethod
    def report(process, timeout=60):
        out, _ = process.communicate(timeout=timeout)
        if process.returncode != 0:
            raise LabError(f"traffic: exit {process.returncode}")
        return json.loads(out)

    def kernel_state(self):
        """What the weir node's kernel holds of rules, routes and tables, as an operator reads it."""
        return "\n".join(self.weir.run(*words.split()).stdout for words in (
            "ip rule", "ip -6 rule", "ip route show table all", "ip -6 route show table all", "nft list ruleset"))

    # --- time and end

    def until(self, condition, timeout, what, explain=None):
        deadline = time.monotonic() + timeout
        while True:
            if condition():
                return timeout - (deadline - time.monotonic())
            if time.monotonic() > deadline:
                raise LabError(f"not within {timeout} s: {what}" + (f"\n{explain()}" if explain else ""))
            time.sleep(0.05)

    def tail(self):
        """The last log lines of weir's programs, for a failure's report."""
        text = ""
        for name in self.programs:
            with open(f"{self.directory}/{name}.log", encoding="utf-8", errors="replace") as log:
                text += f"--- {name}\n" + "".join(log.readlines()[-15:])
        return text

    def close(self):
        if self.keep:
            return
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            process.wait()
        for namespace in self.namespaces.values():
            run("ip", "netns", "del", namespace.name, check=False)
        self.processes, self.namespaces = [], {}
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
