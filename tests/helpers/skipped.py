"""What would run the tests that were skipped: packages that are missing here, in one line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

EXTRAS = {"aws": "moto", "cluster": "distributed", "release": "twine", "web": "textual_serve"}
"""Extras that README's second command does not install, and a package of each."""

_IMPORTS = (
    ("aws", re.compile(r"^(?:import|from) (?:boto3|moto)\b", re.MULTILINE)),
    ("cluster", re.compile(r"^(?:import|from) (?:distributed|dask_cluster)\b", re.MULTILINE)),
    ("web", re.compile(r"^(?:import|from) aiohttp\b", re.MULTILINE)),
)

PACKAGES = (
    (r"afl|sanitizers", "afl++"),
    (r"\bgit\b", "git"),
    (r"\bpatch\b", "patch"),
    (r"C compiler", "gcc libc6-dev"),
    (r"tmux", "tmux"),
    (r"openssh|sshd", "openssh-server openssh-client"),
    (r"gdb", "gdb"),
    (r"lcov", "lcov"),
    (r"llvm", "llvm"),
    (r"chromium", "chromium-headless-shell"),
    (r"gnuplot", "gnuplot-nox"),
    (r"slurm|munge|sbatch", "slurmctld slurmd slurm-client munge"),
    (r"cmake", "cmake"),
    (r"\bmake\b", "make"),
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


@cache
def is_missing(extra: str) -> bool:
    return find_spec(EXTRAS[extra]) is None


def needs(extra: str) -> pytest.MarkDecorator:
    """Mark a test that needs an extra; files that import its packages need no mark."""
    return pytest.mark.skipif(is_missing(extra), reason=f"the extra {extra} is not installed")


def needs_afl(*names: str) -> pytest.MarkDecorator:
    """Mark a test that starts programs of AFL++: these, or afl-fuzz."""
    missing = not all(map(shutil.which, names or ("afl-fuzz",)))
    return pytest.mark.skipif(missing, reason="afl++ is not installed")


def nightly(*values: object) -> list[Any]:
    """Values of a parameter with which a test runs in the night only."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


def lacking(file: Path) -> str:
    """The extra without which a file of tests cannot be imported here; "" if there is none."""
    if not file.name.startswith("test_") or not any(map(is_missing, EXTRAS)):
        return ""
    text = file.read_text()
    return next((e for e, imports in _IMPORTS if is_missing(e) and imports.search(text)), "")


def extras_advice(files: Iterable[Path], reasons: Iterable[str]) -> str:
    """One line that names the extras which these files and skipped tests need."""
    of_files = [extra for file in files if (extra := lacking(file))]
    of_tests = re.findall(r"the extra (\w+) is not installed", "\n".join(reasons))
    if not (wanted := sorted({*of_files, *of_tests})):
        return ""
    return (
        f"{len(of_files)} files of tests and {len(of_tests)} other tests were skipped for want of "
        f"extras; python3 -m pip --python .venv/bin/python install -e '.[{','.join(wanted)}]'"
    )
