"""How the instances of a fleet differ, and options of afl-fuzz as lists of words.

The spread follows AFL++'s docs/fuzzing_in_depth.md: every secondary has a power schedule
of its own, a few go through the queue in order, some do not trim, a third uses CmpLog,
every other one of them with transformations. None runs MOpt, which newer versions are
giving up: it excludes custom mutators, and so steering. The spread is a function of the
instance's number: a fleet that is resumed or grows keeps the instances that it has. But for
a main that was alone and used CmpLog: from when it has siblings on they do that in its place.
"""

from __future__ import annotations

import getopt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

__all__ = ["MOPT", "OPTIONS", "Options", "parse_options", "split_options", "spread"]

MOPT = "-L"
"""AFL++'s mutation scheduler; afl-fuzz refuses it together with custom mutators."""

OPTIONS = "+Ab:B:c:CdDe:E:hi:I:f:F:g:G:l:L:m:M:nNOo:p:P:RQs:S:t:T:UV:WXx:YZ"
"""All that afl-fuzz takes, as getopt is told."""

_SCHEDULES = ("explore", "exploit", "coe", "rare", "lin", "quad", "seek", "fast")

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Options:
    """Options for afl-fuzz, each with its value, and variables for its environment."""

    args: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The options as they stand on a command line."""
        return list(chain.from_iterable(self.args))

    @property
    def flags(self) -> set[str]:
        """The options' letters: ``-p`` of ``-p fast`` and of ``-pfast``."""
        return {word[:2] for word in self.words if word.startswith("-")}

    def without(self, flags: Iterable[str]) -> Options:
        """The same but for some options."""
        gone = set(flags)
        return Options(tuple(arg for arg in self.args if arg[0][:2] not in gone), self.env)


def parse_options(words: Sequence[str]) -> Options:
    """What a user gave for one instance: ``NAME=VALUE`` in front, as for env(1), then options."""
    env: dict[str, str] = {}
    for at, word in enumerate(words):
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment is None:
            return Options((tuple(words[at:]),), env)
        env[assignment[1]] = assignment[2]
    return Options((), env)


def split_options(words: Sequence[str]) -> Options:
    """Words as options, each with its value."""
    try:
        options, rest = getopt.getopt(list(words), OPTIONS)
    except getopt.GetoptError:  # one of a newer afl-fuzz: what has no dash is likely a value
        args: list[tuple[str, ...]] = []
        for word in words:
            if args and not word.startswith("-"):
                args[-1] += (word,)
            else:
                args.append((word,))
        return Options(tuple(args))
    pairs = [(flag, value) if value else (flag,) for flag, value in options]
    return Options((*pairs, tuple(rest)) if rest else tuple(pairs))


def spread(index: int, instances: int, cmplog: str) -> Options:
    """The options that make instance ``index`` differ; ``cmplog``: the CmpLog binary, if any."""
    if index == 0:
        alone = bool(cmplog) and instances == 1
        return Options((("-c", cmplog), ("-l", "2")) if alone else ())
    turn = index - 1
    args: list[tuple[str, ...]] = [("-p", _SCHEDULES[turn % len(_SCHEDULES)])]
    if cmplog and turn % 3 == 0:
        args += [("-c", cmplog), ("-l", "2AT" if turn % 2 == 0 else "2")]
    if turn % 5 == 3:
        args += [("-Z",)]
    return Options(tuple(args), {"AFL_DISABLE_TRIM": "1"} if turn % 3 == 1 else {})
