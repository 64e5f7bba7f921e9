"""The command of an afl-fuzz that was started by hand: its options, environment and program."""

from __future__ import annotations

import getopt
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.wire.afl import OPTIONS
from fuzztui.run.campaign.model import ALONE

FUZZER: Final = "afl-fuzz"

_KEPT = re.compile(r"(AFL|QEMU|FRIDA|LD)_\w+|\w*SAN_OPTIONS")
"""Environment variables that afl-fuzz or the program reads."""
_REPLACED = re.compile(r"AFL_(STATSD\w*|NO_UI|FORCE_UI|AUTORESUME)")
"""Variables that have no use under supervision, or are set for it."""

_READS: Final = ("-x", "-c", "-F", "-B")
"""Options whose value is a file or a directory that must exist."""
_NO_FILE: Final = ("0", "-")
_OURS: Final = ("-i", "-o", "-M", "-S")
_MAX_SETUP: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FuzzerCommand:
    """What is needed to start one instance again as it was."""

    name: str
    is_main: bool
    argv: tuple[str, ...]
    fuzzer: Path
    """The afl-fuzz program."""
    seeds: str
    """The value of ``-i``."""
    options: tuple[str, ...]
    """All options but ``-i -o -M -S``."""
    target: tuple[str, ...]
    """The program, as an absolute path, and its arguments."""
    env: Mapping[str, str]
    cwd: Path

    def by_hand(self, directory: Path) -> str:
        """Return the shell command with which this instance goes on without fuzztui."""
        env = [f"{name}={value}" for name, value in self.env.items()]
        role = "-M" if self.is_main else "-S"
        command = ["env", *env, str(self.fuzzer), "-i", "-", "-o", str(directory), role, self.name]
        words = shlex.join([*command, *self.options, "--", *self.target])
        return f"cd {shlex.quote(str(self.cwd))} && {words}"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with what no file of AFL's contains."""
        return {"argv": [*self.argv], "env": {**self.env}, "cwd": str(self.cwd)}


def kept_variables(assignments: Iterable[str]) -> dict[str, str]:
    """Return the variables that belong to a fuzzer, of ``NAME=VALUE``."""
    pairs = (text.partition("=") for text in assignments)
    return {n: v for n, _, v in pairs if _KEPT.fullmatch(n) and not _REPLACED.fullmatch(n)}


def value_of(argv: Sequence[str], flag: str) -> str:
    """Return the value of an option of afl-fuzz (``-o DIR`` or ``-oDIR``); empty: not given.

    For lines that :func:`parse_command` may not understand.
    """
    return _read(argv)[0].get(flag, "")


def _read(argv: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options by flag, and the program with its arguments.

    As afl-fuzz reads them; with an unknown option, as far as that is possible.
    """
    try:
        pairs, target = getopt.getopt([*argv[1:]], OPTIONS)
    except getopt.GetoptError:
        end = argv.index("--") if "--" in argv else len(argv)
        words = argv[1:end]
        following = reversed([*zip(words, [*words[1:], ""], strict=True)])
        return {word[:2]: word[2:] or after for word, after in following}, [*argv[end + 1 :]]
    return dict(pairs), target


def name_of(argv: Sequence[str]) -> str:
    """Return the name of the instance that this command starts."""
    return (value_of(argv, "-M") or value_of(argv, "-S") or ALONE).partition(":")[0]


def parse_command(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, fuzzer: Path | None = None
) -> FuzzerCommand:
    """Parse a command line. Raises ValueError if fuzztui cannot start the same one.

    ``fuzzer``: the program that runs; None: found as a shell finds it.
    """
    try:
        pairs, target = getopt.getopt([*argv[1:]], OPTIONS)
    except getopt.GetoptError as e:
        raise ValueError(f"{e.msg}: fuzztui does not know this option of afl-fuzz") from None
    given = dict(pairs)
    if ":" in given.get("-M", ""):
        raise ValueError(f"option -M {given['-M']}: fuzztui starts no parts of a main instance")
    if not target:
        raise ValueError("the command line names no program to fuzz")
    for flag, value in pairs:
        if flag in _READS and value not in _NO_FILE and not (cwd / value).exists():
            raise ValueError(f"option {flag} {value}: there is no {cwd / value}")
    return FuzzerCommand(
        name=name_of(argv),
        is_main="-M" in given,
        argv=tuple(argv),
        fuzzer=fuzzer or Path(_program(argv[0], cwd)),
        seeds=given.get("-i", ""),
        options=tuple(w for pair in pairs if pair[0] not in _OURS for w in pair if w),
        target=(_program(target[0], cwd), *target[1:]),
        env=env,
        cwd=cwd,
    )


def _program(word: str, cwd: Path) -> str:
    found = os.path.normpath(cwd / word) if "/" in word else shutil.which(word)
    if not found or not os.access(found, os.X_OK):
        raise ValueError(f"there is no program {found or word} here")
    return found


def read_setup(instance: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the variables in ``fuzzer_setup``. Raises ValueError."""
    data = read_if_regular(instance / "fuzzer_setup", _MAX_SETUP)
    again = "start it again by hand, and adopt it while it runs"
    if data is None:
        raise ValueError(
            f"AFL and AFL++ before 3.0 write no fuzzer_setup with the command; {again}"
        )
    head, _, line = data.decode(errors="replace").partition("# command line:\n")
    try:
        argv = shlex.split(line)
    except ValueError:  # cut
        argv = []
    if not argv:
        raise ValueError(f"fuzzer_setup contains no command line; {again}")
    return argv, kept_variables(head.splitlines())


def started_in(argv: Sequence[str], directory: Path) -> Path:
    """Return where a dead afl-fuzz was started: where its ``-o`` is the sync directory.

    Raises ValueError if no directory fits.
    """
    given, words = _read(argv)
    out = given.get("-o", "")
    program = words[0] if words and "/" in words[0] else "."
    for place in (Path.cwd(), *directory.parents):
        here = os.path.realpath(place / out) == os.path.realpath(directory)
        if here and (place / program).exists():
            return place
    where = "was written in another directory or on another machine" if words else "is incomplete"
    raise ValueError(
        f"fuzzer_setup {where}: -o {out} and the program {program} are not where "
        "it names them; start fuzztui in the directory in which afl-fuzz was started"
    )
