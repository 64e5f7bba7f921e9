"""Check whether mutants compile with the compiler calls that the build made for the original.

The build's directories are copied once, right after the original was built in them: the mutants'
builds change theirs while mutants are checked. In the copy a mutant takes the place of its file,
so that the recorded call finds it, and all that it includes, as the build would.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

from fuzztui.features.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.features.fuzzfirst.build_tree import BuildTree, BuildTreeError, mutated
from fuzztui.features.fuzzfirst.source_mutants.check import complaint_of
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.features.fuzzfirst.wrappers import Tools
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json

NO_SOURCE = b"#error is this file compiled?\n)}] fuzztui [{(\n"
"""Text that no compiler of any language accepts."""

_MOST_TRIED = 100
"""Recorded calls that are tried for a file that none of them names, such as a header."""

_CALLS = "calls.json"


def record_calls(
    place: Path, built: BuildEnvironment, tools: Tools, go_on: Callable[[], bool]
) -> None:
    """Copy the directories of a build to ``place``, with the calls of its compilers. Blocks.

    Records nothing if ``go_on`` returns False, or if no call names a source of the directories.
    Raises OSError, :class:`SupervisorError`.
    """
    copy = BuildTree(place, built.tree.home)
    homes = {f"{home}{os.sep}" for home in (built.tree.home, os.path.realpath(built.tree.home))}

    def moved(text: str) -> str:
        for home in homes:
            text = text.replace(home, f"{copy.source}{os.sep}")
        return text

    found = {}
    for call in built.calls:
        for path in call.sources() if call.compiler in tools.real and call.is_repeatable() else ():
            if not Path(path).is_file():
                continue  # a file of the build's own tests of its compiler
            file = os.path.relpath(os.path.realpath(path), os.path.realpath(built.tree.home))
            cwd = moved(f"{call.cwd}{os.sep}")
            argv = (str(tools.plain), tools.real[call.compiler], *map(moved, call.checking(path)))
            if not file.startswith(os.pardir):
                found[file, cwd, argv] = {"file": file, "cwd": cwd, "argv": argv}
    if found:
        copy.make(go_on)
        replace_text(place / _CALLS, json.dumps({"calls": [found[key] for key in sorted(found)]}))


class _Call(TypedDict):
    """A recorded call, which compiles ``file`` of the copy."""

    file: str
    cwd: str
    argv: list[str]


class BuildCheck:
    """Checks files below ``source`` of the copy in ``place``, with the environment ``env``."""

    def __init__(self, place: Path, env: Mapping[str, str]) -> None:
        self._tree = BuildTree(place, place)
        self._env = env
        kept = read_json(place / _CALLS) if self._tree.usable() else None
        self._calls: list[_Call] = [] if kept is None else kept["calls"]
        self._texts: dict[str, bytes] = {}
        """The originals of prepared files, by name."""
        self._of: dict[str, list[tuple[_Call, str]]] = {}
        """By name of a file: the calls that read the file, each with where it reads the file."""

    def prepare(self, name: str, text: bytes) -> bool:
        """Find the calls that read a file, whose original is ``text``; False if there are none.

        These are the calls that name the file, or a copy in the build; else the first that
        includes the file.
        """
        try:
            file = self._tree.name_of(f"source/{name}")
        except BuildTreeError:  # such as an absolute name, or a link that leads elsewhere
            return False
        if Path(file).parts[0] != "source":
            return False
        self._texts[name] = text
        own = [(call, call["file"]) for call in self._calls if self._compiles_it(call, file, text)]
        found = self._of[name] = []
        for call, place in own or [(call, file) for call in self._calls[:_MOST_TRIED]]:
            if self._accepts(call, place, text) and not self._accepts(call, place, NO_SOURCE):
                found.append((call, place))
                if not own:
                    break
        return bool(found)

    def _compiles_it(self, call: _Call, file: str, text: bytes) -> bool:
        """Whether a call compiles a file of the source, or a copy that the build has made of it."""
        compiled = Path(call["file"])
        if call["file"] == file:
            return True
        if compiled.parts[0] != "build" or compiled.name != Path(file).name:
            return False
        with contextlib.suppress(OSError):
            return self._tree.text(call["file"]) == text
        return False

    def compiles(self, mutant: SourceMutant) -> bool:
        """Whether a mutant of a prepared file compiles: by all calls that read the file."""
        name, text = mutant.file, mutated(self._texts[mutant.file], mutant)
        return all(self._accepts(call, place, text) for call, place in self._of[name])

    def _accepts(self, call: _Call, place: str, text: bytes) -> bool:
        with self._tree.holding(place, text):
            return complaint_of(call["argv"], Path(call["cwd"]), env=self._env) is None
