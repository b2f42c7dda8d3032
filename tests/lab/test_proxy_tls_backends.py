# SPDX-License-Identifier: GPL-2.0-or-later
"""Real TLS servers and clients, unchanged, with the proxy in between that routes them by name: HTTP/2, a WebSocket that is
idle, PostgreSQL (X6; TLS 1.2 and 1.3 with openssl: test_proxy.py)."""

import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

import proxy_lab
import pytest
from lab import HERE

RESOURCES = """
networkEndpointGroups:
  - {name: web, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.11, port: 443}]}
  - {name: socket, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.11, port: 9443}]}
  - {name: database, networkEndpointType: GCE_VM_IP_PORT, endpoints: [{ipAddress: 10.2.0.12, port: 5432}]}
backendServices:
  - {name: web, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, backends: [{group: web, balancingMode: CONNECTION, maxConnections: 100}]}
  - {name: socket, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, timeoutSec: 2,
     backends: [{group: socket, balancingMode: CONNECTION, maxConnections: 100}]}
  - {name: database, loadBalancingScheme: INTERNAL_MANAGED, protocol: TCP, logConfig: {enable: true},
     backends: [{group: database, balancingMode: CONNECTION, maxConnections: 100}]}
targetTcpProxies: [{name: names}, {name: socket, service: socket}, {name: database, service: database}]
tlsRoutes:
  - name: routes
    targetProxies: [names]
    rules:
      - {matches: [{sniHost: [web.example.com], alpn: [h2]}], action: {destinations: [{serviceName: web}]}}
      - {matches: [{sniHost: [default.example.com]}], action: {destinations: [{serviceName: socket}]}}
      - {matches: [{sniHost: [long.example.com]}], action: {destinations: [{serviceName: socket}], idleTimeout: 60s}}
      - {matches: [{sniHost: [short.example.com]}], action: {destinations: [{serviceName: socket}], idleTimeout: 1s}}
      - {matches: [{sniHost: [never.example.com]}], action: {destinations: [{serviceName: socket}], idleTimeout: 0s}}
      - {matches: [{sniHost: [db.example.com]}], action: {destinations: [{serviceName: database}]}}
forwardingRules:
  - {name: tls, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [443], target: names}
  - {name: socket, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [9443], target: socket}
  - {name: database, loadBalancingScheme: INTERNAL_MANAGED, IPAddress: 10.8.8.8, IPProtocol: TCP, ports: [5432], target: database}
"""


@pytest.fixture(scope="module")
def lab(module_lab):
    lab = module_lab(backends=2)
    lab.certificate, lab.key = f"{lab.directory}/crt", f"{lab.directory}/key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", lab.key, "-out", lab.certificate,
                    "-days", "1", "-subj", "/CN=lab"], check=True, capture_output=True)
    return proxy_lab.start(lab, RESOURCES)


def test_X6_curl_speaks_http2_with_nginx(lab):
    directory = f"{lab.directory}/h2"
    os.makedirs(directory)
    with open(f"{directory}/nginx.conf", "w", encoding="utf-8") as out:
        out.write(f"""daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
events {{ }}
http {{
  access_log off; default_type text/plain; client_body_temp_path {directory}/b; proxy_temp_path {directory}/p;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 443 ssl http2; ssl_certificate {lab.certificate}; ssl_certificate_key {lab.key};
    client_max_body_size 0;
    location / {{ return 200 "$server_protocol $ssl_server_name\\n"; }}
    location /big {{ root {directory}; }}
  }}
}}
""")
    with open(f"{directory}/big", "wb") as out:
        out.write(os.urandom(5_000_000))
    lab.backends[0].start("nginx", "-c", f"{directory}/nginx.conf", "-p", directory, log=f"{directory}/log")

    def curl(*words):
        return lab.client.run("curl", "-sk", "--http2", "-m", "20", "--resolve", f"web.example.com:443:{proxy_lab.FRONT4}", *words,
                              check=False).stdout
    lab.until(lambda: curl("https://web.example.com/") == "HTTP/2.0 web.example.com\n", 10, "nginx answers by HTTP/2", lab.tail)
    # Streams side by side over one connection, and more bytes than any buffer has.
    urls = [word for _ in range(8) for word in ("-o", "/dev/null", "https://web.example.com/big")]
    answer = curl("-Z", "-w", "%{http_version} %{http_code} %{size_download}\n", *urls)
    assert answer.splitlines() == ["2 200 5000000"] * 8
    # Without h2 among the client's protocols the rule does not match.
    assert curl("--http1.1", "https://web.example.com/") == ""


