#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The package in a machine of its own, from installation to purge: runs as root in the guest, and reboots it once.
With the word `kills`: only how soon killed units are back.

  old/weir_*.deb  a build of an earlier commit     readme.yaml   the README's first configuration
  new/weir*.deb   the build that is tested         proxy.yaml    a proxy service beside it
  vmlinuz, initramfs  what it reboots into         autopkgtests  debian/tests
"""

import contextlib
import glob
import json
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "/var/lib/weir-package-test"  # what the first boot leaves for the second
UNITS = ["weir.service", "weir-engine.service", "weir-proxy.service"]
WEB, ECHO, PROXY = "203.0.113.9:80", "203.0.113.9:443", "203.0.113.10:900"
CONNECTIONS = 250  # of each kind
BACK_WITHIN = 1.0  # seconds after which a killed unit is ready again
PROTOCOL = 87  # of weir's rules and routes
UNATTENDED = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
LAB_UNITS = {
    "lab-network.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/local/lib/lab_network.py make\n"
                           "[Install]\nWantedBy=multi-user.target\n",
    "lab-backend@.service": "[Unit]\nAfter=lab-network.service\nRequires=lab-network.service\n[Service]\n"
                            "ExecStart=ip netns exec %i /usr/local/lib/lab_network.py serve %i\n"
                            "[Install]\nWantedBy=multi-user.target\n"}


def run(*words, **options):
    done = subprocess.run(words, text=True, capture_output=True, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def status_of(*words):
    return subprocess.run(words, text=True, capture_output=True, check=False)


def say(text):
    print(f"ok    {text}", flush=True)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def until(what, condition, seconds=90):
    """What `condition` gave, as soon as that is something; the time that it took is printed."""
    started = time.monotonic()
    while True:
        value = condition()
        if value:
            return value, time.monotonic() - started
        expect(time.monotonic() - started < seconds, f"not within {seconds} s: {what}")
        time.sleep(0.1)


def shown(unit, name):
    return run("systemctl", "show", "--property", name, "--value", unit).strip()


def install(directory, name="weir"):
    """apt-get as a person without a terminal runs it: a question would fail."""
    path, = glob.glob(f"{HERE}/{directory}/{name}_*.deb")
    # A configuration file that was edited stays, also where the package has a new one.
    run("apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", path,
        stdin=subprocess.DEVNULL, env=UNATTENDED)


def uninstall(how, name):
    run("apt-get", how, "-y", name, stdin=subprocess.DEVNULL, env=UNATTENDED)


# What a machine is like without weir.

# Not weir's, and different from moment to moment: what the package manager, the journal and this test write, and DKMS at
# its first module (the key it signs with).
OTHERS = re.compile(r"^/(proc|sys|dev|run|tmp|payload|output|root"
                    r"|var/(lib/(dpkg|apt|systemd|weir-package-test|dkms/mok\.(key|pub))|cache|log|tmp)"
                    r"|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?|etc/\.pwd\.lock)(/|$)")


def files():
    return {path for path in run("find", "/", "-xdev").splitlines() if not OTHERS.match(path)} | \
           {path for path in run("find", "/run", "-xdev", "-path", "*weir*", "-not", "-path", "/run/systemd/*").splitlines()}


def machine():
    """Files, and everything of the kernel's that a user can see, as text."""
    sysctls = run("sh", "-c", "sysctl -a 2>/dev/null | grep -E '^net\\.(ipv4|ipv6)' | grep -vE 'neigh\\.|tcp_fastopen_key|"
                              "stable_secret|nf_conntrack|tcp_mem|udp_mem'")
    parts = {"files": sorted(files()), "rules": run("ip", "rule").splitlines() + run("ip", "-6", "rule").splitlines(),
             "routes": run("ip", "route", "show", "table", "all").splitlines(),
             "addresses": re.findall(r"inet6? \S+", run("ip", "addr")),
             "nexthops": run("ip", "nexthop").splitlines(), "proxies": run("ip", "neigh", "show", "proxy").splitlines(),
             "nf_tables": run("nft", "list", "ruleset").splitlines(), "sysctls": sysctls.splitlines(),
             "units": sorted(re.findall(r"^\S*weir(?!-vm)\S*", run("systemctl", "list-units", "--all", "--plain",
                                                                  "--no-legend", "weir*"), re.M))}
    # Link-local addresses are others after a reboot.
    for kind in ("routes", "addresses"):
        parts[kind] = sorted(line for line in parts[kind] if "fe80" not in line)
    return parts


