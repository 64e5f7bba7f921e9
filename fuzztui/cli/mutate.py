"""``fuzztui mutate FILE...``: apply text mutators to files, to see their effect."""

from __future__ import annotations

import argparse
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.cli.output import DONE, FAILED, CliError, UsageError, say
from fuzztui.engines.text.reference import Rng, apply
from fuzztui.engines.text.table import MUTATORS, NAMES
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.base.text import common_head, different_parts, several, visible

_TRIES: Final = 1000
"""Attempts to apply a mutator before the command gives up: many do not apply to a given input."""
_MAX_BYTES: Final = 64 << 20
_GROWTH: Final = 1 << 20
"""Bytes by which a mutated file may be longer than the original."""
_MAX_NAME: Final = 255
_MAX_OPS: Final = 120
_ODD: Final = re.compile(r"[^A-Za-z0-9._+=@-]+")


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The effect of one mutator: from ``line`` (from 1) on, ``old`` became ``new``.

    Both are whole lines; an empty string means no line.
    """

    mutator: str
    line: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class MutatedFile:
    """The content of a file after some mutators."""

    file: Path
    data: bytes
    changes: tuple[FileEdit, ...]

    def name(self, number: int) -> str:
        """Return a valid file name for the mutated file, with its number, origin and mutators."""
        ops = "+".join(change.mutator for change in self.changes)
        if len(ops) > _MAX_OPS:
            first = self.changes[0].mutator
            ops = f"{first}+and-{len(self.changes) - 1}-more"
        room = _MAX_NAME - len(f"{number:06},orig:,op:{ops}")
        origin = _ODD.sub("_", os.fsencode(self.file.name).decode("ascii", "replace"))
        return f"{number:06},orig:{origin[:room]},op:{ops}"


def mutate(options: argparse.Namespace) -> int:
    """Mutate files and print or write the result; return the exit code."""
    if options.list:
        width = max(map(len, NAMES))
        for mutator in MUTATORS:
            print(f"{mutator.name:<{width}}  {mutator.effect}")
        return DONE
    if not options.files:
        raise UsageError("mutate needs a FILE (--list shows the text mutators)")
    numbers = [_number(name) for name in options.mutator] or list(range(len(NAMES)))
    contents = {file: _read(file) for file in options.files}
    keep = _shown if options.output is None else _writer(options.output)
    made = 0
    for made, mutant in enumerate(_mutants(contents, numbers, options), 1):
        keep(made, mutant)
    if options.output is not None:
        say(f"{several(made, 'file')} in {options.output}")
    return DONE if made else FAILED


def _number(name: str) -> int:
    if name in NAMES:
        return NAMES.index(name)
    hint = meant(near(name, NAMES, least=0.4))
    raise UsageError(f"--mutator {name}: unknown text mutator{hint} (--list shows all)")


def _read(file: Path) -> bytes:
    name = _path(file)
    try:
        # Opening a FIFO would wait for its writer, and reading a device might never end.
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as opened:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UsageError(f"{name} is not a regular file; name a text file")
            data = opened.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise UsageError(f"{name} is a directory; name the files in it") from None
    except OSError as e:
        raise UsageError(f"{name}: {e.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{name}: larger than {_MAX_BYTES >> 20} MiB; mutate a part of it")
    return data


# ------------------------------------------------------------------------------- making


def _mutants(
    contents: dict[Path, bytes], numbers: Sequence[int], options: argparse.Namespace
) -> Iterator[MutatedFile]:
    """Yield ``--count`` mutated files, taking the files in turn.

    A file to which no mutator applies is left out with a message.
    """
    rng = Rng(options.seed)
    files = list(contents)
    made = 0
    while made < options.count and files:
        file = files[made % len(files)]
        mutant = _mutant(file, contents[file], numbers, options.stack, rng)
        if mutant is None:
            which = " or ".join(NAMES[n] for n in numbers)
            none = f"{which} does not apply" if options.mutator else "no text mutator applies"
            say(f"{_path(file)}: {none}")
            files.remove(file)
            continue
        made += 1
        yield mutant


def _mutant(
    file: Path, data: bytes, numbers: Sequence[int], stack: int, rng: Rng
) -> MutatedFile | None:
    limit = len(data) + _GROWTH
    changes: list[FileEdit] = []
    for _ in range(stack):
        for _ in range(_TRIES):
            number = numbers[rng.below(len(numbers))]
            fresh = apply(data, limit, rng, number)
            if fresh is not None:
                changes.append(change(NAMES[number], data, fresh))
                data = fresh
                break
        else:
            break
    return MutatedFile(file, data, tuple(changes)) if changes else None


def change(mutator: str, before: bytes, after: bytes) -> FileEdit:
    """Return the lines that a mutator has changed."""
    head = common_head(before, after)
    begin = before.rfind(b"\n", 0, head) + 1
    tail = common_head(before[head:][::-1], after[head:][::-1])
    # Extend to the end of the line, so that both texts end with whole lines.
    end = before.find(b"\n", len(before) - tail) + 1 if tail else 0
    tail = len(before) - end if end else 0
    old = _lines(before[begin : len(before) - tail])
    new = _lines(after[begin : len(after) - tail])
    most = min(len(old), len(new))
    same = next((n for n in range(most) if old[n] != new[n]), most)
    also = next((n for n in range(most - same) if old[-1 - n] != new[-1 - n]), most - same)
    line = before.count(b"\n", 0, begin) + 1 + same
    return FileEdit(
        mutator,
        line,
        _text(b"".join(old[same : len(old) - also])),
        _text(b"".join(new[same : len(new) - also])),
    )


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds only, and keep these."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _path(path: Path) -> str:
    """Format a path; bytes that are not UTF-8 are escaped: ``caf\\xe9.c``."""
    return _text(os.fsencode(path))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


# ------------------------------------------------------------------------------ showing


def _shown(number: int, mutant: MutatedFile) -> None:
    """Print the changed lines of each mutator, as in a unified diff."""
    print(f"--- {visible(_path(mutant.file))}\n+++ {number:06}")
    for c in mutant.changes:
        print(f"@@ line {c.line}: {c.mutator} @@")
        for sign, text in zip("-+", different_parts(c.old, c.new, 200, 2000), strict=True):
            for line in text.removesuffix("\n").split("\n") if text else []:
                print(f"{sign}{visible(line)}")
    print()


def _summary(mutant: MutatedFile) -> str:
    """Format the effect of each mutator; a single one is not named: the file name does that."""
    alone = len(mutant.changes) == 1
    parts = []
    for c in mutant.changes:
        old, new = different_parts(c.old.removesuffix("\n"), c.new.removesuffix("\n"), 20, 100)
        which = "" if alone else f"{c.mutator}  "
        parts.append(visible(f"{which}line {c.line}: {old}  ->  {new}"))
    return "; ".join(parts)


def _writer(directory: Path) -> Callable[[int, MutatedFile], None]:
    """Return a function that writes a mutated file into ``directory`` and prints a line."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        taken = min(directory.iterdir(), default=None)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"--output {directory}: is not a directory") from None
    except OSError as e:
        raise UsageError(f"--output {directory}: {e.strerror}") from None
    if taken is not None:
        raise UsageError(
            f"--output {directory} contains files ({taken.name}), which are not overwritten; "
            "name a new or empty directory"
        )

    def write(number: int, mutant: MutatedFile) -> None:
        file = directory / mutant.name(number)
        try:
            with file.open("xb") as opened:
                opened.write(mutant.data)
        except OSError as e:
            raise CliError(f"{file}: {e.strerror}") from None
        print(f"{file.name}  {_summary(mutant)}")

    return write
