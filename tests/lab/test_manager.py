# SPDX-License-Identifier: GPL-2.0-or-later
"""The manager and what it is given: a configuration that is lost, a host whose settings are wrong, a
rule tree that grows, and a run that was killed."""

import os
import re
import signal
import subprocess

from lab import VIP4, VIP6
from resources import web_and_echo

RESOURCES = web_and_echo(primary=(1, 2), standby=())


def serve(lab):
    for backend in lab.backends:
        lab.serve(backend)


def log_of(lab):
    with open(f"{lab.directory}/weir-manager.log", encoding="utf-8") as text:
        return text.read()


def kernel_of(lab):
    return lab.weirctl("status")["kernel"]


def served(lab):
    for vip in (VIP4, VIP6):
        report = lab.traffic("burst", vip, 80, 20)
        assert report["failed"] == 0, report["failures"][:5]


def check(lab):
    done = lab.weir.run(f"{lab.binaries}/weirctl", "check", lab.config, "--state-dir", lab.run_dir, check=False)
    return done.returncode, done.stderr


def restart(lab, how):
    lab.stop(lab.programs["weir-manager"], how)
    lab.program("weir-manager")
    lab.until(lab.ready, 15, "the manager is back", lab.tail)


def test_a_start_without_its_directory_withdraws_nothing(make_lab):
    lab = make_lab(backends=2)
    serve(lab)
    conf = f"{lab.config}/conf.d"
    # First install: nothing there, nothing said.
    lab.configure("", "")
    os.remove(f"{conf}/lab.yaml")
    lab.program("weir-manager")
    lab.until(lambda: isinstance(lab.weirctl("status", check=False), dict), 15, "the manager is up", lab.tail)
    assert check(lab)[0] == 0
    assert not re.search(r"warning|error", log_of(lab), re.I), log_of(lab)
    lab.stop(lab.programs["weir-manager"])

    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", conf], check=True)
    try:
        lab.configure(RESOURCES)
        lab.start_weir()
        served(lab)
        rules = lab.weir.run("ip", "rule").stdout
        # Killed, and the file system is not there when it starts again; then a restart as systemd makes it.
        lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    finally:
        subprocess.run(["umount", conf], check=True)
    lab.program("weir-manager")
    lab.until(lab.ready, 15, "the manager is back", lab.tail)
    for how in (None, signal.SIGUSR1):
        if how:
            restart(lab, how)
        served(lab)
        assert lab.weir.run("ip", "rule").stdout == rules
        warnings = lab.weirctl("status")["manager"]["warnings"]
        assert len(warnings) == 1 and f"touch {conf}/none.yaml" in warnings[0], warnings
        assert "the configuration is lost" in log_of(lab)
        code, text = check(lab)
        assert code == 1 and f"{conf} is empty and not the directory" in text, text
        refused = lab.weirctl("reload", check=False)
        assert refused.returncode == 1 and "not the directory" in refused.stderr, refused.stderr
        assert "not the directory" in lab.weirctl("diff")["refusal"]
    served(lab)

    # There again: all is as before. Then emptied by intent.
    lab.configure(RESOURCES)
    assert check(lab)[0] == 0
    assert lab.weirctl("reload")["changed"] is False
    assert lab.weirctl("status")["manager"]["warnings"] == []
    os.remove(f"{conf}/lab.yaml")
    restart(lab, signal.SIGUSR1)
    assert lab.weirctl("status")["services"] == []
    lab.until(lambda: VIP4 not in lab.weir.run("nft", "list", "ruleset").stdout, 5, "what was deleted is withdrawn", lab.tail)


