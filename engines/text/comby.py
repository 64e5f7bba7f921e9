"""Templates in comby's syntax, where comby is on PATH: they need no grammar.

comby knows brackets, quotes and comments. It is started for each entry and template and tells
matches only; the rewrite is filled in here: comby says where its edits are in the new text, not
in the old one, and looks some attributes of holes up in the network.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.regular_files import read_regular
from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN, Edit, spread, trimmed

__all__ = ["Comby", "CombyTemplate", "is_comby"]

MISSING: Final = (
    "comby is not on PATH: install it (comby.dev), or write the template for ast-grep, with $A"
    " for :[a]"
)
MATCHERS: Final = {
    "bash": ".sh", "c": ".c", "cpp": ".cpp", "csharp": ".cs", "css": ".css", "dart": ".dart",
    "elixir": ".ex", "go": ".go", "haskell": ".hs", "hcl": ".tf", "html": ".html", "java": ".java",
    "javascript": ".js", "json": ".json", "kotlin": ".kt", "markdown": ".md", "php": ".php",
    "python": ".py", "ruby": ".rb", "rust": ".rs", "scala": ".scala", "solidity": ".sol",
    "swift": ".swift", "tsx": ".tsx", "typescript": ".ts", "zig": ".zig",
}  # fmt: skip
"""What comby 1.8 calls our languages; the others are ``.generic`` to it."""

CPU_SECONDS: Final = 2
"""For one entry and template."""
MAX_SECONDS: Final = 4.0
"""On the clock, for one entry and all templates: less than an engine's worker has for an entry."""
START_SECONDS: Final = 30.0
MAX_SLOW: Final = 20
"""A template that so many entries were too much for is left out: some patterns are cubic."""
MAX_BLOCKS: Final = 1 << 15
"""Of 512 bytes: comby tells each match again for each hole in it."""
MAX_KEPT: Final = 64 << 20

_HOLE: Final = re.compile(
    rb":\[(?:\[(\w+)\]| ?(\w+)(?::e|\.|\\n)?|(\w*)~(?:\[(?:\\.|[^]\\])+\]|\\.|[^]\\])+)\]"
)
"""Its name is the only group that has matched."""
_ATTRIBUTE: Final = re.compile(
    rb"\.(?:value|length|lines?|offset|column|file|lowercase|UPPERCASE|Capitalize|uncapitalize"
    rb"|UpperCamelCase|lowerCamelCase|UPPER_SNAKE_CASE|lower_snake_case|lsif\.hover)(?![A-Za-z0-9])"
)
# Of one that is killed while it waits for comby nobody else would end comby.
_LIMITED: Final = f'ulimit -c 0; ulimit -t {CPU_SECONDS}; ulimit -f {MAX_BLOCKS}; exec "$0" "$@"'


def is_comby(template: str) -> bool:
    """Is it in comby's syntax, not in ast-grep's?"""
    return ":[" in template


@dataclass(frozen=True, slots=True)
class CombyTemplate:
    """``PATTERN ==> REWRITE`` with comby's holes, ``:[a]``."""

    pattern: str
    rewrite: bytes

    @classmethod
    def parse(cls, text: str) -> CombyTemplate:
        """Raises ValueError with what is wrong with it, for the user."""
        pattern, arrow, rewrite = (part.strip() for part in text.partition("==>"))
        if not arrow or not pattern:
            raise ValueError("a template is PATTERN ==> REWRITE")
        if "\0" in text or len(text) > MAX_SPAN:
            raise ValueError(f"a template has no NUL and at most {MAX_SPAN} characters")
        if pattern.startswith("-"):
            raise ValueError("comby takes a pattern that begins with - for an option")
        holes: list[set[bytes]] = []
        for part in (pattern.encode(), rewrite.encode()):
            if b":[" in (rest := _HOLE.sub(b"", part)):
                at = rest[rest.index(b":[") :][:20].decode(errors="replace")
                raise ValueError(f"{at} is no hole of comby's")
            holes.append({_name(hole) for hole in _HOLE.finditer(part)})
        if more := sorted(holes[1] - holes[0]):
            raise ValueError(f"the rewrite has a hole that the pattern has not: {more[0].decode()}")
        for hole in _HOLE.finditer(rewrite.encode()):
            if attribute := _ATTRIBUTE.match(hole.string, hole.end()):
                words = f"{hole[0].decode()}{attribute[0].decode()}"
                raise ValueError(f"attributes of holes are not filled in here: {words}")
        return cls(pattern, rewrite.encode())

    def filled(self, values: Mapping[bytes, bytes]) -> bytes:
        """The rewrite with what stands in the holes."""
        return _HOLE.sub(lambda hole: values.get(_name(hole), b""), self.rewrite)


def _name(hole: re.Match[bytes]) -> bytes:
    return hole[hole.lastindex or 0]


