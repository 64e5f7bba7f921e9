"""Generate all mutants of source files, by the rules of universalmutator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from fuzztui.engines.mutants.pragmas import PragmaError
from fuzztui.features.fuzzfirst.source_mutants.apply import changed_lines
from fuzztui.features.fuzzfirst.source_mutants.messages import Messages
from fuzztui.features.fuzzfirst.source_mutants.pragmas import excluded_lines
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant, squeezed

LANGUAGES = {
    ".c": "c", ".h": "c",
    ".cpp": "cpp", ".c++": "cpp", ".cc": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp",
    ".py": "python",
}  # fmt: skip
"""universalmutator's name of a language that fuzz-first can build, by file name suffix."""

MAX_BYTES = 16 << 20
"""Maximum size of a source file, in bytes."""


class MutantError(Exception):
    """A source cannot be mutated; the message names the file and what to do."""


@dataclass(slots=True)
class Generated:
    """The mutants of files, in order, and the number of mutants that were left out."""

    mutants: list[SourceMutant] = field(default_factory=list)
    blank: int = 0
    """Mutants left out because they differ from the original or another mutant only in blanks."""
    excluded: list[SourceMutant] = field(default_factory=list)
    """Mutants left out because of a pragma, with its reason."""
    messages: int = 0
    """Mutants left out because they change only :class:`Messages`."""


def language_of(file: Path) -> str:
    """Return universalmutator's name of the language of ``file``; "none": unknown suffix."""
    return LANGUAGES.get(file.suffix.lower(), "none")


def generate(
    file: Path,
    *,
    name: str = "",
    language: str = "",
    lines: Collection[int] = (),
    into: Generated | None = None,
) -> Generated:
    """Add every mutant of ``file`` to ``into``, and return the result.

    ``lines``: line numbers from 1; empty: all. ``name``: the file's name in mutants; "": its path.
    ``language``: a value of :data:`LANGUAGES`; "": by suffix. Raises :class:`MutantError`.
    """
    out = Generated() if into is None else into
    name = name or str(file)
    language = language or language_of(file)
    source = read_source(file)
    seen: set[tuple[int, str]] = set()
    twins: Counter[tuple[str, str]] = Counter()
    indented = language == "python"
    messages = Messages(source if indented else ())
    try:
        reasons = excluded_lines(source, python=indented)
    except PragmaError as e:
        raise MutantError(f"{file}:{e}") from None
    for number, after, rule in changed_lines(source, rules_of(language)):
        before = source[number - 1]
        # Counted before mutants are left out, so that ids do not depend on ``lines``.
        twins[before, after] += 1
        if lines and number not in lines:
            continue
        look = squeezed(after, indented=indented)
        if (number, look) in seen or look == squeezed(before, indented=indented):
            out.blank += 1
            continue
        seen.add((number, look))
        if messages.contain(number, before, after):
            out.messages += 1
            continue
        key = _hash(before, after, twins[before, after])
        why = reasons.get(number, "")
        mutant = SourceMutant(f"{name}#{key}", name, number, rule, before, after, excluded=why)
        (out.excluded if why else out.mutants).append(mutant)
    return out


def rules_of(language: str) -> list[str]:
    """Return the rule files that universalmutator's command uses for a language."""
    rules = ["universal.rules", f"{language}.rules"]
    return rules if language in ("python", "none") else [*rules, "c_like.rules"]


def read_source(file: Path) -> list[str]:
    """Return the lines of ``file`` without line ends. Raises :class:`MutantError`.

    Bytes that are not UTF-8 become surrogates, which can be encoded again.
    """
    try:
        if not file.is_file():
            why = "is a directory" if file.is_dir() else "there is no such file"
            raise MutantError(
                f"{file}: {why if file.is_dir() or not file.exists() else 'not a regular file'}"
            )
        if file.stat().st_size > MAX_BYTES:
            raise MutantError(f"{file}: larger than {MAX_BYTES >> 20} MiB; not a source file?")
        text = file.read_bytes().decode(errors="surrogateescape")
    except OSError as e:
        raise MutantError(f"{file}: {e.strerror or e}") from None
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _hash(before: str, after: str, twin: int) -> str:
    text = f"{before.strip()}\0{after.strip()}\0{twin}"
    return blake2b(text.encode(errors="surrogateescape"), digest_size=5).hexdigest()