def differences(before, after):
    return [f"{kind}: {sign} {line}" for kind in before for sign, lines in
            (("left", set(after[kind]) - set(before[kind])), ("gone", set(before[kind]) - set(after[kind])))
            for line in sorted(lines)]


# Traffic.

def names(count):
    """Who answers so many requests to the web service."""
    answers = []
    for _ in range(count):
        answers.append(run("ip", "netns", "exec", "client", "curl", "-sS", "--max-time", "20", f"http://{WEB}/"))
    return answers


def healthy(service):
    done = status_of("weirctl", "backend-services", "get-health", service, "--format", "json")
    return done.returncode == 0 and done.stdout.count('"HEALTHY"') == 2


def await_traffic(what):
    for service in ("web", "echo"):
        _, took = until(f"{service}: two healthy backends", lambda service=service: healthy(service))
    answers = names(12)
    expect(set(answers) == {"b1", "b2"}, f"both backends answer: {answers}")
    say(f"{what}: both backends healthy after {took:.1f} s, and both serve")


class Held:
    """Open connections in the client's namespace."""

    def __init__(self, **counts):
        self.process = subprocess.Popen(["ip", "netns", "exec", "client", f"{HERE}/hold_connections.py"] +
                                        [f"{target}={count}" for target, count in counts["targets"].items()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.opened = json.loads(self.process.stdout.readline())["open"]

    @contextlib.contextmanager
    def talking(self, what):
        """Words go to and fro on all connections meanwhile."""
        enough, reports = threading.Event(), []

        def talk():
            while not enough.is_set():
                reports.append(self.ask())
        thread = threading.Thread(target=talk)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()
        broken = [report for report in reports if any(target["broken"] for target in report.values())]
        expect(not broken, f"{what}: {broken[:1]}")
        say(f"{what}: words went to and fro {len(reports)} times meanwhile, on all connections")

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def all_answer(self, what, targets=(ECHO, PROXY)):
        report = self.ask()
        for target in targets:
            expect(report[target]["broken"] == 0, f"{what}: {report}")
        say(f"{what}: {sum(report[target]['answer'] for target in targets)} connections go on, none broken")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# The steps.

def prepare():
    os.makedirs("/usr/local/lib", exist_ok=True)
    run("install", "-m", "755", f"{HERE}/lab_network.py", "/usr/local/lib/lab_network.py")
    for name, text in LAB_UNITS.items():
        with open(f"/etc/systemd/system/{name}", "w", encoding="ascii") as file:
            file.write(text)
    run("systemctl", "daemon-reload")
    run("systemctl", "enable", "--now", "lab-network.service", "lab-backend@b1.service", "lab-backend@b2.service")
    for address in ("192.0.2.11", "192.0.2.12"):
        until(f"{address} answers", lambda address=address: status_of("curl", "-sS", f"http://{address}/").returncode == 0)
    # Modules are not weir's; with them, what /proc and sysctl list is the same before and after.
    run("modprobe", "-a", "nf_tables", "nfnetlink_queue")
    run("nft", "list", "ruleset")


def empty_configuration():
    install("old")
    for unit in UNITS + ["weir-run.service"]:
        expect(shown(unit, "ActiveState") == "active", f"{unit} is {shown(unit, 'ActiveState')} after the installation")
    time.sleep(3)
    for unit in UNITS:
        expect(shown(unit, "NRestarts") == "0", f"{unit} was restarted with the empty configuration")
    expect("0 loaded units" in run("systemctl", "--failed"), run("systemctl", "--failed"))
    expect(shown("weir.service", "UnitFileState") == "enabled", "enabled at boot")
    expect("weir-engine" in run("weirctl", "status"), "weirctl status answers")
    run("systemctl", "reload", "weir")
    say("installed without a question; all units run with the empty configuration")


def first_configuration():
    with open("/etc/weir/weir.yaml", "a", encoding="ascii") as file:
        file.write("manageSysctls: true\nproxy: {shutdownGraceSec: 600}\n")
    run("cp", f"{HERE}/readme.yaml", "/etc/weir/conf.d/web.yaml")
    run("cp", f"{HERE}/proxy.yaml", "/etc/weir/conf.d/proxy.yaml")
    run("systemctl", "reload", "weir")
    await_traffic("README's configuration, systemctl reload")
    expect(run("sysctl", "-n", "net.ipv4.conf.br-b.forwarding").strip() == "1", "manageSysctls works in the sandbox")
    say("what is missing on the host is set from within the sandbox")


def operators():
    for user, group in (("op", "weir"), ("viewer", "weir-view"), ("guest", None)):
        run("useradd", user, *(["-G", group] if group else []))
    as_user = lambda user, *words: status_of("setpriv", f"--reuid={user}", "--init-groups", f"--regid={user}", "weirctl", *words)
    expect(as_user("op", "health-checks", "create", "tcp", "made", "--port=1").returncode == 0, "group weir may change")
    expect(os.path.exists("/etc/weir/conf.d/weirctl.yaml"), "the change is in conf.d/weirctl.yaml")
    expect(as_user("op", "health-checks", "delete", "made", "--quiet").returncode == 0, "and take it back")
    expect(as_user("viewer", "status").returncode == 0, "group weir-view may look")
    refused = as_user("viewer", "reload")
    expect(refused.returncode == 1, f"group weir-view may not change: {refused}")
    expect(as_user("guest", "status").returncode != 0, "others may not even look")
    # As keepalived runs its script (docs/operations.md).
    script = status_of("setpriv", "--reuid=_weir-manager", "--regid=_weir", "--clear-groups", "weirctl", "--timeout", "2", "status")
    expect(script.returncode == 0, f"keepalived's script: {script}")
    for user in ("op", "viewer", "guest"):
        run("userdel", user)
    say("root and group weir change, weir-view looks, others are kept out")


def bad_configuration():
    with open("/etc/weir/conf.d/zz-bad.yaml", "w", encoding="ascii") as file:
        file.write("backendServices: [{name: web2, healthChecks: [nobody]}]\n")
    done = status_of("systemctl", "reload", "weir")
    expect(done.returncode != 0, "a reload with an error fails")
    journal = run("journalctl", "-u", "weir", "-n", "20", "--output", "cat")
    expect("zz-bad.yaml:1:" in journal, f"the journal has file and line:\n{journal}")
    os.unlink("/etc/weir/conf.d/zz-bad.yaml")
    expect(set(names(12)) == {"b1", "b2"}, "traffic goes on")
    run("systemctl", "reload", "weir")
    say("a configuration with an error: reload fails with file and line, the running one goes on")


def kill(unit):
    """Kills a unit; seconds until there was a new process, and until that was ready, by systemd's clock."""
    before = shown(unit, "MainPID")
    others = {other: shown(other, "MainPID") for other in UNITS if other != unit}
    run("systemctl", "kill", "-s", "KILL", unit)
    until(f"{unit} is back", lambda: shown(unit, "MainPID") not in (before, "0"), 30)
    until(f"{unit} is active", lambda: shown(unit, "ActiveState") == "active", 60)
    for other, pid in others.items():
        expect(shown(other, "MainPID") == pid, f"{other} was restarted because {unit} was killed")
    ended, started, ready = (int(shown(unit, name)) / 1e6 for name in (
        "ActiveExitTimestampMonotonic", "ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic"))
    say(f"{unit} killed: a new process after {started - ended:.2f} s, ready after {ready - ended:.2f} s, the others go on")
    return started - ended, ready - ended


def killed(held):
    for unit in UNITS:
        kill(unit)
        # A proxy that is killed takes its connections along; those of the engine and under the manager live on.
        if unit == "weir-proxy.service":
            held.all_answer(f"{unit} killed", (ECHO,))
            until("new clients of the proxy are served", lambda: proxy_echoes() == "word")
        else:
            held.all_answer(f"{unit} killed")
    await_traffic("after three kills")


def proxy_echoes():
    """What the proxy's backend echoes to a new client."""
    return status_of("ip", "netns", "exec", "client", "python3", "-c",
                     "import socket; s = socket.create_connection(('203.0.113.10', 900), 20); s.sendall(b'word'); "
                     "print(s.recv(9).decode())").stdout.strip()


def restarted(held):
    with held.talking("engine and manager restarted"):
        for unit in ("weir-engine.service", "weir.service"):
            run("systemctl", "--job-mode=ignore-dependencies", "restart", unit)
    held.all_answer("engine and manager restarted")
    before = shown("weir-proxy.service", "MainPID")
    with held.talking("proxy replaced"):
        run("systemctl", "reload", "weir-proxy")
    until("the successor is the main process", lambda: shown("weir-proxy.service", "MainPID") not in (before, "0"), 20)
    held.all_answer("proxy replaced by systemctl reload weir-proxy")


def upgraded(held):
    version = run("dpkg-query", "-W", "-f", "${Version}", "weir")
    pids = {unit: shown(unit, "MainPID") for unit in UNITS}
    with held.talking("upgrade"):
        install("new")
    now = run("dpkg-query", "-W", "-f", "${Version}", "weir")
    for unit in UNITS:
        until(f"{unit} is a new process", lambda unit=unit: shown(unit, "MainPID") not in ("0", pids[unit]), 60)
        expect("deleted" not in os.readlink(f"/proc/{shown(unit, 'MainPID')}/exe"), f"{unit} runs the new program")
    with open("/etc/weir/weir.yaml", encoding="ascii") as file:
        expect("manageSysctls: true" in file.read(), "the edited configuration is kept")
    held.all_answer(f"upgrade from {version} to {now}")
    await_traffic("after the upgrade")
    until("the engine serves its queues", lambda: "queues" in shown("weir-engine.service", "StatusText"))
    until("the proxy's status is its own, not its predecessor's", lambda: "1 fronts" in shown("weir-proxy.service", "StatusText"))
    until("the manager's status is of now", lambda: "2 forwarding rules" in shown("weir.service", "StatusText"))
    say(f"STATUS: {'; '.join(shown(unit, 'StatusText') for unit in UNITS)}")


def whole():
    run("systemctl", "stop", "weir")
    for unit in UNITS + ["weir-run.service"]:
        until(f"{unit} stopped", lambda unit=unit: shown(unit, "ActiveState") == "inactive", 60)
    expect(not os.path.exists("/run/weir"), "the run directory goes with the whole")
    expect("weir" not in run("nft", "list", "ruleset"), "nothing is left in nf_tables")
    run("systemctl", "start", "weir")
    for unit in UNITS:
        until(f"{unit} started", lambda unit=unit: shown(unit, "ActiveState") == "active", 60)
    pids = {unit: shown(unit, "MainPID") for unit in UNITS}
    run("systemctl", "restart", "weir")
    for unit in UNITS:
        until(f"{unit} restarted", lambda unit=unit: shown(unit, "MainPID") not in ("0", pids[unit]), 60)
    await_traffic("stop, start, restart of weir as a whole")


def autopkgtests():
    """Those of debian/tests, as autopkgtest runs them."""
    autopkgtest("smoke", "fragments", "lifecycle")
    await_traffic("after the autopkgtests")


def autopkgtest(*tests):
    for name in tests:
        say(f"autopkgtest {name}: {run(f'{HERE}/autopkgtests/{name}').splitlines()[-1]}")


def module():
    """weir-dkms: built by DKMS, used by the engine, gone after the purge."""
    release = os.uname().release
    if not os.path.isdir(f"/usr/src/linux-headers-{release}"):
        say("no headers of this kernel: the module is not tried here")
        return
    # The machine's modules were put here from outside, without what the package of headers adds to them.
    way, lent = f"/lib/modules/{release}/build", False
    if not os.path.exists(way):
        os.symlink(f"/usr/src/linux-headers-{release}", way)
        lent = True
    before = machine()
    install("new", "weir-dkms")
    autopkgtest("module")
    await_traffic("with the module")
    held = Held(targets={ECHO: CONNECTIONS})
    held.all_answer("opened with the module", (ECHO,))
    uninstall("remove", "weir-dkms")
    held.all_answer("weir-dkms removed", (ECHO,))
    held.close()
    uninstall("purge", "weir-dkms")
    # Rules and routes are weir's own meanwhile, which started anew and numbers its marks from one again.
    left = [line for line in differences(before, machine()) if f"proto {PROTOCOL}" not in line]
    expect(not left, "after the purge of weir-dkms:\n" + "\n".join(left))
    say("weir-dkms purged: everything is as before")
    if lent:
        os.unlink(way)


def exposure():
    for unit, limit in zip(UNITS, (3.0, 3.0, 2.0)):
        overall = re.search(r"Overall exposure level for \S+ ([\d.]+)", run("systemd-analyze", "security", "--no-pager", unit))
        expect(float(overall.group(1)) <= limit, f"{unit}: {overall.group(0)}")
        say(overall.group(0))


def removed(before):
    uninstall("remove", "weir")
    left = [line for line in differences(before, machine()) if "/etc/weir" not in line and "/var/lib/weir" not in line]
    # That it is enabled is remembered until the purge, as for every package.
    left = [line for line in left if "multi-user.target.wants/weir" not in line and line != "units: left weir.service"]
    expect(not left, "after the removal:\n" + "\n".join(left))
    expect(os.path.exists("/etc/weir/conf.d/web.yaml"), "the removal keeps the configuration")
    say("removed: nothing is left but the configuration")
    uninstall("purge", "weir")
    run("systemctl", "daemon-reload")
    left = differences(before, machine())
    expect(not left, "after the purge:\n" + "\n".join(left))
    say("purged: files, rules, routes, addresses, neighbours, nf_tables, sysctls and units are as before")


def reboot():
    """Into the same kernel, by kexec: the virtual machine itself would end. The unit that runs this is not to end
    the machine at its own end this time."""
    os.makedirs("/etc/systemd/system/weir-vm.service.d", exist_ok=True)
    with open("/etc/systemd/system/weir-vm.service.d/reboot.conf", "w", encoding="ascii") as file:
        file.write("[Unit]\nSuccessAction=none\nFailureAction=none\n[Service]\nExecStopPost=\n")
    run("systemctl", "daemon-reload")
    with open("/proc/cmdline", encoding="ascii") as file:
        line = file.read().strip()
    run("kexec", "-l", f"{HERE}/vmlinuz", f"--initrd={HERE}/initramfs", f"--command-line={line}")
    run("sync")
    run("systemctl", "--no-block", "kexec")
    time.sleep(600)


def kills():
    """How soon a killed unit is back, on a machine whose clock counts instructions: one in a nanosecond."""
    prepare()
    install("new")
    first_configuration()
    for unit in UNITS:
        started, ready = kill(unit)
        expect(max(started, ready) <= BACK_WITHIN, f"{unit} is not back within {BACK_WITHIN} s")
    await_traffic("after three kills")


def second_boot():
    with open(f"{MARK}/before.json", encoding="utf-8") as file:
        before = json.load(file)
    os.unlink("/etc/systemd/system/weir-vm.service.d/reboot.conf")
    os.rmdir("/etc/systemd/system/weir-vm.service.d")
    run("systemctl", "daemon-reload")
    await_traffic("reboot")
    removed(before)


def first_boot():
    prepare()
    before = machine()
    os.makedirs(MARK, exist_ok=True)
    with open(f"{MARK}/before.json", "w", encoding="utf-8") as file:
        json.dump(before, file)
    empty_configuration()
    first_configuration()
    operators()
    bad_configuration()
    exposure()
    held = Held(targets={ECHO: CONNECTIONS, PROXY: CONNECTIONS})
    held.all_answer("opened")
    upgraded(held)
    restarted(held)
    killed(held)
    held.close()
    whole()
    autopkgtests()
    module()
    say("rebooting")
    reboot()


def main():
    try:
        if sys.argv[1:] == ["kills"]:
            kills()
        else:
            second_boot() if os.path.exists(f"{MARK}/before.json") else first_boot()
    except AssertionError as error:
        print(f"FAILED {error}", flush=True)
        subprocess.run(["systemctl", "status", "--no-pager", "weir*"], check=False)
        subprocess.run(["journalctl", "-b", "--no-pager", "-n", "80", "-o", "short-monotonic", "-u", "weir*"], check=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