class Comby:
    """The templates of one campaign that are in comby's syntax."""

    def __init__(self, language: str, templates: Sequence[str], kept: Path | None = None) -> None:
        """``kept``: a file that keeps what was found, as a process takes 30 ms to start."""
        self.templates: dict[str, CombyTemplate] = {}
        self.problems: dict[str, str] = {}
        """Templates that are left out, and why."""
        self._matcher = MATCHERS.get(language, ".generic")
        self._slow = dict.fromkeys(templates, 0)
        self._kept = None
        for text in templates:
            try:
                template = CombyTemplate.parse(text)
                self._run(template, b"", START_SECONDS)
            except ValueError as e:
                self.problems[text] = str(e)
            except TimeoutError:
                self.problems[text] = "comby does not answer"
            else:
                self.templates[text] = template
        if kept and self.templates:
            self._kept = _Kept(kept, json.dumps([self._matcher, *self.templates]))

    def found(self, data: bytes) -> dict[str, list[Edit]]:
        """What the templates do there: those that have come to an end in time."""
        if not self.templates:
            return {}
        if self._kept and (found := self._kept.of(data)) is not None:
            return {text: edits for text, edits in found.items() if text in self.templates}
        before = len(self.templates)
        found = self._search(data)
        if self._kept and len(self.templates) == before:
            self._kept.keep(data, found)
        return found

    def _search(self, data: bytes) -> dict[str, list[Edit]]:
        found: dict[str, list[Edit]] = {}
        until = time.monotonic() + MAX_SECONDS
        for text, template in list(self.templates.items()):
            if (left := until - time.monotonic()) <= 0:
                break  # that is no fault of this one
            try:
                edits = list(_edits(self._run(template, data, left), template, data))
            except TimeoutError:
                self._slow[text] += 1
                if self._slow[text] == MAX_SLOW:
                    self._drop(text, f"comby takes too long for it, in {MAX_SLOW} entries so far")
            except ValueError as e:
                self._drop(text, str(e))
            else:
                found[text] = list(spread(edits, MAX_EDITS))
        return found

    def _drop(self, text: str, why: str) -> None:
        del self.templates[text]
        self.problems[text] = why

    def _run(self, template: CombyTemplate, data: bytes, seconds: float) -> bytes:
        """What comby prints. Raises ValueError where it cannot be used, TimeoutError if it was
        killed for what it took."""
        if not (comby := shutil.which("comby")):
            raise ValueError(MISSING)
        words = [
            *("/bin/sh", "-c", _LIMITED, comby, template.pattern, "", "-stdin"),
            # Its own time limit would write to a file in /tmp that anybody may have put there.
            *("-matcher", self._matcher, "-match-only", "-json-lines", "-timeout", "0"),
        ]
        try:
            with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as told:
                source.write(data)
                source.seek(0)
                done = subprocess.run(
                    words,
                    stdin=source,
                    stdout=told,
                    stderr=subprocess.PIPE,
                    cwd="/",  # flags would be read from .comby
                    timeout=seconds,
                    check=False,
                )
                told.seek(0)
                output = told.read()
        except OSError as e:
            raise ValueError(f"comby cannot be run: {e}") from None
        except subprocess.TimeoutExpired:
            return b""  # that may be the machine's fault
        if done.returncode < 0:
            raise TimeoutError  # too long, or too much
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValueError(f"comby fails: {said[-1][:200] if said else done.returncode}")
        return output


def _edits(output: bytes, template: CombyTemplate, data: bytes) -> Iterator[Edit]:
    """What comby has told. It counts in bytes, and prints those that are no ASCII as they are."""
    for line in output.decode("latin-1").split("\n"):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match told:
            case {"matches": list(matches)}:
                for each in matches:
                    with contextlib.suppress(ValueError):  # what is no byte
                        if edit := _edit(each, template, data):
                            yield edit


def _edit(told: object, template: CombyTemplate, data: bytes) -> Edit | None:
    match told:
        case {
            "range": {"start": {"offset": int(start)}, "end": {"offset": int(end)}},
            "matched": str(text),
            "environment": list(holes),
        } if 0 <= start <= end and data[start:end] == text.encode("latin-1"):
            values = dict[bytes, bytes]()
            for hole in holes:
                match hole:
                    case {"variable": str(name), "value": str(value)}:
                        values[name.encode("latin-1")] = value.encode("latin-1")
            return trimmed(data, start, end, template.filled(values))
    return None


class _Kept:
    """What was found in which entry, in a file: an engine's worker is started again and again.

    The target may write to the file, too.
    """

    def __init__(self, path: Path, what: str) -> None:
        """``what``: the file is started again if it was for anything else."""
        self._path = path
        self._found: dict[str, Any] = {}
        head, *lines = (read_regular(path, MAX_KEPT) or b"").decode("latin-1").split("\n")
        if head != what:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            self._write(what)
            return
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                match json.loads(line):
                    case [str(key), dict(found)]:
                        self._found[key] = found

    def of(self, data: bytes) -> dict[str, list[Edit]] | None:
        """None: it was not searched yet."""
        try:
            return {
                text: [_checked(*edit, size=len(data)) for edit in edits]
                for text, edits in self._found[_key(data)].items()
            }
        except (KeyError, TypeError, ValueError):
            return None

    def keep(self, data: bytes, found: Mapping[str, Sequence[Edit]]) -> None:
        rows = {text: [(a, b, m.decode("latin-1")) for a, b, m in ms] for text, ms in found.items()}
        self._write(json.dumps([_key(data), rows]))

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError), self._path.open("a") as file:
            file.write(f"{line}\n")


def _key(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _checked(begin: object, end: object, made: object, *, size: int) -> Edit:
    match begin, end, made:
        case int(), int(), str() if 0 <= begin <= end <= size and len(made) <= MAX_SPAN:
            return begin, end, made.encode("latin-1")
    raise ValueError("somebody else has written it")
