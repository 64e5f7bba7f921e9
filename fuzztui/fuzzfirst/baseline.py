"""Build the original, as the model for building mutants and for comparing programs.

The user's command builds it with AFL++'s passes and without, in separate build environments. The
recorded compiler calls show whether mutants can be built incrementally
(:mod:`.incremental_build`).
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import fuzztui
from fuzztui.afl.build import build_environment
from fuzztui.base.files import read_json, remove, replace_text
from fuzztui.base.text import visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.fuzzfirst.build_environment import BuildEnvironment
from fuzztui.fuzzfirst.build_tree import BuildTree, BuildTreeError
from fuzztui.fuzzfirst.duplicates import digest_of
from fuzztui.fuzzfirst.failed_builds import FailedBuilds, made
from fuzztui.fuzzfirst.incremental_build import FastPath
from fuzztui.fuzzfirst.product import Product
from fuzztui.fuzzfirst.recorded_build import Unclear, read_calls, recipe_of, same_steps
from fuzztui.fuzzfirst.threads import in_thread
from fuzztui.fuzzfirst.wrappers import Tools, find_tools
from fuzztui.process.execute import ProcessMark, ProcessResult
from fuzztui.process.identity import boot_id

__all__ = ["FAST", "WHOLE", "Baseline"]

MIN_LIMIT_S = 60.0
TIMES_BASELINE = 20
BASELINE_LIMIT_S = 6 * 3600.0
"""Time limit of the original's build. Elsewhere the user's command has none."""

NO_SOURCE = b"#error is this file compiled?\n)}] fuzztui [{(\n"
"""Text that no compiler of any language accepts."""

FAST, WHOLE = "fast", "plain-whole"
"""The ways to build without AFL++'s passes; each yields another binary of the original."""

_AFL = "afl-whole"
_LABEL = "mutant-builder"


