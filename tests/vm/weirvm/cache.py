# SPDX-License-Identifier: GPL-2.0-or-later
"""What is expensive to make and always the same lies outside the tree, and makes itself again."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time

DIRECTORY = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weir-vm")


def run(*words, **kwargs):
    """A command whose words are only of interest when it fails."""
    done = subprocess.run(words, text=True, capture_output=True, **kwargs)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def cached(name, recipe, make):
    """The directory `name` of the cache. If it is not there, or was made by another recipe (a
    text), make(directory) fills a new one, which takes its place only when it is complete. Two
    runs that want the same wait for each other."""
    os.makedirs(DIRECTORY, exist_ok=True)
    path, note = os.path.join(DIRECTORY, name), hashlib.sha256(recipe.encode()).hexdigest()
    with open(f"{path}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(f"{path}/.recipe", encoding="ascii") as found:
                if found.read() == note:
                    return path
        except FileNotFoundError:
            pass
        started, fresh = time.monotonic(), f"{path}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
        print(f"vm: making {name} in {DIRECTORY}", file=sys.stderr, flush=True)
        make(fresh)
        with open(f"{fresh}/.recipe", "w", encoding="ascii") as out:
            out.write(note)
        shutil.rmtree(path, ignore_errors=True)
        os.rename(fresh, path)
        print(f"vm: made {name} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return path
