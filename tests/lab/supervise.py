# SPDX-License-Identifier: GPL-2.0-or-later
"""supervise.py SOCKET PROGRAM...: the part of systemd that keeps descriptors (FDSTORE=1, FDSTOREREMOVE=1, LISTEN_FDS) for a
program while it is not running. Commands on standard input: start; kill; signal NUMBER (and waits for the end); quit.
Answers each with a line: how many descriptors it keeps, by name, as JSON."""

import array
import json
import os
import select
import signal
import socket
import sys


class Supervisor:
    def __init__(self, path, words):
        self.words, self.process, self.kept = words, None, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.environment = {**os.environ, "NOTIFY_SOCKET": path}

    def hear(self, timeout):
        while select.select([self.socket], [], [], timeout)[0]:
            timeout = 0.05
            data, control, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(253 * 4))
            numbers = array.array("i")
            for level, kind, payload in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    numbers.frombytes(payload[:len(payload) - len(payload) % numbers.itemsize])
            said = dict(line.split("=", 1) for line in data.decode().splitlines() if "=" in line)
            if said.get("FDSTOREREMOVE") == "1":
                for number in [number for name, number in self.kept if name == said["FDNAME"]]:
                    os.close(number)
                self.kept = [entry for entry in self.kept if entry[0] != said["FDNAME"]]
            for number in numbers:
                os.set_inheritable(number, False)
                same = any(os.path.sameopenfile(number, old) for _, old in self.kept)
                if said.get("FDSTORE") == "1" and not same:
                    self.kept.append((said["FDNAME"], number))
                else:
                    os.close(number)

    def start(self):
        kept, environment = self.kept, dict(self.environment)
        copies = [os.dup(number) for _, number in kept]

        def become():
            # High numbers first, so that none is in another's place.
            high = [os.dup2(number, 500 + i) for i, number in enumerate(copies)]
            for i, number in enumerate(high):
                os.dup2(number, 3 + i)
                os.close(number)
            if kept:
                os.environ.update(environment, LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(kept)),
                                  LISTEN_FDNAMES=":".join(name for name, _ in kept))
            else:
                os.environ.update(environment)
            os.execv(self.words[0], self.words)
        pid = os.fork()
        if pid == 0:
            become()
        for number in copies:
            os.close(number)
        self.process = pid

    def end(self, number):
        os.kill(self.process, number)
        while os.waitpid(self.process, os.WNOHANG) == (0, 0):
            self.hear(0.05)

    def run(self):
        for line in sys.stdin:
            words = line.split()
            if words[0] == "start":
                self.start()
            elif words[0] == "kill":
                self.end(signal.SIGKILL)
            elif words[0] == "signal":
                self.end(int(words[1]))
            elif words[0] == "quit":
                break
            self.hear(0.5)
            print(json.dumps([name for name, _ in self.kept]), flush=True)


Supervisor(sys.argv[1], sys.argv[2:]).run()