class Baseline:
    """The original in ``RUN/mutants/work``. Call :meth:`prepare` before anything else."""

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self.twins_unknown = ""
        """Why equivalent and duplicate mutants are not detected; "" if they are."""
        self.slow = ""
        """Why mutants cannot be built incrementally; "" if they can."""
        self.seconds = 0.0
        """Duration of the original's build."""
        self.originals: dict[str, str] = {}
        """Digest of the original without AFL++'s passes, by ``FAST`` and ``WHOLE``."""
        self.fast: list[tuple[FastPath, BuildEnvironment]] = []
        """Incremental builds without and with AFL++'s passes, and the environments that they were
        recorded in; empty if mutants are built by the whole command."""
        self._campaign = campaign
        self._command: str = campaign.target["build"]
        self._work = work = run_dir.path.absolute() / "mutants" / "work"
        source = Path(campaign.target["source"])
        self.origin = BuildTree(work / "origin", source, (campaign.output, work.parents[1]))
        """The source as it was when the run first started."""
        self.product = Product(campaign, self.origin)
        self._failed = FailedBuilds(work / "failed")
        self._mark = ProcessMark(run_dir.path, _LABEL)
        self._tools: Tools | None = None
        self._rooms: dict[str, BuildEnvironment] = {}
        """Environments in which the whole command builds mutants, by name."""

    @property
    def limit(self) -> float:
        """Time limit of a mutant's build, in seconds."""
        return max(MIN_LIMIT_S, TIMES_BASELINE * self.seconds)

    def steps_of(self, name: str) -> list[int]:
        """Return the incremental build's steps that read a source file; []: build the whole."""
        return self.fast[0][0].steps_of(name) if self.fast else []

    async def failure(self, name: str, outcome: ProcessResult, room: BuildEnvironment) -> str:
        """Return why a build made no program, and keep the build's output as ``name``."""
        program, source = room.program, room.tree.source
        return await in_thread(lambda: self._failed.record(name, outcome, program, source))

    async def prepare(self, progress: Callable[[str], None]) -> None:
        """Copy the source, build it, decide whether mutants can be built incrementally.

        Results of an earlier start of the run are used again. Raises :class:`SupervisorError` if
        mutants cannot be built.
        """
        if not self._command:
            raise SupervisorError(
                "target.build: missing, but mutants are built with it; add it to the campaign"
            )
        try:
            await asyncio.to_thread(self._mark.sweep)  # a compiler of an earlier start
            await self._prepare(progress)
        except OSError as e:
            raise SupervisorError(
                f"{e.filename or self._work}: cannot build mutants here: {e.strerror or e}"
            ) from None

    async def _prepare(self, progress: Callable[[str], None]) -> None:
        self.fast, self._rooms, self.originals = [], {}, {}
        env = build_environment(self._campaign)
        afl_path = self._campaign.engine["afl_path"] or ""
        self._tools = tools = find_tools(self._work / "tools", env, afl_path)
        self._work.mkdir(mode=0o700, parents=True, exist_ok=True)
        await in_thread(tools.make)
        if reason := await in_thread(lambda: tools.try_ccache(self._command)):
            progress(f"ccache is not used for mutants: {reason}")
        if not await in_thread(self._resume):
            await self._begin(progress)
        if not self.slow:
            progress("mutants are built incrementally: the changed file is compiled, then linked")
        else:
            progress(f"mutants are built by the whole of target.build: {self.slow}")
        if self.twins_unknown:
            progress(f"equivalent mutants are not detected: {self.twins_unknown}")

    def _resume(self) -> bool:
        """Take over what an earlier start has built; False if that is missing or incomplete."""
        state = read_json(self._work / "state.json")
        if state is None or state["key"] != self._key():
            return False
        plain, base = self._room("plain"), self._room("base")
        if not self.origin.usable():
            return False
        resumed = [room.resume() for room in (plain, base)]
        # An environment of whole builds may be half done: it is made again when it is needed.
        if not (all(resumed) or state["slow"]):
            return False
        self.seconds, self.slow = state["seconds"], state["slow"]
        self.twins_unknown, self.originals = state["twins_unknown"], state["originals"]
        if self.slow:
            self._rooms = {WHOLE: plain, _AFL: base}
            return True
        try:
            self.fast = self._recipes(plain, base)
        except Unclear:
            return False
        self.fast[0][0].learn()
        return all(path.whole() for path, _ in self.fast)

    def _keep(self) -> None:
        """Write the results for the next start. Raises OSError."""
        state = {
            "key": self._key(),
            "seconds": self.seconds,
            "slow": self.slow,
            "twins_unknown": self.twins_unknown,
            "originals": self.originals,
        }
        replace_text(self._work / "state.json", json.dumps(state))

    def _key(self) -> str:
        """Hash of everything that the original's build depends on, except the copied source."""
        target, engine = self._campaign.target, self._campaign.engine
        told = [fuzztui.__version__, str(self._work), boot_id(), self._command]
        told += [target["source"], target["command"][0], str(engine["afl_path"])]
        return hashlib.sha256("\0".join(told).encode(errors="surrogateescape")).hexdigest()

    # ------------------------------------------------------------------- the first start

    async def _begin(self, progress: Callable[[str], None]) -> None:
        for name in ("state.json", "fast-plain", "fast-base", WHOLE, _AFL, "failed"):
            await in_thread(functools.partial(remove, self._work / name))
        await self._copy_source(progress)
        base, plain = self._room("base"), self._room("plain")
        progress("building the original")
        outcome = await _built(base, BASELINE_LIMIT_S)
        self.seconds = outcome.seconds
        if not made(outcome, base.program):
            message = await self.failure("baseline", outcome, base)
            raise SupervisorError(f"target.build: in {base.tree.home}, for mutants: {message}")
        # Written only after a build: a source that does not build is copied again when corrected.
        told = json.dumps({"source": self._campaign.target["source"]})
        replace_text(self.origin.home / "of.json", told)
        progress("building the original without instrumentation")
        outcome = await _built(plain, BASELINE_LIMIT_S)
        self.twins_unknown = self.slow = ""
        if not made(outcome, plain.program):
            self.slow = "target.build fails without instrumentation"
            message = await self.failure("plain", outcome, plain)
            self.twins_unknown = " ".join(f"without instrumentation, {message}".split())
        else:
            self.slow = await self._try_fast(plain, base)
        if self.slow:
            self.fast, self._rooms = [], {WHOLE: plain, _AFL: base}
            if not self.twins_unknown:
                self.twins_unknown = await self._try_plain(plain)
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

    async def _try_fast(self, plain: BuildEnvironment, base: BuildEnvironment) -> str:
        """Build incrementally; return why the result cannot be trusted, "" if it can."""
        try:
            fast = await in_thread(lambda: self._recipes(plain, base))
        except Unclear as e:
            return str(e)
        for path, room in fast:
            await in_thread(path.write)
            outcome = await path.build(BASELINE_LIMIT_S)
            if not made(outcome, path.program):
                message = await self.failure("fast", outcome, room)
                return " ".join(f"a recorded step fails when repeated: {message}".split())
        # Two builds with AFL++'s passes always differ, so only the builds without are compared.
        path = fast[0][0]
        programs = (plain.program, path.program)
        whole, again = [await in_thread(functools.partial(digest_of, [p])) for p in programs]
        if whole != again:
            return "the recorded steps make another program than the whole command"
        await in_thread(path.learn)
        self.fast = fast
        self.originals[FAST] = whole
        return ""

    def _recipes(
        self, plain: BuildEnvironment, base: BuildEnvironment
    ) -> list[tuple[FastPath, BuildEnvironment]]:
        """Raises :class:`Unclear`, OSError."""
        assert self._tools is not None
        recipes = [
            recipe_of(read_calls(room.records), room.program, room.tree.home)
            for room in (plain, base)
        ]
        if not same_steps(recipes[0], plain.tree.home, recipes[1], base.tree.home):
            raise Unclear("the build steps with and without instrumentation differ")
        mark, tools, work = self._mark, self._tools, self._work
        source, afl_source = plain.tree.source, base.tree.source
        return [
            (FastPath(work / "fast-plain", recipes[0], tools, source, mark, plain=True), plain),
            (FastPath(work / "fast-base", recipes[1], tools, afl_source, mark, plain=False), base),
        ]

    async def _try_plain(self, room: BuildEnvironment) -> str:
        """Set the digest of the whole build in ``room``; return why it is useless, "" if it is not.

        Builds a second time for comparison, unless the incremental build was comparable already.
        """
        digests = set()
        for again in (True, False):
            digests.add(await in_thread(lambda: self.product.digest(room.tree)))
            if not room.calls:
                return "target.build does not compile with $CC and $CXX"
            if not again or FAST in self.originals:
                break
            if not made(await _built(room, self.limit), room.program):
                return "a second build without instrumentation fails"
        if len(digests) > 1:
            return "two builds of the same source make different programs"
        self.originals[WHOLE] = digests.pop()
        return ""

    async def _check_sources(self, progress: Callable[[str], None]) -> None:
        """Raise :class:`SupervisorError` if no mutant of any source changes the program.

        If no compiler was seen to read any source, each one is replaced by text that cannot be
        compiled: the build must fail or make another program.
        """
        files = dict.fromkeys(file for file, _ in self._campaign.mutants.get("sources", ()))
        try:
            names = [self.origin.name_of(file) for file in files]
        except BuildTreeError:
            return  # reported when mutants are generated
        if not names or any(
            self.steps_of(name) if self.fast else self._rooms[_AFL].seen(name) for name in names
        ):
            return
        progress("checking that target.build compiles the copy of the source")
        plain, room = await self.whole_environments()
        room = plain or room
        for name in names:
            outcome = await room.mutant(name, NO_SOURCE, self.limit)
            if not made(outcome, room.program):
                return
            if plain:
                digest = await in_thread(lambda: self.product.digest(room.tree))
                if digest != self.originals[WHOLE]:
                    return
        (self._work / "state.json").unlink(missing_ok=True)  # else the next start skips this check
        raise SupervisorError(
            f"target.build: does not compile {visible(', '.join(files))} from $SOURCE, so no "
            f"mutant changes the program; name the file as $SOURCE/{visible(names[0])}, or cd to "
            "$SOURCE"
        )

    # ------------------------------------------------------------------------------ rooms

    async def whole_environments(self) -> tuple[BuildEnvironment | None, BuildEnvironment]:
        """Return the environments for the whole command: without AFL++'s passes, and with them.

        The first is None if its digests are useless. Both are made when the first mutant needs
        them; those of the incremental build are left alone. Raises :class:`SupervisorError`,
        OSError.
        """
        if _AFL not in self._rooms:
            room = self._rooms[_AFL] = self._room(_AFL)
            await in_thread(room.resume)
        if not self.twins_unknown and WHOLE not in self._rooms:
            await self._make_whole()
        return None if self.twins_unknown else self._rooms[WHOLE], self._rooms[_AFL]

    async def _make_whole(self) -> None:
        """Make the environment without AFL++'s passes, or set ``twins_unknown``."""
        room = self._room(WHOLE)
        if WHOLE in self.originals:
            await in_thread(room.resume)
        elif not made(await _built(room, self.limit), room.program):
            self.twins_unknown = "a second whole build without instrumentation fails"
            return
        else:
            self.twins_unknown = await self._try_plain(room)
            await in_thread(self._keep)
        self._rooms[WHOLE] = room

    def _room(self, name: str) -> BuildEnvironment:
        """``plain``, ``base``: of the original; ``WHOLE``, ``_AFL``: of whole builds of mutants."""
        assert self._tools is not None
        tree = BuildTree(self._work / name, self.origin.source)
        program, plain = self.product.in_tree(tree), name in ("plain", WHOLE)
        return BuildEnvironment(tree, program, self._tools, self._command, self._mark, plain=plain)


async def _built(room: BuildEnvironment, limit: float) -> ProcessResult:
    """Build the original from scratch."""
    await room.make()
    return await room.build(limit)
