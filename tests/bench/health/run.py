#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What probing 1,000 backends every second costs the manager, by type of health check (H12).

The prober alone is measured (weir_probe_driver), in microseconds of its CPU time, the kernel's part
included, for each probe that took place: 400 of them are 0.4 cores at 1,000 probes a second. All
backends, at 127.1.0.1 and on, are an nginx with two workers and a gRPC server. Beside the TLS types
stands what OpenSSL alone needs for its handshakes on this machine (weir_bench_tls_client), and what
a probe costs when every handshake is a full one: 3,000 backends at an interval of 3 s.

Everything runs with real-time priority, as far as it may, the prober on a core of its own."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [f"{ROOT}/tests/lab", f"{ROOT}/tests/bench"]

from ending import remove_all_when_told_to_end  # noqa: E402  (the path must be there first)
from health import servers as lab_servers  # noqa: E402  (the path must be there first)
from health.certificates import self_signed  # noqa: E402

GOAL = 400  # microseconds: 0.4 cores at 1,000 probes a second
BLOCKS = {"TCP": "tcpHealthCheck", "HTTP": "httpHealthCheck", "GRPC": "grpcHealthCheck", "SSL": "sslHealthCheck",
          "HTTPS": "httpsHealthCheck", "HTTP2": "http2HealthCheck", "GRPC_WITH_TLS": "grpcTlsHealthCheck"}
PLAIN = ("TCP", "HTTP", "GRPC")
CERTIFICATES = {"P-256": ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), "RSA 2048": ("rsa:2048",)}
FULL_INTERVAL = 3  # seconds; with so many between two probes no handshake is resumed


class GrpcProcess:
    def __init__(self, cert):
        self.port, self.tls_port = lab_servers.free_port(), lab_servers.free_port()
        self.process = subprocess.Popen([sys.executable, lab_servers.__file__, str(self.port), str(self.tls_port), *cert])
        lab_servers.wait_for(self.tls_port, self.process)

    def close(self):
        self.process.kill()
        self.process.wait()


class Bench:
    def __init__(self, options, directory):
        self.options, self.directory, self.cpus = options, directory, sorted(os.sched_getaffinity(0))

    def own_core(self):
        """Words before a program that is measured."""
        return ["taskset", "-c", str(self.cpus[-1])] if len(self.cpus) > 1 and shutil.which("taskset") else []

    def probes(self, kind, port, interval=1):
        """What the probes of one type cost, at 1,000 a second in the mean."""
        path = f"{self.directory}/check.yaml"
        with open(path, "w", encoding="utf-8") as out:
            yaml.safe_dump({"healthChecks": [{"name": "many", "type": kind, "checkIntervalSec": interval, "timeoutSec": interval,
                                              BLOCKS[kind]: {"port": port}}]}, out)
        # Whole cycles of full and resumed handshakes.
        seconds = max(self.options.seconds // 5 * 5, 5) if interval == 1 else 2 * interval
        words = [f"{self.options.build}/bin/weir_probe_driver", "watch", path, str(self.options.backends * interval), str(seconds)]
        done = subprocess.run(self.own_core() + words, capture_output=True, text=True, check=True, timeout=seconds + 60)
        found = json.loads(done.stdout.splitlines()[-1])
        ended = found["succeeded"] + found["failed"] + found["timedOut"]
        return {"us_per_probe": round(found["cores"] * seconds * 1e6 / max(ended, 1), 1), "cores": round(found["cores"], 3),
                "asked": self.options.backends * seconds, "succeeded": found["succeeded"], "failed": found["failed"],
                "timed_out": found["timedOut"], "peak_mb": found["peakMb"]}

    def handshakes(self, cert):
        done = subprocess.run(self.own_core() + [f"{self.options.build}/bin/weir_bench_tls_client", *cert, "1000"],
                              capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def certificate(self, name, results):
        directory = f"{self.directory}/{name.replace(' ', '-')}"
        os.mkdir(directory)
        cert = self_signed(directory, "bench", CERTIFICATES[name])
        floor = results[f"OpenSSL alone, {name}"] = self.handshakes(cert)
        print(f"OpenSSL alone, {name}: a full handshake {floor['full_us']:.0f} us, a resumed one {floor['resumed_us']:.0f} us",
              flush=True)
        running = []
        try:
            nginx = lab_servers.Nginx(directory, cert, "0.0.0.0", workers=2)
            running.append(nginx)
            grpc = GrpcProcess(cert)
            running.append(grpc)
            ports = {"TCP": nginx.ports["http"], "HTTP": nginx.ports["http"], "SSL": nginx.ports["https"],
                     "HTTPS": nginx.ports["https"], "HTTP2": nginx.ports["http2"], "GRPC": grpc.port,
                     "GRPC_WITH_TLS": grpc.tls_port}
            for kind in BLOCKS:
                if kind not in PLAIN:
                    self.tell(results, f"{kind}, {name}", self.probes(kind, ports[kind]))
                elif kind not in results:
                    self.tell(results, kind, self.probes(kind, ports[kind]))
            self.tell(results, f"HTTPS, {name}, all full", self.probes("HTTPS", ports["HTTPS"], FULL_INTERVAL), None)
        finally:
            for server in running:
                server.close()

    @staticmethod
    def tell(results, what, found, goal=GOAL):
        results[what] = found
        verdict = "" if goal is None else f" of {goal}" + (" MISSED" if found["us_per_probe"] > goal else "")
        print(f"{what:26} {found['us_per_probe']:6.1f} us{verdict}, {found['cores']:.2f} cores; "
              f"{found['succeeded']} of {found['asked']} probes succeeded, {found['failed'] + found['timed_out']} did not; "
              f"{found['peak_mb']} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--backends", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=5, help="for each type, in fives")
    parser.add_argument("--out")
    options = parser.parse_args()
    remove_all_when_told_to_end()
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print("without real-time priority: what else the machine does makes the figures too high")
    results = {}
    with tempfile.TemporaryDirectory(prefix="weir-bench-health-") as directory:
        bench = Bench(options, directory)
        for name in CERTIFICATES:
            bench.certificate(name, results)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
