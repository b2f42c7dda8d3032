# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual machines for weir's tests: Debian's kernels under QEMU. README.md beside this says how."""
