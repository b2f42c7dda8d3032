# SPDX-License-Identifier: GPL-2.0-or-later
"""The TCP proxy between real clients and real servers: the manager probes, the proxy carries."""

import subprocess
import threading
import time

import pytest

FRONT4, FRONT6 = "10.8.8.8", "fd08::8"

SHOP = """
healthChecks:
  - {name: hc, type: HTTP, checkIntervalSec: 1, timeoutSec: 1, unhealthyThreshold: 1, healthyThreshold: 1,
     httpHealthCheck: {portSpecification: USE_SERVING_PORT}}
networkEndpointGroups:
  - name: a
    networkEndpointType: GCE_VM_IP_PORT
    endpoints: [{ipAddress: 10.2.0.11, port: 80}, {ipAddress: 10.2.0.12, port: 80}, {ipAddress: 10.2.0.13, port: 80}]
backendServices:
  - name: shop
    loadBalancingScheme: INTERNAL_MANAGED
    protocol: TCP
    healthChecks: [hc]
    connectionDraining: {drainingTimeoutSec: 60}
    backends: [{group: a, balancingMode: CONNECTION, maxConnections: 1000}]
targetTcpProxies: [{name: front, service: shop}]
forwardingRules:
  - {name: v4, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [80], target: front}
  - {name: v6, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: "fd08::8", IPProtocol: TCP, ports: [80], target: front}
"""

TLS = """
healthChecks:
  - {name: hc, type: SSL, checkIntervalSec: 1, timeoutSec: 1, unhealthyThreshold: 1, healthyThreshold: 1,
     sslHealthCheck: {portSpecification: USE_SERVING_PORT}}
networkEndpointGroups:
  - {name: a, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.11, port: 8443}]}
  - {name: b, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.12, port: 8443}]}
backendServices:
  - {name: one, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, healthChecks: [hc],
     backends: [{group: a, balancingMode: CONNECTION, maxConnections: 100}]}
  - {name: two, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, healthChecks: [hc],
     backends: [{group: b, balancingMode: CONNECTION, maxConnections: 100}]}
targetTcpProxies: [{name: front}]
tlsRoutes:
  - name: routes
    targetProxies: [front]
    rules:
      - {matches: [{sniHost: [one.example.com]}], action: {destinations: [{serviceName: one}]}}
      - {matches: [{sniHost: ["*.example.com"]}], action: {destinations: [{serviceName: two}]}}
forwardingRules:
  - {name: v4, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [443], target: front}
"""


@pytest.fixture
def proxying(make_lab):
    """A lab with the proxy at work; `serve` prepares the backends."""
    def make(resources, serve, answers):
        lab = make_lab(backends=3)
        serve(lab)
        lab.clean = lab.kernel_state()
        lab.configure(resources)
        for name in ("weir-manager", "weir-proxy"):
            lab.program(name)
        lab.until(lambda: answers(lab), 20, "the proxy serves", lab.tail)
        return lab
    return make


def serve_http(lab):
    for backend in lab.backends:
        lab.serve(backend)


def fetch(lab, url):
    return lab.client.run("curl", "-s", "-g", "-m", "5", url, check=False)


def shop_answers(lab):
    """Every backend is known to be healthy: three in a row are three different ones."""
    answers = {fetch(lab, f"http://{FRONT4}/").stdout.split(" ")[0] for _ in range(3)}
    return answers == {"b1", "b2", "b3"}


def test_X1_bytes_of_both_families_reach_backends_in_turn_and_H9_the_dead_one_gets_none(proxying):
    lab = proxying(SHOP, serve_http, shop_answers)
    for front in (FRONT4, FRONT6):
        report = lab.traffic("burst", front, 80, 300)
        assert report["failed"] == 0, report["failures"][:5]
        assert report["clients"] == ["10.2.0.1"]  # the second connection is the node's own
        assert {name: 90 <= share <= 110 for name, share in report["shares"].items()} == \
            {"b1": True, "b2": True, "b3": True}, report["shares"]
    lab.stop(lab.servers["b1"])
    # X3.3 while nobody knows, the health check afterwards: no client notices.
    report = lab.traffic("burst", FRONT4, 80, 100)
    assert report["failed"] == 0 and set(report["shares"]) == {"b2", "b3"}, report
    time.sleep(2.5)
    before = proxy_metric(lab, "weir_proxy_backend_connect_failures_total")
    report = lab.traffic("burst", FRONT4, 80, 100)
    assert report["failed"] == 0 and set(report["shares"]) == {"b2", "b3"}, report
    assert proxy_metric(lab, "weir_proxy_backend_connect_failures_total") == before
    assert proxy_metric(lab, "weir_proxy_connections_total") >= 800


