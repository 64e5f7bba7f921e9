"""Templates in comby's syntax, if comby is on PATH: they need no grammar.

comby parses brackets, quotes and comments. It is started for each entry and template and reports
only matches. The rewrite is filled in here, because comby reports the positions of edits in the new
text instead of the old one, and looks up some attributes of holes in the network.
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

from fuzztui.engines.text.edits import MAX_EDITS, MAX_SPAN, Edit, spread, trimmed
from fuzztui.kernel.base.files import read_if_regular

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
"""The names of languages in comby 1.8; ``.generic`` is used for other languages."""

CPU_SECONDS: Final = 2
"""CPU seconds for one entry and template."""
MAX_SECONDS: Final = 4.0
"""Wall seconds for one entry and all templates: less than a worker's limit for an entry."""
START_SECONDS: Final = 30.0
MAX_SLOW: Final = 20
"""Entries with a timeout after which a template is left out: some patterns take cubic time."""
MAX_BLOCKS: Final = 1 << 15
"""Blocks of 512 bytes of output: comby repeats each match for each hole in the match."""
MAX_KEPT: Final = 64 << 20

_HOLE: Final = re.compile(
    rb":\[(?:\[(\w+)\]| ?(\w+)(?::e|\.|\\n)?|(\w*)~(?:\[(?:\\.|[^]\\])+\]|\\.|[^]\\])+)\]"
)
"""A hole; its name is the only group that matches."""
_ATTRIBUTE: Final = re.compile(
    rb"\.(?:value|length|lines?|offset|column|file|lowercase|UPPERCASE|Capitalize|uncapitalize"
    rb"|UpperCamelCase|lowerCamelCase|UPPER_SNAKE_CASE|lower_snake_case|lsif\.hover)(?![A-Za-z0-9])"
)
# The limits also end comby if this process is killed while it waits.
_LIMITED: Final = f'ulimit -c 0; ulimit -t {CPU_SECONDS}; ulimit -f {MAX_BLOCKS}; exec "$0" "$@"'


def is_comby(template: str) -> bool:
    """Whether the template is in comby's syntax, not in ast-grep's."""
    return ":[" in template


def sides_of(template: str) -> tuple[str, str]:
    """Pattern and rewrite of a template. Raises ValueError with a message for the user."""
    pattern, arrow, rewrite = (part.strip() for part in template.partition("==>"))
    if not arrow or not pattern:
        raise ValueError("a template is PATTERN ==> REWRITE")
    if "\0" in template or len(template) > MAX_SPAN:
        raise ValueError(f"a template must have no NUL and at most {MAX_SPAN} characters")
    return pattern, rewrite


@dataclass(frozen=True, slots=True)
class CombyTemplate:
    """``PATTERN ==> REWRITE`` with comby's holes, ``:[a]``."""

    pattern: str
    rewrite: bytes

    @classmethod
    def parse(cls, text: str) -> CombyTemplate:
        """Parse a template. Raises ValueError with a message for the user."""
        pattern, rewrite = sides_of(text)
        if pattern.startswith("-"):
            raise ValueError("the pattern must not begin with -, which comby reads as an option")
        holes: list[set[bytes]] = []
        for part in (pattern.encode(), rewrite.encode()):
            if b":[" in (rest := _HOLE.sub(b"", part)):
                at = rest[rest.index(b":[") :][:20].decode(errors="replace")
                raise ValueError(f"{at} is not a hole in comby's syntax")
            holes.append({_name(hole) for hole in _HOLE.finditer(part)})
        if unknown := sorted(holes[1] - holes[0]):
            hole_name = unknown[0].decode()
            raise ValueError(
                f"the rewrite uses the hole {hole_name}, which the pattern does not define"
            )
        for hole in _HOLE.finditer(rewrite.encode()):
            if attribute := _ATTRIBUTE.match(hole.string, hole.end()):
                shown = f"{hole[0].decode()}{attribute[0].decode()}"
                raise ValueError(f"attributes of holes are not supported: {shown}")
        return cls(pattern, rewrite.encode())

    def filled(self, values: Mapping[bytes, bytes]) -> bytes:
        """The rewrite with the values of the holes."""
        return _HOLE.sub(lambda hole: values.get(_name(hole), b""), self.rewrite)


def _name(hole: re.Match[bytes]) -> bytes:
    return hole[hole.lastindex or 0]


