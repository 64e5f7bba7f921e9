"""The calls of compilers that the wrappers noted: which sources a build has compiled."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzztui.base.files import read_regular

MAX_CALLS = 20_000
_MAX_RECORD = 4 << 20

_SOURCES = frozenset(
    {".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".i", ".ii", ".s", ".S", ".sx"}
)
_WITH_VALUE = frozenset(
    {"-o", "-x", "-I", "-L", "-l", "-D", "-U", "-B", "-T", "-u", "-z", "-e", "-h", "-include"}
    | {"-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefix", "-isysroot"}
    | {"-iwithprefixbefore", "-Xlinker", "-Xclang", "-Xassembler", "-Xpreprocessor", "-mllvm"}
    | {"-MF", "-MT", "-MQ", "-target", "-arch", "--param", "-aux-info", "-rpath", "-framework"}
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a compiler, as it was noted."""

    cwd: str
    args: tuple[str, ...]

    def sources(self) -> Iterator[str]:
        """Every source among the arguments, by absolute path."""
        words = iter(self.args)
        for word in words:
            if word in _WITH_VALUE:
                next(words, "")
            elif not word.startswith("-") and Path(word).suffix in _SOURCES:
                yield os.path.normpath(os.path.join(self.cwd, word))  # noqa: PTH118


def read_calls(directory: Path) -> list[Call]:
    """What the compilers noted; nothing if that is too much to be read. Raises OSError."""
    with os.scandir(directory) as entries:
        found = [(entry.name, entry.stat(follow_symlinks=False).st_size) for entry in entries]
    if len(found) > MAX_CALLS or any(size > _MAX_RECORD for _, size in found):
        return []
    calls = (_call(read_regular(directory / name, _MAX_RECORD)) for name, _ in found)
    return [call for call in calls if call]


def sources_of(calls: Sequence[Call]) -> set[str]:
    """Every source that was given to a compiler, by absolute path."""
    return {name for call in calls for name in call.sources()}


def _call(record: bytes) -> Call | None:
    """None for one that was cut off."""
    words = [word.decode(errors="surrogateescape") for word in record.split(b"\0")]
    if len(words) < 3 or words[1] != str(len(words) - 3) or words[-1]:
        return None
    return Call(words[0], tuple(words[2:-1]))
