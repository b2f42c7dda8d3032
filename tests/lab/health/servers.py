# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers on ephemeral ports of loopback: real ones, and little ones that misbehave to order."""

import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from concurrent import futures

import grpc

PATIENCE = 8  # seconds after which a little server gives up on its client


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process=None):
    deadline = time.monotonic() + 15
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline or (process and process.poll() is not None):
                raise
            time.sleep(0.02)


class Little:
    """A TCP server: `serve(connection)` for each connection, in a thread of its own."""

    def __init__(self, serve, host="127.0.0.1"):
        self.serve, self.seen, self.done = serve, [], threading.Event()
        self.listener = socket.create_server((host, 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(PATIENCE)
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        try:
            with connection:
                seen = self.serve(connection)
                if seen is not None:
                    self.seen.append(seen)
                    self.done.set()
        except (OSError, ValueError):
            pass  # the probe has seen enough

    def close(self):
        self.listener.close()


def read_until(connection, end):
    data = b""
    while end not in data:
        part = connection.recv(4096)
        if not part:
            break
        data += part
    return data


def drain(connection):
    while connection.recv(4096):
        pass


def saying(*parts, first=b"", pause=0.0, then="close"):
    """Reads until `first` came, sends the parts, and then closes, resets, half-closes or stays."""
    def serve(connection):
        if first:
            read_until(connection, first)
        for index, part in enumerate(parts):
            if index:
                time.sleep(pause)
            connection.sendall(part)
        if then == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif then == "half-close":
            connection.shutdown(socket.SHUT_WR)
            drain(connection)
        elif then == "stay":
            drain(connection)
    return serve


def endlessly(part, start=b"", first=b""):
    def serve(connection):
        if first:
            read_until(connection, first)
        connection.sendall(start)
        while True:
            connection.sendall(part)
    return serve


def over_tls(serve, cert, alpn=(), versions=None, before=0):
    """`serve` behind TLS; `before`: as many bytes come first and are kept."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*cert)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if versions:
        context.minimum_version, context.maximum_version = versions

    def wrapped(connection):
        header = b""
        while len(header) < before:
            header += connection.recv(before - len(header))
        with context.wrap_socket(connection, server_side=True) as secure:
            answer = serve(secure)
            # Close without waiting for the probe's own goodbye, as most servers do.
            return header or answer
    return wrapped


# --- real servers

NGINX = """daemon off; {processes}; pid {d}/pid; error_log {d}/error.log; worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; default_type text/plain; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
  fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s; http2_max_concurrent_streams 16;
  ssl_certificate {cert}; ssl_certificate_key {key}; ssl_session_cache off;
  server {{
    listen {address}:{http} backlog=4096; listen {address}:{https} ssl backlog=4096;
    listen {address}:{http2} ssl http2 backlog=4096; listen {address}:{h2c} http2 backlog=4096;
    listen {address}:{http_proxy} proxy_protocol;
    listen {address}:{https_proxy} ssl proxy_protocol; listen {address}:{http2_proxy} ssl http2 proxy_protocol;
    location = / {{ return 200 "fine\\n"; }}
    location = /named {{ if ($host != "app.example.com") {{ return 421; }} return 200 "name $ssl_server_name"; }}
    location = /busy {{ return 503 "busy\\n"; }}
    location = /no-content {{ return 204; }}
    location = /moved {{ return 301 /; }}
    location = /weight {{ add_header X-Load-Balancing-Endpoint-Weight 250;
      add_header endpoint-load-metrics "TEXT cpu_utilization=0.3,application_utilization=0.5"; return 200 "fine\\n"; }}
    location = /load {{ add_header X-Load-Balancing-Endpoint-Weight heavy;
      add_header endpoint-load-metrics 'JSON {{"cpu_utilization": 0.25}}'; return 200 "fine\\n"; }}
    location /files/ {{ root {d}; }}
  }}
}}
"""


def nginx_config(directory, cert, address, ports, workers=0):
    path = f"{directory}/nginx.conf"
    processes = f"user root; worker_processes {workers}" if workers else "master_process off"
    with open(path, "w", encoding="utf-8") as out:
        out.write(NGINX.format(d=directory, cert=cert[0], key=cert[1], address=address, processes=processes, **ports))
    return path


class Nginx:
    NAMES = ("http", "https", "http2", "h2c", "http_proxy", "https_proxy", "http2_proxy")

    def __init__(self, directory, cert, address="127.0.0.1", workers=0):
        """`workers`: as many processes serve; 0: one does, without another that watches over it."""
        self.ports = {name: free_port() for name in self.NAMES}
        os.makedirs(f"{directory}/files")
        for at in (1020, 1024, 1030):
            with open(f"{directory}/files/{at}", "w", encoding="utf-8") as out:
                out.write("." * at + "good" + "." * 200_000)
        config = nginx_config(directory, cert, address, self.ports, workers)
        self.process = subprocess.Popen(["nginx", "-c", config, "-p", directory],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for port in self.ports.values():
            wait_for(port, self.process)

    def close(self):
        self.process.terminate()  # with its workers
        self.process.wait()


class OpensslServer:
    """`openssl s_server`, which answers nothing by itself but the handshake."""

    def __init__(self, cert, *options):
        self.port = free_port()
        self.process = subprocess.Popen(
            [shutil.which("openssl"), "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", cert[0], "-key", cert[1],
             "-quiet", *options], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port, self.process)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class HealthService(grpc.GenericRpcHandler):
    """grpc.health.v1.Health by hand: its messages have one field each. Names of services say how
    they are; any other is not known."""

    STATES = {"": 1, "up": 1, "down": 2, "lost": 3, "odd": 77, "blank": None}

    def service(self, details):
        if details.method == "/grpc.health.v1.Health/Check":
            return grpc.unary_unary_rpc_method_handler(self.check)
        return None

    def check(self, request, context):
        name = request[2:].decode() if request[:1] == b"\x0a" else ""
        if len(name) > 127:  # a length of two bytes
            name = request[3:].decode()
        context.set_trailing_metadata((("endpoint-load-metrics", "cpu_utilization=0.75"),))
        if name == "slow":
            time.sleep(6)
        if name == "broken":
            context.abort(grpc.StatusCode.INTERNAL, "disk\non fire")
        if name not in self.STATES:
            context.abort(grpc.StatusCode.NOT_FOUND, "")
        state = self.STATES[name]
        return b"" if state is None else bytes((8, state))


class GrpcServer:
    def __init__(self, cert, handlers, address="127.0.0.1", port=0, tls_port=0):
        self.server = grpc.server(futures.ThreadPoolExecutor(8), handlers=handlers)
        self.port = self.server.add_insecure_port(f"{address}:{port}")
        with open(cert[0], "rb") as chain, open(cert[1], "rb") as key:
            credentials = grpc.ssl_server_credentials([(key.read(), chain.read())])
        self.tls_port = self.server.add_secure_port(f"{address}:{tls_port}", credentials)
        self.server.start()

    def close(self):
        self.server.stop(0)


if __name__ == "__main__":  # a gRPC server in a namespace: PORT TLS_PORT CERTIFICATE KEY
    GrpcServer(sys.argv[3:5], [HealthService()], "0.0.0.0", *sys.argv[1:3]).server.wait_for_termination()
