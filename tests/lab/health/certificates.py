# SPDX-License-Identifier: GPL-2.0-or-later
"""Self-signed certificates that a careful client would refuse: expired, weak, for another name."""

import os
import subprocess


def _run(*words, cwd):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


def self_signed(directory, name, key=("rsa:2048",), extra=()):
    """(certificate, key), valid now, for a name that nobody asks for."""
    cert, secret = f"{directory}/{name}.pem", f"{directory}/{name}.key"
    _run("openssl", "req", "-x509", "-newkey", *key, "-nodes", "-keyout", secret, "-out", cert, "-days", "2", "-subj",
         f"/CN={name}.example", *extra, cwd=directory)
    return cert, secret


def expired(directory, name):
    """(certificate, key) whose time was over in 2020."""
    cert, secret, request = f"{directory}/{name}.pem", f"{directory}/{name}.key", f"{directory}/{name}.csr"
    _run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", secret, "-out", request, "-subj",
         f"/CN={name}.example", cwd=directory)
    with open(f"{directory}/ca.conf", "w", encoding="utf-8") as out:
        out.write(f"""[ca]
default_ca = own
[own]
database = {directory}/ca-index
rand_serial = yes
new_certs_dir = {directory}
default_md = sha256
policy = any
[any]
commonName = supplied
""")
    open(f"{directory}/ca-index", "w", encoding="utf-8").close()
    _run("openssl", "ca", "-batch", "-selfsign", "-config", f"{directory}/ca.conf", "-in", request, "-keyfile", secret,
         "-out", cert, "-notext", "-startdate", "20200101000000Z", "-enddate", "20200102000000Z", cwd=directory)
    assert os.path.getsize(cert) > 0
    return cert, secret