class Comby:
    """The templates of one campaign that are in comby's syntax."""

    def __init__(self, language: str, templates: Sequence[str], cache: Path | None = None) -> None:
        """``cache``: a file that keeps the found edits, because comby takes 30 ms to start."""
        self.templates: dict[str, CombyTemplate] = {}
        self.problems: dict[str, str] = {}
        """Templates that are left out, and the reasons."""
        self._matcher = MATCHERS.get(language, ".generic")
        self._slow = dict.fromkeys(templates, 0)
        self._found_edits = None
        for text in templates:
            try:
                template = CombyTemplate.parse(text)
                self._run(template, b"", START_SECONDS)
            except ValueError as e:
                self.problems[text] = str(e)
            except TimeoutError:
                self.problems[text] = "comby exceeds its time limit"
            else:
                self.templates[text] = template
        if cache and self.templates:
            self._found_edits = _FoundEdits(cache, json.dumps([self._matcher, *self.templates]))

    def found(self, data: bytes) -> dict[str, list[Edit]]:
        """The edits of each template in ``data``, without templates that exceed their time."""
        if not self.templates:
            return {}
        if self._found_edits and (found := self._found_edits.of(data)) is not None:
            return {text: edits for text, edits in found.items() if text in self.templates}
        before = len(self.templates)
        found = self._search(data)
        if self._found_edits and len(self.templates) == before:
            self._found_edits.keep(data, found)
        return found

    def _search(self, data: bytes) -> dict[str, list[Edit]]:
        found: dict[str, list[Edit]] = {}
        until = time.monotonic() + MAX_SECONDS
        for text, template in list(self.templates.items()):
            if (left := until - time.monotonic()) <= 0:
                break  # earlier templates have used up the time
            try:
                edits = list(_edits(self._run(template, data, left), template, data))
            except TimeoutError:
                self._slow[text] += 1
                if self._slow[text] == MAX_SLOW:
                    self._drop(text, f"comby exceeded its limits in {MAX_SLOW} entries")
            except ValueError as e:
                self._drop(text, str(e))
            else:
                found[text] = list(spread(edits, MAX_EDITS))
        return found

    def _drop(self, text: str, why: str) -> None:
        del self.templates[text]
        self.problems[text] = why

    def _run(self, template: CombyTemplate, data: bytes, seconds: float) -> bytes:
        """Run comby and return its output.

        Raises ValueError if comby cannot be used, TimeoutError if it was killed by a limit.
        """
        if not (comby := shutil.which("comby")):
            raise ValueError(MISSING)
        command = [
            *("/bin/sh", "-c", _LIMITED, comby, template.pattern, "", "-stdin"),
            # comby's own time limit would write to a predictable file in /tmp.
            *("-matcher", self._matcher, "-match-only", "-json-lines", "-timeout", "0"),
        ]
        try:
            with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output_file:
                source.write(data)
                source.seek(0)
                done = subprocess.run(
                    command,
                    stdin=source,
                    stdout=output_file,
                    stderr=subprocess.PIPE,
                    cwd="/",  # else comby reads flags from .comby
                    timeout=seconds,
                    check=False,
                )
                output_file.seek(0)
                output = output_file.read()
        except OSError as e:
            raise ValueError(f"comby cannot be run: {e}") from None
        except subprocess.TimeoutExpired:
            return b""  # the machine may be busy
        if done.returncode < 0:
            raise TimeoutError  # too much CPU time or output
        if done.returncode:
            error_lines = done.stderr.decode(errors="replace").strip().splitlines()
            why = error_lines[-1][:200] if error_lines else f"exit status {done.returncode}"
            raise ValueError(f"comby fails: {why}")
        return output


def _edits(output: bytes, template: CombyTemplate, data: bytes) -> Iterator[Edit]:
    """The edits in comby's output. comby counts bytes, and prints non-ASCII bytes unchanged."""
    for line in output.decode("latin-1").split("\n"):
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match answer:
            case {"matches": list(matches)}:
                for each in matches:
                    with contextlib.suppress(ValueError):  # a character above U+00FF
                        if edit := _edit(each, template, data):
                            yield edit


def _edit(answer: object, template: CombyTemplate, data: bytes) -> Edit | None:
    match answer:
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


class _FoundEdits:
    """A file with the edits found in entries, for workers, which are restarted often.

    The target may write to the file too, so its content is checked.
    """

    def __init__(self, path: Path, header: str) -> None:
        """``header``: the file is replaced if its first line is different."""
        self._path = path
        self._found: dict[str, Any] = {}
        head, *lines = (read_if_regular(path, MAX_KEPT) or b"").decode("latin-1").split("\n")
        if head != header:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            self._write(header)
            return
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                match json.loads(line):
                    case [str(key), dict(found)]:
                        self._found[key] = found

    def of(self, data: bytes) -> dict[str, list[Edit]] | None:
        """The edits in ``data``; None if the file does not have them."""
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
    raise ValueError("not an edit that fuzztui has written")
