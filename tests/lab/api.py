# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests to the manager's socket, quicker than a weirctl process for each."""

import http.client
import json
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("weir", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(lab, method, path, body=None):
    """The answer's JSON; raises on any status but 2xx."""
    connection = UnixConnection(f"{lab.run_dir}/api.sock")
    connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status // 100 != 2:
        raise OSError(f"{method} {path}: {answer.status} {text}")
    return json.loads(text) if text else None
