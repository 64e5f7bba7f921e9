"""Whether a mutant compiles, asked as cheaply as can be: no object, no file, one process.

The mutated text goes to the compiler's standard input, in the directory of its file, where
what it includes is found. About two of five mutants of a C program do not compile.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fuzztui.fuzzfirst.source_mutants.generate import MutantError, language_of, read_source
from fuzztui.fuzzfirst.source_mutants.text import SourceMutant

__all__ = ["Check", "default_command"]

TIMEOUT_S = 60.0
"""A compiler that takes longer than this for one file is taken to hang."""

_SAID = 2000
"""Bytes of a compiler's complaint that are shown."""

_COMPILERS = {"c": ("cc", "gcc", "clang"), "cpp": ("c++", "g++", "clang++")}
_LANGUAGE = {"c": "c", "cpp": "c++"}


def default_command(language: str) -> list[str]:
    """What checks a source on its standard input; [] where nothing here can.

    Python sources are compiled in this process: see :class:`Check`.
    """
    for name in _COMPILERS.get(language, ()):
        if path := shutil.which(name):
            return [path, "-fsyntax-only", "-w", "-x", _LANGUAGE[language], "-"]
    return []


class Check:
    """Checks mutants of files, each with ``command`` or what fits its language.

    :param command: a shell line; it reads the source on its standard input, and its exit
        status is 0 if that compiles.
    """

    def __init__(self, command: str = "") -> None:
        self._given = shlex.split(command)
        self._sources: dict[str, list[str]] = {}
        self.rejected = 0

    def prepare(self, file: Path, language: str = "") -> None:
        """Look whether ``file`` itself compiles. Raises :class:`MutantError` if not."""
        language = language or language_of(file)
        if not self._given and language != "python" and not default_command(language):
            raise MutantError(
                f"{file}: nothing here checks a source in {language}: name a command that reads "
                f"it on standard input (--check-with)"
            )
        lines = self._sources[str(file)] = read_source(file)
        complaint = self._complaint(file, language, lines)
        if complaint is not None:
            raise MutantError(f"{file} itself does not compile, so no mutant would: {complaint}")

    def compiles(self, mutant: SourceMutant, file: Path, language: str = "") -> bool:
        """Whether ``mutant`` of ``file`` does; counts those that do not."""
        lines = list(self._sources[str(file)])
        lines[mutant.line - 1] = mutant.after
        if self._complaint(file, language or language_of(file), lines) is None:
            return True
        self.rejected += 1
        return False

    def _complaint(self, file: Path, language: str, lines: Sequence[str]) -> str | None:
        """None if it compiles, else what the compiler says."""
        text = "\n".join([*lines, ""]).encode(errors="surrogateescape")
        if language == "python" and not self._given:
            try:
                compile(text, str(file), "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
                return str(e) or type(e).__name__
            return None
        return _run(self._given or default_command(language), text, file.parent)


def _run(command: Sequence[str], text: bytes, where: Path) -> str | None:
    try:
        process = subprocess.Popen(
            command,
            cwd=where,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as e:
        raise MutantError(f"{shlex.join(command)}: {e.strerror or e}") from None
    try:
        _, said = process.communicate(text, TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"it took more than {TIMEOUT_S:.0f} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode == 0:
        return None
    words = said[:_SAID].decode(errors="replace").strip()
    return words or f"{command[0]} ended with status {process.returncode}"
