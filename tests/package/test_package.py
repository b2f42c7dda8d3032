# SPDX-License-Identifier: GPL-2.0-or-later
"""What the package says and brings: man pages, README and guides agree with the programs, every configuration that is
shown is valid and does what is said of it, units are as closed as promised. The package's life is in vm/."""

import glob
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys

import pytest
import yaml

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("WEIR_BIN") or f"{TREE}/build/bin"
PACKAGING = f"{TREE}/packaging"
DAEMONS = ("weir-manager", "weir-engine", "weir-proxy")
PAGES = ("weir.7", "weir.yaml.5", "weirctl.1", "weir-manager.8", "weir-engine.8", "weir-proxy.8")
GUIDES = ("README.md", "docs/operations.md", "packaging/man/weir.7.md", "packaging/man/weir-manager.8.md")
# How exports call what a configuration has in collections.
KINDS = {"compute#healthCheck": "healthChecks", "compute#backendService": "backendServices",
         "compute#forwardingRule": "forwardingRules"}


def read(path):
    with open(f"{TREE}/{path}", encoding="utf-8") as file:
        return file.read()


def program(name, *words):
    return subprocess.run([f"{BIN}/{name}", *words], text=True, capture_output=True, check=False)


def output(*words, **options):
    done = subprocess.run(words, text=True, capture_output=True, check=False, **options)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session", name="pages")
def made_pages(tmp_path_factory):
    """The man pages as they are shown, in lines of 200 characters so that nothing is broken."""
    directory = tmp_path_factory.mktemp("man")
    output(sys.executable, "-B", f"{PACKAGING}/man/make_pages.py", "--docs", f"{TREE}/docs", "--version", "0", directory)
    shown = {}
    for name in os.listdir(directory):
        done = subprocess.run(["man", "--warnings", "--encoding=UTF-8", "--local-file", f"{directory}/{name}"], text=True,
                              capture_output=True, check=True, env=os.environ | {"MANWIDTH": "200", "LC_ALL": "C.UTF-8"})
        assert done.stderr == "", f"{name}: {done.stderr}"
        shown[name] = re.sub(r"\s+", " ", done.stdout.replace("‐\n", "").replace("−", "-"))
    return shown


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M)


def check(path):
    done = program("weirctl", "check", str(path))
    assert done.returncode == 0, f"{path}:\n{done.stdout}{done.stderr}"


# Man pages.

def test_there_is_a_page_for_every_program_and_file(pages):
    assert set(pages) == set(PAGES)


def test_pages_hold_no_markdown(pages):
    for name, text in pages.items():
        assert not (found := re.search(r".{0,40}(?:\]\(|\*\*|<!--).{0,40}", text)), f"{name}: {found.group()}"


@pytest.mark.parametrize("daemon", DAEMONS)
def test_options_of_daemons_are_those_of_their_help(daemon, pages):
    said = program(daemon, "--help").stdout
    options = re.findall(r"^  (--[a-z-]+)(?: ([A-Z]+))?", said, re.M) + [("--version", "")]
    documented = re.findall(r"^\| `(--[a-z-]+)(?: ([A-Z]+))?`", read("packaging/man/daemon-options.md"), re.M)
    assert sorted(options) == sorted(documented)
    for option, value in options:
        assert f"{option} {value}".strip() in pages[f"{daemon}.8"]
    for default in re.findall(r"\((/[a-z/]+)\)", said):
        assert f"default {default}" in pages[f"{daemon}.8"]


def test_signals_of_the_manager_are_those_of_its_help():
    said = set(re.findall(r"SIG\w+", program("weir-manager", "--help").stdout))
    assert said and said <= set(re.findall(r"SIG\w+", read("packaging/man/weir-manager.8.md")))


def test_weirctl_1_has_every_command_and_flag(pages):
    reference = program("weirctl", "__reference").stdout
    commands = re.findall(r"^### `(weirctl [^`]+)`", reference, re.M)
    assert len(commands) > 40
    flags = set(re.findall(r"^\| `(?:-\w, )?(--[^ `]+)", reference, re.M))
    missing = [word for word in commands + sorted(flags) if word not in pages["weirctl.1"]]
    assert not missing


