"""Build the original, as the model for building mutants and for comparing programs.

The original is built with AFL++'s passes and without, by the user's command, each in its own build
environment. Mutants are built in the same environments.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import fuzztui
from fuzztui.features.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.features.fuzzfirst.build_tree import BuildTree, BuildTreeError
from fuzztui.features.fuzzfirst.compile_check import NO_SOURCE, record_calls
from fuzztui.features.fuzzfirst.failed_builds import made, record_failure
from fuzztui.features.fuzzfirst.program_files import companions, digest_of, settle, shared_objects
from fuzztui.features.fuzzfirst.repair import CMPLOG
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.features.fuzzfirst.wrappers import Tools, find_tools
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import read_json, remove
from fuzztui.kernel.base.text import visible
from fuzztui.run.afl.build import build_environment
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark, ProcessResult
from fuzztui.run.process.identity import boot_id


class Product:
    """The program in every build tree that is a copy of ``origin``.

    All members raise :class:`SupervisorError` if the build makes the program outside its tree.
    """

    def __init__(self, campaign: Campaign, origin: BuildTree) -> None:
        self._target = campaign.target
        self._bases = {"build": campaign.build_directory, "source": origin.origin}
        self._origin = origin

    @property
    def name(self) -> Path:
        """The program's path in a tree: ``build/prog`` or ``source/prog``."""
        return self._place(self._target["command"][0])

    def in_tree(self, tree: BuildTree) -> Path:
        """Return the path of the program in a tree."""
        return tree.home / self.name

    def digest(self, tree: BuildTree) -> str:
        """Return the digest of the program and the shared objects of the build. Raises OSError."""
        made = [*shared_objects(tree.build), *self._libraries(tree)]
        return digest_of([self.in_tree(tree), *made])

    def settle(self, program: Path, tree: BuildTree, into: Path) -> None:
        """Copy a program, and the files of its tree that it needs, to ``into``. Raises OSError."""
        remove(into)
        into.mkdir(mode=0o700, parents=True)
        without = {self.in_tree(tree)}
        if self._target["cmplog"] not in ("", "0"):
            without.add(tree.home / self._place(self._target["cmplog"]))
        beside = [*companions(tree.build, without), *self._libraries(tree)]
        settle(program, self.name, tree.home, beside, into)

    def _libraries(self, tree: BuildTree) -> list[Path]:
        """Return the shared objects that a build has made in its source directory."""
        there = self._origin.source
        found = shared_objects(tree.source)
        return [
            path for path in found if not os.path.lexists(there / path.relative_to(tree.source))
        ]

    def _place(self, program: str) -> Path:
        for place, base in self._bases.items():
            inside = os.path.relpath(program, base)
            if not inside.startswith(os.pardir):
                return Path(place, inside)
        raise SupervisorError(
            f"target.command: {program} is made neither in the build's directory nor in "
            "target.source, so mutants cannot be built in a private copy"
        )


MIN_LIMIT_S = 60.0
TIMES_BASELINE = 20
BASELINE_LIMIT_S = 6 * 3600.0
"""Seconds for a build of the original; a mutant's build has :attr:`Baseline.limit`."""

CHECKS = "checks"
"""Directory in the work directory of what :class:`BuildCheck` needs."""

_PLAIN, _AFL = "plain", "base"
"""Directories of the build trees without AFL++'s passes, and with them."""

_EARLIER = ("fast-plain", "fast-base", "plain-whole", "afl-whole")
_LEFT = ("state.json", "failed", CHECKS, CMPLOG, *_EARLIER)
"""Names in the work directory that are removed before the original is built; the last four are
those of earlier versions."""

_LABEL = "mutant-builder"


