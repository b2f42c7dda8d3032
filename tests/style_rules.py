# SPDX-License-Identifier: GPL-2.0-or-later
"""The few rules of style that a formatter cannot see, each with its reason."""

import re
import subprocess
import sys

MAX_LINES = 450
RULES = [
    # reason, files, pattern
    ("a switch over our own enums names every value, so that the compiler finds the forgotten one; over "
     "anything else, say behind it what it is", r"\.(h|cc)$", re.compile(r"^\s*default:(?!\s*//)")),
    ("an open end belongs into an issue", r"\.(h|cc|c|py|md)$", re.compile(r"\b(TODO|FIXME|XXX)\b")),
    ("a test that is skipped proves nothing", r"^tests/.*\.(cc|py)$",
     re.compile(r"GTEST_SKIP|DISABLED_|pytest\.(skip|mark\.skip)")),
    ("headers include by path from include/ or userspace/, so that moving a file is found by the compiler",
     r"\.(h|cc)$", re.compile(r'#include "\.\./')),
    ("core has no I/O, no clock and no threads of its own; sys/mman.h is for large memory",
     r"^(userspace/core|include/weir)/",
     re.compile(r"#include <(sys/(?!mman\.h)|unistd|netinet|linux/|arpa/|thread>|fstream>|iostream>|ctime>)|_clock::now")),
]


def main():
    complaints = []
    for path in subprocess.check_output(["git", "ls-files"], text=True).split():
        if path == "tests/style_rules.py":
            continue
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        source = re.search(r"\.(h|cc|c)$", path)
        if source and not any("SPDX-License-Identifier" in line for line in lines[:2]):
            complaints.append(f"{path}:1: no SPDX line: a file must say its licence by itself")
        if source and not path.startswith("tests/") and len(lines) > MAX_LINES:
            complaints.append(f"{path}:{len(lines)}: over {MAX_LINES} lines: is it one idea?")
        for reason, files, pattern in RULES:
            if re.search(files, path):
                complaints += [f"{path}:{number}: {pattern.search(line).group().strip()}: {reason}"
                               for number, line in enumerate(lines, 1) if pattern.search(line)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