def test_weir_yaml_5_has_every_key(pages):
    keys = re.findall(r"^\| `(\w+)` \|", read("docs/configuration.md"), re.M)
    assert len(keys) > 100
    assert not [key for key in keys if key not in pages["weir.yaml.5"]]


def test_the_shipped_weir_yaml_names_every_setting_of_the_node():
    section = read("docs/configuration.md").split("### `weir.yaml`")[1].split("###")[0]
    keys = re.findall(r"^\| `(\w+)` \|", section, re.M)
    text = read("packaging/examples/weir.yaml")
    assert keys and not [key for key in keys if not re.search(rf"^#{key}:", text, re.M)]
    assert not re.search(r"^[^#\n]", text, re.M), "every setting is switched off"


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_in_guides_exist(guide):
    text = read(guide)
    code = "\n".join(blocks(text, "[a-z]*") + re.findall(r"`([^`\n]+)`", text))
    found = set(re.findall(r"weirctl ((?:[a-z][a-z-]+ ?){1,3})", code))
    for words in found:
        # The longest beginning that is a command; what follows are its arguments.
        words = words.split()
        assert any(program("weirctl", *words[:count], "--help").returncode == 0 for count in range(len(words), 0, -1)), words


def test_flags_in_guides_exist():
    reference = program("weirctl", "__reference").stdout
    for guide in GUIDES:
        for line in re.findall(r"weirctl [^`\n#|]*", read(guide)):
            for flag in re.findall(r"(?<= )--[a-z-]+", line):
                assert flag in reference or flag in ("--help",), f"{guide}: {line}"


# Configurations that are shown.

def test_the_first_configuration_of_the_readme_is_valid(tmp_path):
    found = [text for text in blocks(read("README.md"), "yaml") if "forwardingRules" in text]
    assert len(found) == 1
    (tmp_path / "web.yaml").write_text(found[0])
    check(tmp_path / "web.yaml")


@pytest.mark.parametrize("example", sorted(os.path.basename(p) for p in glob.glob(f"{PACKAGING}/examples/*.yaml")))
def test_examples_are_valid(example):
    check(f"{PACKAGING}/examples/{example}")


def test_the_five_promised_examples_are_there():
    for name, kept in (("web-failover", "failover: true"), ("dns", "allPorts: true"), ("firewall-next-hop", "nextHopIlb"),
                       ("tls-routes", "tlsRoutes:"), ("zones-with-policy", "serviceLbPolicies:")):
        assert kept in read(f"packaging/examples/{name}.yaml")


def test_examples_of_the_operations_guide_are_valid(tmp_path):
    for number, text in enumerate(blocks(read("docs/operations.md"), "yaml")):
        (tmp_path / f"{number}.yaml").write_text(text)
        check(tmp_path / f"{number}.yaml")


def resources(path):
    """All documents of a file as one mapping of collections, as a scenario has them."""
    found = {}
    for document in yaml.safe_load_all(read(path)):
        if kind := document.pop("kind", None):
            document = {KINDS[kind]: [document]}
        for collection, items in document.items():
            found.setdefault(collection, []).extend(items)
    return found


@pytest.mark.parametrize("origin", ["keepalived", "haproxy", "google-cloud"])
def test_migrated_configurations_do_what_the_original_did(origin, tmp_path):
    check(f"{PACKAGING}/migration/{origin}/weir.conf.yaml")
    scenario = yaml.safe_load(read(f"packaging/migration/{origin}/scenario.yaml"))
    scenario["resources"] = resources(f"packaging/migration/{origin}/weir.conf.yaml")
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    done = program("weirctl", "simulate", "--check", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    # Not by a check that finds nothing to compare.
    scenario["expect"][0]["endpoint"] = "192.0.2.255"
    path.write_text(yaml.safe_dump(scenario))
    assert program("weirctl", "simulate", "--check", str(path)).returncode == 1


# Units and packaging.

@pytest.fixture(scope="session", name="units")
def configured_units(tmp_path_factory):
    """The units as they are installed, but with programs that exist here, so that systemd can look at them."""
    directory = tmp_path_factory.mktemp("units")
    for path in glob.glob(f"{PACKAGING}/systemd/*.service*"):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"@\w+@/(?:weir/)?[a-z-]+", "/bin/true", file.read())
        (directory / os.path.basename(path).removesuffix(".in")).write_text(text)
    return directory