def test_a_damaged_kept_file_withdraws_nothing(make_lab):
    lab = make_lab(backends=2)
    serve(lab)
    lab.configure(RESOURCES)
    lab.start_weir()
    served(lab)
    rules = lab.weir.run("nft", "list", "ruleset").stdout
    conf, kept = f"{lab.config}/conf.d", f"{lab.run_dir}/in-force.yaml"
    with open(kept, encoding="utf-8") as file:
        whole = file.read()

    def keep(text):
        with open(kept, "w", encoding="utf-8") as file:
            file.write(text)

    def refused():
        lab.program("weir-manager")
        assert lab.programs["weir-manager"].wait(15) == 1, lab.tail()
        assert lab.weir.run("nft", "list", "ruleset").stdout == rules
        return log_of(lab).splitlines()[-1]

    # Lost and damaged: no start.
    lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    os.rename(conf, f"{lab.config}/away")
    head = "".join(line for line in whole.splitlines(True) if line.startswith("#"))
    for text in (head, whole[:-40], ""):
        keep(text)
        said = refused()
        assert f"{kept} is damaged" in said and f"remove {kept}" in said, said
    served(lab)
    # Lost and whole, the node's own file as well: the last run's goes on.
    keep(whole)
    os.remove(f"{lab.config}/weir.yaml")
    lab.program("weir-manager")
    lab.until(lab.ready, 15, "the manager is back", lab.tail)
    assert "conf.d is missing" in lab.weirctl("status")["manager"]["warnings"][0]
    os.rename(f"{lab.config}/away", conf)
    assert "weir.yaml is missing" in lab.weirctl("status")["manager"]["warnings"][0]
    lab.configure(RESOURCES)
    assert lab.weirctl("reload")["changed"] is False
    # Damaged and not lost: written anew.
    lab.stop(lab.programs["weir-manager"], signal.SIGKILL)
    keep(head)
    lab.program("weir-manager")
    lab.until(lab.ready, 15, "the manager is back", lab.tail)
    assert "not usable and is written anew" in log_of(lab)
    with open(kept, encoding="utf-8") as file:
        assert file.read() == whole
    served(lab)


def test_a_host_that_does_not_forward_is_told_once(make_lab):
    lab = make_lab(backends=2)
    lab.weir.sysctl(net__ipv4__ip_forward=0)
    serve(lab)
    lab.configure(RESOURCES)
    lab.start_weir()
    def told():
        return [w for w in kernel_of(lab)["warnings"] if "sysctl -w net.ipv4.ip_forward=1" in w]
    assert len(told()) == 1, kernel_of(lab)
    assert "Warning      net.ipv4.ip_forward is 0: this host forwards no IPv4 packet" in lab.weirctl("status", json_output=False)
    assert lab.weirctl("reload")["changed"] is False
    assert log_of(lab).count("net.ipv4.ip_forward is 0") == 1
    lab.weir.sysctl(net__ipv4__ip_forward=1)
    lab.until(lambda: not told(), 15, "the warning has gone", lab.tail)


def test_a_growing_rule_tree_and_a_killed_run_are_nobody_elses_doing(make_lab):
    lab = make_lab(backends=2)
    serve(lab)
    resources = RESOURCES.replace("drainingTimeoutSec: 300", "drainingTimeoutSec: 0")
    lab.configure(resources)
    lab.start_weir()
    for count in range(3, 12):
        more = ", ".join(f'{{ipAddress: 10.2.0.{100 + n}, ipv6Address: "fd02::{100 + n}"}}' for n in range(count))
        lab.configure(resources.replace("endpoints: [", f"endpoints: [{more}, ", 1))
        assert lab.weirctl("reload")["changed"]
        if count == 7:
            restart(lab, signal.SIGKILL)
    lab.configure(resources)
    assert lab.weirctl("reload")["changed"]
    lab.until(lambda: "10.2.0.105" not in lab.weir.run("ip", "neigh").stdout, 10, "the others are gone", lab.tail)
    kernel = kernel_of(lab)
    assert [c for c in kernel["changes"] if c["kind"] in ("removed", "restored")] == [], kernel
    assert "others had" not in log_of(lab)
