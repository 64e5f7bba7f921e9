"""What would run the tests that were skipped: packages that are missing here, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

PACKAGES = (
    (r"afl|sanitizers", "afl++"),
    (r"\bgit\b", "git"),
    (r"C compiler", "gcc libc6-dev"),
    (r"tmux", "tmux"),
    (r"openssh|sshd", "openssh-server openssh-client"),
    (r"gdb", "gdb"),
    (r"lcov", "lcov"),
    (r"chromium", "chromium"),
    (r"gnuplot", "gnuplot-nox"),
    (r"slurm|munge|sbatch", "slurmctld slurmd slurm-client munge"),
    (r"cmake", "cmake"),
    (r"ccache", "ccache"),
    (r"libstb", "libstb-dev"),
    (r"util-linux|unshare", "util-linux"),
    (r"iproute2", "iproute2"),
    (r"nftables", "nftables"),
    (r"groff", "groff"),
    (r"\bzsh\b", "zsh"),
    (r"\bfish\b", "fish"),
)
"""By what a reason to skip mentions: Debian's packages."""


def advice(reasons: Iterable[str]) -> str:
    """One line that names the packages; an empty string if none of the reasons is one missing."""
    count, wanted = 0, dict.fromkeys("")
    for reason in reasons:
        found = [package for pattern, package in PACKAGES if re.search(pattern, reason, re.I)]
        count += bool(found)
        wanted |= dict.fromkeys(found)
    if not count:
        return ""
    tests = "1 test was" if count == 1 else f"{count} tests were"
    return f"{tests} skipped for want of programs; apt install {' '.join(wanted)}"
