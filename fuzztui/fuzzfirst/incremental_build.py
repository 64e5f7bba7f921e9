"""The incremental build: compile only the objects that a mutant changes, then link the program.

The steps of a recipe are shell scripts, which repeat the recorded compiler calls in their directory
and environment.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from fuzztui.base.files import read_regular
from fuzztui.fuzzfirst.recorded_build import Call, CompileStep, Recipe
from fuzztui.fuzzfirst.wrappers import Tools
from fuzztui.process.execute import ProcessMark, ProcessResult, execute

__all__ = ["FastPath"]

_MAX_DEPENDENCIES = 16 << 20
_WORD = re.compile(r"(?:[^\s\\]|\\.)+", re.DOTALL)


class FastPath:
    """Scripts and objects of a recipe in ``home``; ``source``: the tree that it compiles.

    ``plain``: the recipe is one of a build without AFL++'s passes.
    """

    def __init__(
        self,
        home: Path,
        recipe: Recipe,
        tools: Tools,
        source: Path,
        mark: ProcessMark,
        *,
        plain: bool,
    ) -> None:
        self.home = home
        self.program = home / "program"
        """The program that the scripts make."""
        self._plain = plain
        self._recipe = recipe
        self._tools = tools
        self._mark = mark
        self._source = os.path.realpath(source)
        self._uses: list[set[str]] = []
        self._elsewhere: set[str] = set()

    def write(self) -> None:
        """Remove old files and write the scripts. Raises OSError."""
        if self.home.exists():
            shutil.rmtree(self.home)
        self.home.mkdir(mode=0o700)
        told = ' -MD -MT x -MF "$1.d"' if self._plain else ""
        for i, step in enumerate(self._recipe.steps):
            words = shlex.join([*step.args, "-c", step.source])
            self._script(f"step-{i}", step.call, f'{words} -o "$1"{told}')
        link = " ".join(
            f'"${{{word + 2}}}"' if isinstance(word, int) else shlex.quote(word)
            for word in self._recipe.link
        )
        self._script("link", self._recipe.call, f'{link} -o "$1"')
        if self._plain:
            for i, step in enumerate(self._recipe.others):
                words = shlex.join([*step.args, "-M", "-MT", "x", step.source])
                self._script(f"other-{i}", step.call, f'{words} -MF "$1"')

    async def build(self, limit: float) -> ProcessResult:
        """Make the original, within a limit in seconds. Raises OSError.

        Without AFL++'s passes all objects are compiled, because compilers then list included files.
        With them, the objects of the recorded build are used if they were kept.
        """
        lines = [
            self._line(f"step-{i}", self._object(i))
            for i, step in enumerate(self._recipe.steps)
            if self._plain or not step.kept
        ]
        lines.append(self._link(()))
        if self._plain:
            lines += [
                self._line(f"other-{i}", self.home / f"other-{i}.d")
                for i in range(len(self._recipe.others))
            ]
        return await self._run(lines, limit)

    async def mutant(self, steps: Sequence[int], limit: float) -> ProcessResult:
        """Make the program with separate objects for these steps. Raises OSError."""
        lines = [self._line(f"step-{i}", self._object(i, mutant=True)) for i in steps]
        return await self._run([*lines, self._link(steps)], limit)

    def learn(self) -> None:
        """Read the dependencies that :meth:`build` has written. Raises OSError."""
        self._uses = [
            self._files(self.home / f"step-{i}.o.d", step)
            for i, step in enumerate(self._recipe.steps)
        ]
        self._elsewhere = set()
        for i, step in enumerate(self._recipe.others):
            self._elsewhere |= self._files(self.home / f"other-{i}.d", step)

    def whole(self) -> bool:
        """Whether all objects exist."""
        return all(self._object(i).is_file() for i in range(len(self._recipe.steps)))

    def steps_of(self, name: str) -> list[int]:
        """Return the steps that read a source file; [] if it cannot be built incrementally."""
        if name in self._elsewhere:
            return []
        return [i for i, files in enumerate(self._uses) if name in files]

    async def _run(self, lines: Sequence[str], limit: float) -> ProcessResult:
        path = self.home / "run.sh"
        path.write_bytes(os.fsencode("\n".join(["set -e", *lines, ""])))
        self.program.unlink(missing_ok=True)
        return await execute(["sh", str(path)], self._mark, cwd=self.home, limit=limit, stdout=True)

    def _object(self, i: int, *, mutant: bool = False) -> Path:
        if mutant:
            return self.home / f"mutant-{i}.o"
        kept = self._recipe.steps[i].kept
        return Path(kept) if kept and not self._plain else self.home / f"step-{i}.o"

    def _link(self, steps: Sequence[int]) -> str:
        count = len(self._recipe.steps)
        objects = (self._object(i, mutant=i in steps) for i in range(count))
        return self._line("link", self.program, *objects)

    def _line(self, script: str, *paths: Path) -> str:
        return shlex.join(["sh", str(self.home / f"{script}.sh"), *map(str, paths)])

    def _script(self, name: str, call: Call, words: str) -> None:
        """Write the script of one call; ``words``: its arguments, quoted for the shell."""
        real = self._tools.real[call.tool]
        compiler = [str(self._tools.plain), real] if self._plain else [real]
        env = [f"{key}={value}" for key, value in call.env.items()]
        marks = '"FUZZTUI_RUN=$FUZZTUI_RUN" "FUZZTUI_INSTANCE=$FUZZTUI_INSTANCE"'
        path = self.home / f"{name}.sh"
        path.write_bytes(
            os.fsencode(
                f"cd {shlex.quote(call.cwd)} || exit\n"
                f"exec env -i {shlex.join(env)} {marks} {shlex.join(compiler)} {words}\n"
            )
        )
        path.chmod(0o700)

    def _files(self, path: Path, step: CompileStep) -> set[str]:
        """Return the source files that a make rule lists."""
        text = os.fsdecode(read_regular(path, _MAX_DEPENDENCIES))
        words = _WORD.findall(text.replace("\\\n", " ").partition(":")[2])
        found = set()
        for word in [*words, step.source]:
            name = re.sub(r"\\(.)", r"\1", word).replace("$$", "$")
            real = os.path.realpath(step.call.path(name))
            if real.startswith(self._source + os.sep):
                found.add(os.path.relpath(real, self._source))
        return found
