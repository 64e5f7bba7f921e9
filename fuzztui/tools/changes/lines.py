"""Read a unified diff: the changed lines of each file, and what the file was before.

The diff is untrusted: a file outside of the tree, or a diff of other files than those in the tree,
is an error, never a wrong answer.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.files import read_if_regular, read_regular
from fuzztui.kernel.base.text import brief

MAX_DIFF_BYTES: Final = 64 << 20
MAX_FILE_BYTES: Final = 16 << 20
"""Size of a changed file; lines of larger ones are not compared with the diff."""

Lines = tuple[tuple[int, int], ...]
"""Ranges of lines: first and last, from 1, in ascending order."""

_HUNK: Final = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_PREFIX: Final = re.compile(r"[abciow]/")
"""What git puts before names, also with ``diff.mnemonicPrefix``."""
_NOWHERE: Final = "/dev/null"


class ChangesError(UserError):
    """The changes cannot be found; the message says why, and what to do."""

    code = 2


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that was added or changed, and still exists."""

    path: Path
    """Absolute."""
    name: str
    """Relative to the root of the tree, with slashes."""
    lines: Lines
    """Where lines were only removed: the lines before and after the gap."""
    before: bytes | None
    """The content before the change; None: there was no file, or it is unknown."""


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The changed files of a tree, by their resolved paths."""

    root: Path
    files: dict[Path, ChangedFile]
    what: str
    """What the changes are since, for messages: ``origin/main (1a2b3c4)``."""


@dataclass(slots=True)
class _Hunk:
    at: int
    """Line of the diff, from 1."""
    start: int
    """Index of the first line in the new file."""
    old: list[bytes] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)
    changed: list[tuple[int, int]] = field(default_factory=list)


def read_diff(file: Path, root: Path) -> ChangedFiles:
    """Read the diff in a file, whose names are relative to ``root``. Raises ChangesError."""
    try:
        raw = read_regular(file, MAX_DIFF_BYTES + 1)
    except OSError as e:
        raise ChangesError(f"--in-diff {file}: {e.strerror or e}") from None
    if len(raw) > MAX_DIFF_BYTES:
        raise ChangesError(f"--in-diff {file}: is larger than {MAX_DIFF_BYTES >> 20} MiB")
    try:
        return ChangedFiles(root, {f.path: f for f in changed_files(raw, root)}, str(file))
    except ChangesError as e:
        raise ChangesError(f"--in-diff {file}: {e}") from None


def changed_files(diff: bytes, root: Path) -> Iterator[ChangedFile]:
    """Yield the files of a unified diff that exist in ``root``. Raises :class:`ChangesError`."""
    root = root.resolve()
    sections = list(_sections(diff.removesuffix(b"\n").split(b"\n")))
    if not sections and diff.strip() and b"diff --git " not in diff:
        raise ChangesError("is not a unified diff; make one with: git diff origin/main...")
    for old, new, hunks in sections:
        if new == _NOWHERE:
            continue
        name, path = _in_tree(old, new, root, hunks[0].at)
        if path.is_symlink() or not path.is_file():
            continue  # removed since, or a submodule
        lines = tuple(joined(r for hunk in hunks for r in hunk.changed))
        yield ChangedFile(path.resolve(), name, lines, _before(path, old, name, hunks))


def joined(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ranges in ascending order, with those that touch each other as one."""
    first = last = 0
    for start, end in sorted(ranges):
        if last and start <= last + 1:
            last = max(last, end)
            continue
        if last:
            yield first, last
        first, last = max(1, start), end
    if last:
        yield first, last


def touches(lines: Lines, first: int, last: int) -> bool:
    """Whether a range contains one of the lines from ``first`` to ``last``."""
    return any(start <= last and end >= first for start, end in lines)


# ------------------------------------------------------------------ the diff


def _sections(lines: list[bytes]) -> Iterator[tuple[str, str, list[_Hunk]]]:
    """Yield old name, new name and hunks of each file that has hunks."""
    old = new = ""
    hunks: list[_Hunk] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(b"--- ") and lines[at + 1 : at + 2] and lines[at + 1][:4] == b"+++ ":
            if hunks:
                yield old, new, hunks
            old, new, hunks = _name(line, at + 1), _name(lines[at + 1], at + 2), []
            at += 2
        elif line.startswith(b"diff --git "):
            if hunks:
                yield old, new, hunks
            old, new, hunks = "", "", []
            at += 1
        elif line.startswith(b"@@@ "):
            raise ChangesError(f"line {at + 1}: is a combined diff of a merge; make a diff of two")
        elif match := _HUNK.match(line):
            if not new:
                raise ChangesError(f"line {at + 1}: a hunk without the name of its file")
            hunk, at = _hunk(lines, at, match)
            hunks.append(hunk)
        elif line.startswith(b"@@ "):
            raise ChangesError(f"line {at + 1}: {_text(line)} is not the head of a hunk")
        else:
            at += 1
    if hunks:
        yield old, new, hunks