def proxy_metric(lab, name):
    text = lab.weir.run("curl", "-s", "http://127.0.0.1:9147/metrics").stdout
    return float(next(line.split(" ")[1] for line in text.splitlines() if line.startswith(name + " ")))


def test_X5_4_a_drained_backend_gets_no_new_connections(proxying):
    lab = proxying(SHOP, serve_http, shop_answers)
    lab.weirctl("drain", "shop", "10.2.0.11:80", json_output=False)
    assert {b["endpoint"]: b["healthState"] for b in lab.health("shop")} == \
        {"10.2.0.11:80": "DRAINING", "10.2.0.12:80": "HEALTHY", "10.2.0.13:80": "HEALTHY"}
    report = lab.traffic("burst", FRONT4, 80, 100)
    assert report["failed"] == 0 and set(report["shares"]) == {"b2", "b3"}, report
    lab.weirctl("undrain", "shop", "10.2.0.11:80", json_output=False)
    lab.until(lambda: shop_answers(lab), 5, "the backend is back", lab.tail)
    group = lab.weirctl("backend-services", "describe", "shop")["status"]["groups"][0]
    assert (group["group"], group["capacity"], group["usable"], group["members"], group["serves"]) == ("a", 1000, 1000, 3, True)


def test_X5_5_reloads_and_a_new_proxy_refuse_no_client(proxying):
    lab = proxying(SHOP, serve_http, shop_answers)
    stop, failures, served = threading.Event(), [], [0]

    def calls():
        while not stop.is_set():
            done = fetch(lab, f"http://{FRONT4}/")
            if done.returncode != 0 or not done.stdout.startswith("b"):
                failures.append((time.monotonic(), done.returncode))
            served[0] += 1

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(3):
            lab.configure(SHOP.replace("maxConnections: 1000", f"maxConnections: {2000 + number}"))
            lab.weirctl("reload", json_output=False)
            old = lab.programs["weir-proxy"]
            lab.program("weir-proxy")
            assert old.wait(40) == 0, "the predecessor ends when its connections have"
            time.sleep(0.5)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert served[0] > 50 and not failures, (served, failures[:5])


def test_N9_a_clean_stop_leaves_nothing_behind(proxying):
    lab = proxying(SHOP, serve_http, shop_answers)
    assert lab.stop(lab.programs["weir-proxy"]) == 0
    assert fetch(lab, f"http://{FRONT4}/").returncode != 0
    assert lab.stop(lab.programs["weir-manager"]) == 0
    assert lab.kernel_state() == lab.clean


def serve_tls(lab):
    for backend in lab.backends:
        key = f"{lab.directory}/{backend.short}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{key}.key", "-out", f"{key}.crt",
                        "-days", "1", "-subj", f"/CN={backend.short}"], check=True, capture_output=True)
        # No tickets: s_client that finds them before its input reads on for data, which s_server never sends unasked.
        backend.start("openssl", "s_server", "-num_tickets", "0", "-accept", "8443", "-cert", f"{key}.crt", "-key", f"{key}.key", "-www", "-quiet",
                      log=f"{key}.log")


def certificate_of(lab, name, *words):
    """The common name of the server that answers for `name`; None: closed."""
    done = lab.client.run("openssl", "s_client", "-connect", f"{FRONT4}:443", "-servername", name, *words,
                          check=False, input="GET / HTTP/1.0\r\n\r\n", timeout=20)
    subjects = [line for line in done.stdout.splitlines() if line.startswith("subject=")]
    return subjects[0].split("CN = ")[-1].split("CN=")[-1].strip() if subjects else None


def test_X6_tls_connections_go_by_their_server_name(proxying):
    lab = proxying(TLS, serve_tls,
                   lambda lab: (certificate_of(lab, "one.example.com"), certificate_of(lab, "x.example.com")) == ("b1", "b2"))
    for version in ("-tls1_2", "-tls1_3"):
        assert certificate_of(lab, "one.example.com", version) == "b1"
        assert certificate_of(lab, "ONE.example.com", version) == "b1"
        assert certificate_of(lab, "a.b.example.com", version) == "b2"
        assert certificate_of(lab, "example.com", version) is None
        assert certificate_of(lab, "one.example.org", version) is None
    # No name at all, and no TLS at all.
    assert lab.client.run("openssl", "s_client", "-connect", f"{FRONT4}:443", "-noservername", check=False,
                          input="", timeout=20).stdout.count("subject=") == 0
    assert fetch(lab, f"http://{FRONT4}:443/").stdout == ""
