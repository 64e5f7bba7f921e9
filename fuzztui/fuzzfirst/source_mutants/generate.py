"""All mutants of source files, by the rules of universalmutator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from fuzztui.fuzzfirst.source_mutants.apply import changed_lines
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant, squeezed

__all__ = ["LANGUAGES", "Generated", "MutantError", "generate", "language_of", "read_source"]

LANGUAGES = {
    ".c": "c", ".h": "c",
    ".cpp": "cpp", ".c++": "cpp", ".cc": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp",
    ".py": "python",
    ".java": "java",
    ".js": "javascript", ".ts": "javascript",
    ".swift": "swift",
    ".rs": "rust",
    ".go": "go",
    ".lisp": "lisp", ".lsp": "lisp",
    ".f": "fortran", ".f90": "fortran", ".for": "fortran",
    ".r": "r",
    ".sol": "solidity",
    ".vy": "vyper",
    ".fe": "fe",
    ".tact": "tact", ".fc": "func", ".func": "func", ".tolk": "tolk",
}  # fmt: skip
"""universalmutator's languages by the end of a file's name."""

_C_LIKE = frozenset({"c", "cpp", "java", "javascript", "swift", "rust", "solidity", "go"})
_INDENTED = frozenset({"python", "fortran", "vyper", "fe"})
_TON = frozenset({"tact", "func", "tolk"})

MAX_BYTES = 16 << 20
"""A larger file is no source that somebody wrote."""


class MutantError(Exception):
    """A source that cannot be mutated; names the file and what to do."""


@dataclass(slots=True)
class Generated:
    """The mutants of files, in their order, and how many of all were left out."""

    mutants: list[SourceMutant] = field(default_factory=list)
    blank: int = 0
    """Mutants that change blanks only, or differ from another one in blanks only."""


def language_of(file: Path) -> str:
    """universalmutator's name of the language of ``file``, "none" if its name does not say."""
    return LANGUAGES.get(file.suffix.lower(), "none")


def generate(
    file: Path,
    *,
    name: str = "",
    language: str = "",
    lines: Collection[int] = (),
    into: Generated | None = None,
) -> Generated:
    """Every mutant of ``file``; only of ``lines``, if any are named (from 1).

    ``name`` is what mutants call the file. ``language``: one of :data:`LANGUAGES`'s values;
    default: what the file's name says. Raises :class:`MutantError`.
    """
    out = Generated() if into is None else into
    name = name or str(file)
    language = language or language_of(file)
    source = read_source(file)
    seen: set[tuple[int, str]] = set()
    twins: Counter[tuple[str, str]] = Counter()
    indented = language in _INDENTED
    for number, after, rule in changed_lines(source, rules_of(language)):
        before = source[number - 1]
        # Counted before any is left out: an id does not depend on what was asked for.
        twins[before, after] += 1
        if lines and number not in lines:
            continue
        look = squeezed(after, indented=indented)
        if (number, look) in seen or look == squeezed(before, indented=indented):
            out.blank += 1
            continue
        seen.add((number, look))
        key = _hash(before, after, twins[before, after])
        out.mutants.append(SourceMutant(f"{name}#{key}", name, number, rule, before, after))
    return out


def rules_of(language: str) -> list[str]:
    """The rule files that universalmutator's own command takes for a language."""
    if language in _TON:
        return ["ton_common.rules", f"{language}.rules"]
    rules = ["universal.rules", f"{language}.rules"]
    if language in _C_LIKE:
        rules.append("c_like.rules")
    if language in ("vyper", "fe"):
        rules += ["python.rules", "solidity.rules"]
    return rules


def read_source(file: Path) -> list[str]:
    """The lines of ``file`` without their ends. Raises :class:`MutantError`.

    Bytes that are no UTF-8 are surrogates: they can be encoded as they were.
    """
    try:
        if not file.is_file():
            why = "is a directory" if file.is_dir() else "there is no such file"
            raise MutantError(
                f"{file}: {why if file.is_dir() or not file.exists() else 'is no file'}"
            )
        if file.stat().st_size > MAX_BYTES:
            raise MutantError(f"{file}: has more than {MAX_BYTES >> 20} MB: is it a source?")
        text = file.read_bytes().decode(errors="surrogateescape")
    except OSError as e:
        raise MutantError(f"{file}: {e.strerror or e}") from None
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _hash(before: str, after: str, twin: int) -> str:
    text = f"{before.strip()}\0{after.strip()}\0{twin}"
    return blake2b(text.encode(errors="surrogateescape"), digest_size=5).hexdigest()