def _hunk(lines: list[bytes], at: int, match: re.Match[bytes]) -> tuple[_Hunk, int]:
    """Return the hunk whose head is at ``at``, and the index of the line after it."""
    old_size, new_size = (1 if match[n] is None else int(match[n]) for n in (2, 4))
    # A hunk without new lines has the number of the line before it in its head.
    start = int(match[3]) - (new_size > 0)
    if start < 0:
        raise ChangesError(f"line {at + 1}: {_text(match[0])} is not the head of a hunk")
    hunk = _Hunk(at + 1, start)
    removed = added = 0
    """Lines of the present run of changes."""

    def end_run() -> None:
        here = start + len(hunk.new)
        if added:
            hunk.changed.append((here - added + 1, here))
        elif removed:
            hunk.changed.append((here, here + 1))

    head, at = at, at + 1
    while len(hunk.old) < old_size or len(hunk.new) < new_size:
        line = lines[at] if at < len(lines) else None
        mark = line[:1] or b" " if line is not None else b""
        if line is None or mark not in (b" ", b"+", b"-", b"\\"):
            raise ChangesError(f"line {at + 1}: the hunk of line {head + 1} has too few lines")
        at += 1
        text = line[1:]
        if mark == b" ":
            end_run()
            removed = added = 0
            hunk.old.append(text)
            hunk.new.append(text)
        elif mark == b"+":
            hunk.new.append(text)
            added += 1
        elif mark == b"-":
            hunk.old.append(text)
            removed += 1
    if len(hunk.old) > old_size or len(hunk.new) > new_size:
        raise ChangesError(f"line {at}: the hunk of line {head + 1} has too many lines")
    end_run()
    return hunk, at


def _name(line: bytes, at: int) -> str:
    """The name in a ``---`` or ``+++`` line. Raises :class:`ChangesError`."""
    raw = line[4:].rstrip(b"\r")
    if raw.startswith(b'"'):
        try:
            raw = codecs.escape_decode(raw[1 : raw.rindex(b'"')])[0]
        except ValueError as e:
            raise ChangesError(f"line {at}: the name {_text(raw)} is damaged: {e}") from None
    else:
        raw = raw.partition(b"\t")[0]
    return raw.decode("utf-8", "surrogateescape")


def _in_tree(old: str, new: str, root: Path, at: int) -> tuple[str, Path]:
    """The name of the new file, and its path. Raises :class:`ChangesError`."""
    names = [new]
    if _PREFIX.match(new) and (old == _NOWHERE or _PREFIX.match(old)):
        names.insert(0, new[2:])
    found = next((name for name in names if (root / name).is_file()), names[0])
    pure = PurePosixPath(found)
    path = root / pure
    inside = not pure.is_absolute() and ".." not in pure.parts and "\0" not in found
    if not found or not inside or not path.parent.resolve().is_relative_to(root):
        raise ChangesError(f"line {at}: {brief(found)!r} is not a file below {root}")
    return found, path


def _before(path: Path, old: str, name: str, hunks: list[_Hunk]) -> bytes | None:
    """The content before the change. Raises :class:`ChangesError` if the diff is of another file.

    None if there was no file before, or if the file is too large or no Python source.
    """
    now = read_if_regular(path, MAX_FILE_BYTES + 1) if path.suffix == ".py" else None
    if now is None or len(now) > MAX_FILE_BYTES:
        return None
    lines = now.split(b"\n")
    for hunk in reversed(hunks):
        end = hunk.start + len(hunk.new)
        here = lines[hunk.start : end]
        # Git may show other line ends than the file has.
        if [line.rstrip(b"\r") for line in here] != [line.rstrip(b"\r") for line in hunk.new]:
            raise ChangesError(
                f"line {hunk.at}: {brief(name)} is not the file that the diff leads to, from its "
                f"line {hunk.start + 1} on; check out the tree that has these changes"
            )
        lines[hunk.start : end] = hunk.old
    return None if old == _NOWHERE else b"\n".join(lines)


def _text(raw: bytes) -> str:
    return brief(raw.decode("utf-8", "replace"), 80)
