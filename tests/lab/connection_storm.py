# SPDX-License-Identifier: GPL-2.0-or-later
"""connection_storm.py ADDRESS PORT RATE PROCESSES: opens RATE connections a second, one HTTP request each, in PROCESSES
processes, until its standard input ends; then prints what came of them as JSON. A connection that is late is not a reason
to open fewer, but never more than a few thousand are open at once."""

import collections
import ctypes
import json
import multiprocessing
import os
import select
import signal
import socket
import struct
import sys
import time

REQUEST = b"GET / HTTP/1.0\r\n\r\n"
MOST_OPEN = 2000
PATIENCE_S = 10
PRCTL, PR_SET_PDEATHSIG = ctypes.CDLL(None).prctl, 1
RESET = struct.pack("ii", 1, 0)  # no TIME_WAIT: ports are needed again soon


class Storm:
    def __init__(self, address, port, rate):
        self.target, self.interval = (address, port), 1.0 / rate
        self.poll, self.open = select.epoll(), {}
        self.done, self.failures, self.slowest = 0, collections.Counter(), 0.0
        self.first_failures = []

    def begin(self, now):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        error = sock.connect_ex(self.target)
        if error not in (0, 115):
            self.fail(sock, os.strerror(error), now)
            return
        self.open[sock.fileno()] = [sock, now, b""]
        self.poll.register(sock, select.EPOLLOUT)

    def fail(self, sock, why, now):
        self.failures[why] += 1
        if len(self.first_failures) < 20:
            self.first_failures.append([round(now, 3), why])
        sock.close()

    def go_on(self, number, now):
        entry = self.open[number]
        sock, began, answer = entry
        try:
            if not answer and entry[1] > 0:
                error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    raise OSError(error, os.strerror(error))
                sock.send(REQUEST)
                entry[1], entry[2] = -began, b""
                self.poll.modify(number, select.EPOLLIN)
                return
            part = sock.recv(4096)
            if part:
                entry[2] += part
                return
            if not answer.startswith(b"HTTP/1.1 200") or not answer.endswith(b"\n"):
                raise OSError(0, f"an answer of {len(answer)} bytes that is not whole")
            self.done += 1
            self.slowest = max(self.slowest, now + began)
            sock.close()
        except BlockingIOError:
            return
        except OSError as error:
            self.fail(sock, f"{'connect' if entry[1] > 0 else 'answer'}: {error.strerror}", now)
        del self.open[number]

    def run(self, stop):
        begin = due = time.monotonic()
        while not (stopping := stop.is_set()) or self.open:
            now = time.monotonic()
            while not stopping and due <= now and len(self.open) < MOST_OPEN:
                self.begin(now)
                due += self.interval
            due = max(due, now - 1)
            for number, _ in self.poll.poll(0.002, 512):
                if number in self.open:
                    self.go_on(number, now)
            if stopping:
                for number, (sock, began, _) in list(self.open.items()):
                    if now - abs(began) > PATIENCE_S:
                        del self.open[number]
                        self.fail(sock, "no answer", now)
        return {"done": self.done, "failed": sum(self.failures.values()), "failures": self.failures,
                "first_failures": self.first_failures, "slowest_s": round(self.slowest, 3), "seconds": time.monotonic() - begin}


def work(stop, results, *words):
    # A worker does not outlive the process that would stop it, however that one ends.
    PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        return
    results.put(Storm(*words).run(stop))


def main():
    address, port, rate, processes = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(stop, results, address, port, rate / processes)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    sys.stdin.read()
    stop.set()
    reports = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    print(json.dumps({"done": sum(r["done"] for r in reports), "failed": sum(r["failed"] for r in reports),
                      "per_second": round(sum(r["done"] / r["seconds"] for r in reports)),
                      "slowest_s": max(r["slowest_s"] for r in reports),
                      "failures": [r["first_failures"] for r in reports if r["failed"]]}))


if __name__ == "__main__":
    main()
