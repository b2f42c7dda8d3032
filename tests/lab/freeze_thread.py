# SPDX-License-Identifier: GPL-2.0-or-later
"""freeze_thread.py PID NAME: stops one thread of a process, and no other, until standard input ends. Prints a line when it is
so. A process of its own, because a thread that ends while it is traced waits for its tracer."""

import ctypes
import os
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def main():
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes, ptrace.restype = [ctypes.c_long] * 4, ctypes.c_long
    for task in os.listdir(f"/proc/{sys.argv[1]}/task"):
        with open(f"/proc/{sys.argv[1]}/task/{task}/comm", encoding="ascii") as file:
            if file.read().strip() != sys.argv[2]:
                continue
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if ptrace(request, int(task), 0, 0) != 0:
                sys.exit(os.strerror(ctypes.get_errno()))
        print("frozen", flush=True)
        sys.stdin.read()
        return
    sys.exit(f"no thread {sys.argv[2]}")


if __name__ == "__main__":
    main()
