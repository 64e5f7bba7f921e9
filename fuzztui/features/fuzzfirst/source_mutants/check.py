"""Check cheaply whether a mutant compiles: without an object file, in one process.

The compiler reads the mutated text from its standard input, in the directory of the file, so that
it finds included files. About two of five mutants of a C program do not compile.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fuzztui.features.fuzzfirst.source_mutants.generate import MutantError, language_of, read_source
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant

TIMEOUT_S = 60.0
"""Time limit of one compilation, in seconds."""

_SAID = 2000
"""Maximum bytes of a compiler's error message that are shown."""

_COMPILERS = {"c": ("cc", "gcc", "clang"), "cpp": ("c++", "g++", "clang++")}
_LANGUAGE = {"c": "c", "cpp": "c++"}


def default_command(language: str) -> list[str]:
    """Return a command that checks source on its standard input; [] if none is installed.

    Python sources need no command: :class:`Check` compiles them in this process.
    """
    for name in _COMPILERS.get(language, ()):
        if path := shutil.which(name):
            return [path, "-fsyntax-only", "-w", "-x", _LANGUAGE[language], "-"]
    return []


class Check:
    """Checks mutants of files, with ``command`` or the default of their language.

    :param command: reads the source from its standard input; exit status 0: the source compiles.
        Split like a shell line, but run without a shell.
    """

    def __init__(self, command: str = "") -> None:
        self._given = shlex.split(command)
        self._sources: dict[str, list[str]] = {}
        self.rejected = 0

    def prepare(self, file: Path, language: str = "") -> None:
        """Read ``file`` and check it. Raises :class:`MutantError` if it does not compile."""
        language = language or language_of(file)
        if not self._given and language != "python" and not default_command(language):
            raise MutantError(
                f"{file}: no compiler for {file.suffix or 'the file'} was found; name a "
                "command that reads the source from standard input (--check-with)"
            )
        lines = self._sources[str(file)] = read_source(file)
        complaint = self._complaint(file, language, lines)
        if complaint is not None:
            raise MutantError(f"{file}: the original does not compile: {complaint}")

    def compiles(self, mutant: SourceMutant, file: Path, language: str = "") -> bool:
        """Whether ``mutant`` of ``file`` compiles; ``rejected`` counts mutants that do not."""
        lines = list(self._sources[str(file)])
        lines[mutant.line - 1] = mutant.after
        if self._complaint(file, language or language_of(file), lines) is None:
            return True
        self.rejected += 1
        return False

    def _complaint(self, file: Path, language: str, lines: Sequence[str]) -> str | None:
        """Return the compiler's error message; None if the source compiles."""
        text = "\n".join([*lines, ""]).encode(errors="surrogateescape")
        if language == "python" and not self._given:
            try:
                compile(text, str(file), "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
                return str(e) or type(e).__name__
            return None
        return complaint_of(self._given or default_command(language), file.parent, text)


def complaint_of(
    command: Sequence[str], where: Path, text: bytes = b"", env: Mapping[str, str] | None = None
) -> str | None:
    """Run a compiler in a directory; return its error message, None if it accepts the source.

    ``text``: its standard input. ``env``: its environment; None: that of this process. Raises
    :class:`MutantError`.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=where,
            env=env,
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
        return f"the compiler took more than {TIMEOUT_S:.0f} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode == 0:
        return None
    message = said[:_SAID].decode(errors="replace").strip()
    return message or f"{command[0]} ended with status {process.returncode}"