class Baseline:
    """The original in ``RUN/mutants/work``. Call :meth:`prepare` before anything else."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self.no_duplicates_because = ""
        """Why equivalent and duplicate mutants are not known; "" if they are."""
        self.seconds = 0.0
        """What it took to build."""
        self.original = ""
        """Digest of the program without AFL++'s passes."""
        self._campaign = campaign
        self._command: str = campaign.target["build"]
        self._work = work = run_dir.path.absolute() / "mutants" / "work"
        source = Path(campaign.target["source"])
        self.origin = BuildTree(work / "origin", source, (campaign.output, work.parents[1]))
        """The source as it was when the run first started."""
        self.product = Product(campaign, self.origin)
        self._mark = ProcessMark(run_dir.path, _LABEL)
        self._tools: Tools | None = None
        self._environments: dict[str, BuildEnvironment] = {}
        """By name."""

    @property
    def limit(self) -> float:
        """Time limit of a mutant's build, in seconds."""
        return max(MIN_LIMIT_S, TIMES_BASELINE * self.seconds)

    async def failure(
        self, name: str, outcome: ProcessResult, environment: BuildEnvironment
    ) -> str:
        """Return why a build made no program, and keep the build's output as ``name``."""
        log = self._work / "failed" / f"{name}.log"
        program, source = environment.program, environment.tree.source
        return await in_thread(lambda: record_failure(log, outcome, program, source))

    async def prepare(self, progress: Callable[[str], None]) -> None:
        """Copy the source and build it.

        Results of an earlier start of the run are used again. Raises :class:`SupervisorError` if
        mutants cannot be built.
        """
        if not self._command:
            raise SupervisorError(
                "target.build: missing, but mutants are built with it; add it to the campaign"
            )
        try:
            await asyncio.to_thread(self._mark.kill_leftovers)  # a compiler of an earlier start
            await self._prepare(progress)
        except OSError as e:
            raise SupervisorError(
                f"{e.filename or self._work}: cannot build mutants here: {e.strerror or e}"
            ) from None

    async def _prepare(self, progress: Callable[[str], None]) -> None:
        env = build_environment(self._campaign)
        afl_path = self._campaign.engine["afl_path"] or ""
        self._tools = tools = find_tools(self._work / "tools", env, afl_path)
        self._work.mkdir(mode=0o700, parents=True, exist_ok=True)
        await in_thread(tools.make)
        if reason := await in_thread(lambda: tools.try_ccache(self._command)):
            progress(f"ccache is not used for mutants: {reason}")
        if not await in_thread(self._resume):
            await self._begin(progress)
        helped = ", with ccache" if tools.ccache else ""
        progress(f"mutants are built by target.build in a private copy of the source{helped}")
        if self.no_duplicates_because:
            progress(f"equivalent mutants are not detected: {self.no_duplicates_because}")

    def _resume(self) -> bool:
        """Take over what an earlier start has built; False if that is missing or incomplete."""
        state = read_json(self._work / "state.json")
        if state is None or state["key"] != self._key() or not self.origin.usable():
            return False
        if "original" not in state:  # of an earlier version, with other build environments
            return False
        self.seconds = state["seconds"]
        self.no_duplicates_because, self.original = state["twins_unknown"], state["original"]
        self._environments = {name: self._environment(name) for name in (_PLAIN, _AFL)}
        for environment in self._environments.values():
            environment.resume()  # an incomplete one is made again by its next build
        return True

    def _keep(self) -> None:
        """Write the results for the next start. Raises OSError."""
        state = {
            "key": self._key(),
            "seconds": self.seconds,
            "twins_unknown": self.no_duplicates_because,
            "original": self.original,
        }
        replace_text(self._work / "state.json", json.dumps(state))

    def _key(self) -> str:
        """Hash of everything that the original's build depends on, except the copied source."""
        target, engine = self._campaign.target, self._campaign.engine
        parts = [fuzztui.__version__, str(self._work), boot_id(), self._command]
        parts += [target["source"], target["command"][0], str(engine["afl_path"])]
        return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()

    # ------------------------------------------------------------------- the first start

    async def _begin(self, progress: Callable[[str], None]) -> None:
        for name in _LEFT:
            await in_thread(functools.partial(remove, self._work / name))
        await self._copy_source(progress)
        self._environments = {name: self._environment(name) for name in (_PLAIN, _AFL)}
        plain, base = self._environments.values()
        progress("building the original")
        outcome = await _built(base, BASELINE_LIMIT_S)
        self.seconds = outcome.seconds
        if not made(outcome, base.program):
            message = await self.failure("baseline", outcome, base)
            raise SupervisorError(f"target.build: in {base.tree.home}, for mutants: {message}")
        await self._record_calls(base, progress)
        # Written only after a build: a source that does not build is copied again when corrected.
        source = json.dumps({"source": self._campaign.target["source"]})
        replace_text(self.origin.home / "of.json", source)
        progress("building the original without instrumentation")
        outcome = await _built(plain, BASELINE_LIMIT_S)
        if not made(outcome, plain.program):
            message = await self.failure("plain", outcome, plain)
            self.no_duplicates_because = " ".join(f"without instrumentation {message}".split())
        else:
            self.no_duplicates_because = await self._try_plain(plain)
        await self._check_sources(progress)
        await in_thread(self._keep)

    async def _copy_source(self, progress: Callable[[str], None]) -> None:
        """Copy the source, unless the run has a copy that builds: a run keeps its first source."""
        origin, source = self.origin, self.origin.origin
        if read_json(origin.home / "of.json") == {"source": str(source)} and origin.usable():
            return
        if not source.is_dir():
            raise SupervisorError(f"target.source: no directory {source}, but mutants need it")
        progress(f"copying {source}, to mutate the copy")
        stopped = threading.Event()
        await in_thread(lambda: origin.make(lambda: not stopped.is_set()), stopped.set)

    async def _record_calls(self, built: BuildEnvironment, progress: Callable[[str], None]) -> None:
        """Keep how the original was compiled, to check mutants in the same way."""
        place, tools, stopped = self._work / CHECKS, self._tools, threading.Event()
        assert tools is not None
        try:
            await in_thread(
                lambda: record_calls(place, built, tools, lambda: not stopped.is_set()), stopped.set
            )
        except SupervisorError as e:
            progress(f"mutants are checked without the build's flags: {e}")

    async def _try_plain(self, environment: BuildEnvironment) -> str:
        """Set the digest of the original's program; return why it cannot be compared with mutants'.

        An empty string if it can: two builds of the same source have the same digest.
        """
        digests = set()
        for again in (True, False):
            digests.add(await in_thread(lambda: self.product.digest(environment.tree)))
            if not environment.calls:
                return "target.build does not compile with $CC and $CXX"
            if again and not made(await _built(environment, self.limit), environment.program):
                return "it cannot be built twice without instrumentation"
        if len(digests) > 1:
            return "two builds of the same source are not the same program"
        self.original = digests.pop()
        return ""

    async def _check_sources(self, progress: Callable[[str], None]) -> None:
        """Raise :class:`SupervisorError` if no mutant of any source changes the program.

        If no compiler was seen to read any source, each one is replaced by text that cannot be
        compiled: the build must fail or make another program.
        """
        files = dict.fromkeys(
            file for file, _ in self._campaign.table("mutants").get("sources", ())
        )
        try:
            names = [self.origin.name_of(file) for file in files]
        except BuildTreeError:
            return  # reported when mutants are made of the file
        plain, environment = self.environments()
        if not names or any(environment.seen(name) for name in names):
            return
        progress("checking that target.build compiles the copy of the source")
        environment = plain or environment
        for name in names:
            outcome = await environment.mutant(name, NO_SOURCE, self.limit)
            if not made(outcome, environment.program):
                return
            if plain:
                digest = await in_thread(lambda: self.product.digest(environment.tree))
                if digest != self.original:
                    return
        (self._work / "state.json").unlink(missing_ok=True)  # else the next start skips this check
        raise SupervisorError(
            f"target.build: does not compile {visible(', '.join(files))} from $SOURCE, so no "
            f"mutant changes the program; name the file as $SOURCE/{visible(names[0])}, or cd to "
            "$SOURCE"
        )

    # ------------------------------------------------------------------------------ environments

    def environments(self) -> tuple[BuildEnvironment | None, BuildEnvironment]:
        """Where mutants are built without AFL++'s passes, to compare programs, and with them.

        The first is None if programs cannot be compared (:attr:`no_duplicates_because`).
        """
        return None if self.no_duplicates_because else self._environments[
            _PLAIN
        ], self._environments[_AFL]

    def _environment(self, name: str) -> BuildEnvironment:
        assert self._tools is not None
        tree = BuildTree(self._work / name, self.origin.source)
        program = self.product.in_tree(tree)
        return BuildEnvironment(
            tree, program, self._tools, self._command, self._mark, plain=name == _PLAIN
        )


async def _built(environment: BuildEnvironment, limit: float) -> ProcessResult:
    """Build the original from scratch."""
    await environment.make()
    return await environment.build(limit)