@pytest.mark.parametrize("unit, limit", [("weir", 3.0), ("weir-engine", 3.0), ("weir-proxy", 2.0), ("weir-run", 3.0),
                                         ("weir-recover", 3.0)])
def test_units_are_as_closed_as_promised(unit, limit, units):
    said = output("systemd-analyze", "security", "--offline=true", "--no-pager", f"{units}/{unit}.service")
    assert float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said).group(1)) <= limit


@pytest.mark.parametrize("unit, capabilities", [("weir", "CAP_NET_ADMIN CAP_NET_RAW"), ("weir-engine", "CAP_NET_ADMIN"),
                                                ("weir-proxy", "CAP_NET_BIND_SERVICE")])
def test_programs_have_no_more_capabilities_than_they_need(unit, capabilities, units):
    text = (units / f"{unit}.service").read_text()
    assert re.findall(r"^CapabilityBoundingSet=(.*)", text, re.M) == [capabilities]
    assert re.findall(r"^AmbientCapabilities=(.*)", text, re.M) == [capabilities]
    assert re.search(r"^User=_weir-\w+$", text, re.M)


def test_systemd_understands_the_units(units):
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(str(path) for path in units.iterdir())], text=True,
                          capture_output=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "weir" in line]
    assert done.returncode == 0 and not ours, done.stderr


def test_the_package_has_the_version_of_the_programs():
    version = re.search(r"project\(weir VERSION ([\d.]+)", read("CMakeLists.txt")).group(1)
    assert read("packaging/debian/changelog").startswith(f"weir ({version})")
    assert program("weirctl", "--version").stdout.split()[-1] == version
    assert f"Version:        {version}\n" in read("packaging/rpm/weir.spec")


def test_the_package_builds_with_what_the_build_needs():
    libraries = re.findall(r"^(lib\S+-dev|nlohmann\S+)$", read("packaging/build-dependencies").split("# unit,")[0], re.M)
    control = read("packaging/debian/control").split("Package:")[0]
    assert len(libraries) > 8
    assert not [library for library in libraries if f" {library}," not in control]


def test_scripts_are_understood_by_the_shell():
    scripts = [path for pattern in ("debian/weir*.p*", "debian/tests/*", "systemd/replace-*") for path in
               glob.glob(f"{PACKAGING}/{pattern}") if open(path, encoding="utf-8").readline().startswith("#!")]
    assert len(scripts) > 5
    for path in scripts:
        output("sh", "-n", path)


def test_the_container_image_is_one_by_its_digests(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("NAME=test\n")
    output("tar", "-C", tmp_path, "-cf", tmp_path / "root.tar", "etc")
    output(sys.executable, "-B", f"{PACKAGING}/oci/make-image", "--root", tmp_path / "root.tar", "--output", tmp_path / "image")

    def blob(reference):
        data = (tmp_path / "image/blobs" / reference["digest"].replace(":", "/")).read_bytes()
        assert len(data) == reference["size"] and f"sha256:{hashlib.sha256(data).hexdigest()}" == reference["digest"]
        return data
    manifest = json.loads(blob(json.loads((tmp_path / "image/index.json").read_text())["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    plain = gzip.decompress(blob(manifest["layers"][0]))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(plain).hexdigest()}"]
    assert config["config"]["Cmd"] == ["weir-manager"]


def test_every_guide_of_the_source_is_in_a_package():
    listed = read("packaging/debian/weir.docs").split() + read("packaging/debian/weir-dkms.docs").split()
    there = [f"docs/{name}" for name in sorted(os.listdir(f"{TREE}/docs"))]
    assert sorted(path for path in listed if path.startswith("docs/")) == there
