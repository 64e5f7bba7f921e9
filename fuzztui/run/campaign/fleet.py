"""The options by which instances of an AFL++ fleet differ, and parsing of afl-fuzz options.

The spread follows AFL++'s docs/fuzzing_in_depth.md. The secondaries cycle through the power
schedules; a fifth goes through the queue in order, a third does not trim, a third uses CmpLog,
every second one of these with transformations. No instance runs MOpt: newer versions of AFL++
deprecate MOpt, and it excludes custom mutators, which steering needs. The spread depends on the
instance's number only, so a fleet that is resumed or enlarged keeps the options of its instances.
The one exception: main uses CmpLog while it is the only instance.
"""

from __future__ import annotations

import getopt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

MOPT = "-L"
"""The option for MOpt, AFL++'s mutation scheduler; afl-fuzz rejects it with custom mutators."""

OPTIONS = "+a:Ab:B:c:CdDe:E:hi:I:f:F:g:G:l:L:m:M:nNOo:p:P:RQs:S:t:T:UV:WXx:YzZ"
"""All options of afl-fuzz, in the syntax of ``getopt``."""

_SCHEDULES = ("explore", "exploit", "coe", "rare", "lin", "quad", "seek", "fast")

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of afl-fuzz, each with its value, and environment variables."""

    args: tuple[tuple[str, ...], ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def arguments(self) -> list[str]:
        """The options as command line arguments."""
        return list(chain.from_iterable(self.args))

    @property
    def flags(self) -> set[str]:
        """The options without values: ``-p`` for ``-p fast`` and for ``-pfast``."""
        return {word[:2] for word in self.arguments if word.startswith("-")}

    def without(self, flags: Iterable[str]) -> Options:
        """Return a copy without the options in ``flags``."""
        gone = set(flags)
        return Options(tuple(arg for arg in self.args if arg[0][:2] not in gone), self.env)


def parse_options(words: Sequence[str]) -> Options:
    """Parse what a user gave for one instance: first ``NAME=VALUE``, as for env(1), then options.

    All options together are one item of ``args``; :func:`split_options` separates them.
    """
    env: dict[str, str] = {}
    for at, word in enumerate(words):
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment is None:
            return Options((tuple(words[at:]),), env)
        env[assignment[1]] = assignment[2]
    return Options((), env)


def split_options(words: Sequence[str]) -> Options:
    """Group command line arguments into options, each with its value."""
    try:
        options, rest = getopt.getopt(list(words), OPTIONS)
    except getopt.GetoptError:  # an option of a newer afl-fuzz: take a word without dash as value
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
    """Return the options of instance ``index`` (0: main).

    ``cmplog``: the path of the CmpLog binary; an empty string if there is none.
    """
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