@pytest.fixture(scope="module")
def echo(lab):
    server = lab.backends[0].start(sys.executable, f"{HERE}/websocket_echo.py", "serve", "9443", lab.certificate, lab.key,
                                   stdout=subprocess.PIPE, stderr=None)
    assert server.stdout.readline() == b"ready\n"
    return lab


# The service's timeoutSec is 2, so that nobody has to be idle for the 30 s that are its default.
@pytest.mark.parametrize("name, port, kept", [("long.example.com", 443, True), ("default.example.com", 443, True),
                                              ("never.example.com", 443, True), ("short.example.com", 443, False),
                                              ("any.example.com", 9443, False)])
def test_X6_5_a_websocket_is_idle_as_long_as_its_route_allows(echo, name, port, kept):
    said = echo.client.run(sys.executable, f"{HERE}/websocket_echo.py", "call", proxy_lab.FRONT4, str(port), name, "5",
                           timeout=40).stdout.splitlines()
    assert said[0] == "echo word 1"
    if kept:
        assert said[1] == "echo word 2"
    else:
        word, _, seconds = said[1].partition(" after ")
        limit = 1 if name == "short.example.com" else 2
        assert word == "ended" and limit - 0.2 <= float(seconds.split()[0]) <= limit + 1.5, said


@pytest.fixture(scope="module")
def database(lab):
    """PostgreSQL on b2 with TLS and nothing but TLS, started by hand as its own user."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    assert programs and shutil.which("psql"), \
        "PostgreSQL is missing: packaging/install-build-dependencies (apt-get install postgresql)"
    user = pwd.getpwnam("postgres")
    directory = tempfile.mkdtemp(prefix="weir-postgres-")
    try:
        for name, path in (("crt", lab.certificate), ("key", lab.key)):
            shutil.copy(path, f"{directory}/{name}")
            os.chmod(f"{directory}/{name}", 0o600)
            os.chown(f"{directory}/{name}", user.pw_uid, user.pw_gid)
        os.chown(directory, user.pw_uid, user.pw_gid)
        as_postgres = ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
        data = f"{directory}/data"
        subprocess.run([*as_postgres, f"{programs[-1]}/initdb", "-D", data, "-A", "trust", "-N", "-U", "lab"], check=True,
                       capture_output=True, cwd=directory)
        with open(f"{data}/pg_hba.conf", "w", encoding="utf-8") as out:
            out.write("hostssl all all 0.0.0.0/0 trust\n")
        server = lab.backends[1].start(*as_postgres, f"{programs[-1]}/postgres", "-D", data, "-k", directory, "-c", "listen_addresses=*",
                                       "-c", "ssl=on", "-c", f"ssl_cert_file={directory}/crt", "-c", f"ssl_key_file={directory}/key",
                                       "-c", "fsync=off", "-c", "shared_buffers=16MB", log=f"{lab.directory}/postgres.log", cwd=directory)
        lab.until(lambda: query(lab, 5432, "db.example.com", "select 1") == "1\n", 30, "PostgreSQL answers",
                  lambda: open(f"{lab.directory}/postgres.log", encoding="utf-8").read()[-2000:])
        yield lab
        lab.stop(server, 3)  # SIGQUIT: at once
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def query(lab, port, name, text, mode="require"):
    done = lab.client.run("psql", "-XAt", f"host={name} hostaddr={proxy_lab.FRONT4} port={port} user=lab dbname=postgres "
                          f"sslmode={mode} connect_timeout=5 gssencmode=disable", "-c", text, check=False, timeout=30)
    return done.stdout


TLS_OF_THIS = "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()"


@pytest.mark.parametrize("port", [443, 5432])
def test_X6_postgresql_over_tls_by_its_name_and_without(database, port):
    assert query(database, port, "db.example.com", TLS_OF_THIS) == "t|TLSv1.3\n"
    # A large answer, a long question, and a statement that takes its time.
    assert query(database, port, "db.example.com", "select length(repeat('x', 20000000))") == "20000000\n"
    assert len(query(database, port, "db.example.com", "select repeat('x', 3000000)")) == 3000001
    assert query(database, port, "db.example.com", f"select length('{'y' * 100000}')") == "100000\n"
    assert query(database, port, "db.example.com", "select pg_sleep(1)") == "\n"


def test_X6_postgresql_is_routed_by_name_and_refused_without_one(database):
    assert query(database, 443, "nobody.example.com", "select 1") == ""
    assert query(database, 443, "db.example.com", "select 1", "disable") == ""
    lines = [line for line in proxy_lab.access_log(database) if line.get("RULE") == "tls" and line.get("SNI") == "db.example.com"]
    assert lines and all(line["SERVICE"] == "database" and line["ROUTE"] == "routes" for line in lines)
