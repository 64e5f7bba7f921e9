"""Building mutants of an AFL++ target that is given as source (``target.build``).

A mutant is compiled without AFL++'s passes first, which is several times cheaper: that tells
whether it compiles, and whether its program is the original's or another mutant's. Only what is
left is built to be fuzzed: on the fast path (:mod:`.fast`), or by the user's own command.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import fuzztui
from fuzztui.campaign import Campaign
from fuzztui.mutants.text import TextMutant
from fuzztui.supervise.afl.build import build_environment, printed_line, telling_lines
from fuzztui.supervise.afl.execute import Mark, Outcome, execute
from fuzztui.supervise.files import read_json, replace_text
from fuzztui.supervise.first.fast import FastPath
from fuzztui.supervise.first.place import companions, settle, shared_objects
from fuzztui.supervise.first.recipe import Unclear, read_calls, recipe_of, same_steps
from fuzztui.supervise.first.room import Room
from fuzztui.supervise.first.threads import in_thread
from fuzztui.supervise.first.tree import Tree, TreeError, mutated
from fuzztui.supervise.first.twins import Twins, digest_of
from fuzztui.supervise.first.wrappers import Tools, find_tools
from fuzztui.supervise.identity import boot_id
from fuzztui.supervise.rundir import RunDir, SupervisorError
from fuzztui.wire.text import visible

__all__ = ["Build", "MutantBuilder", "directory_name"]

LEAST_LIMIT_S = 60.0
TIMES_BASELINE = 20
BASELINE_LIMIT_S = 6 * 3600.0
"""The user's own command has no limit elsewhere; one that never ends is told some day."""

NO_SOURCE = b"#error is this file compiled?\n)}] fuzztui [{(\n"
"""No compiler of any language takes it."""

FAILED_KEPT = 200
"""Logs of failed builds."""

_LABEL = "mutant-builder"
_PLAIN, _AFL = "plain-whole", "afl-whole"


@dataclass(frozen=True, slots=True)
class Build:
    """What became of a mutant.

    ``command`` is target.command with the mutant's program, () if there is none to be fuzzed;
    ``error`` tells why in the compiler's words, printable, "" where ``twin`` does: "original",
    or the id of an earlier mutant with the same linked binary. ``how``: "fast" or "whole".
    """

    command: tuple[str, ...]
    error: str
    seconds: float
    how: str
    twin: str


class _Failed(Exception):
    """A mutant that cannot be built; says why."""


class MutantBuilder:
    """Builds mutants of a campaign's target, one at a time, in ``RUN/mutants/work``."""

    def __init__(self, campaign: Campaign, home: RunDir) -> None:
        self.twins_unknown = ""
        """Why equivalent and duplicate mutants are not told; "" if they are."""
        self.slow = ""
        """Why there is no fast path; "" if there is one."""
        self.baseline_s = 0.0
        """Seconds that the unmutated target took to build."""
        self._work = home.path.absolute() / "mutants" / "work"
        self._campaign = campaign
        self._command: str = campaign.target["build"]
        self._mark = Mark(home.path, _LABEL)
        self._lock = asyncio.Lock()
        self._twins = Twins()
        self._tools: Tools | None = None
        self._fast: tuple[FastPath, FastPath] | None = None
        """Without AFL++'s passes, and with them."""
        self._rooms: dict[str, Room] = {}
        self._originals: dict[str, str] = {}
        """Digest of the unmutated program without AFL++'s passes, by room."""

    @property
    def digests(self) -> Mapping[str, str]:
        """By mutant that was compiled, that of its linked binary: to be kept over restarts."""
        return self._twins.digests

    def known(self, twins: Mapping[str, str]) -> None:
        """Take the digests of an earlier start."""
        self._twins.known(twins)

    async def prepare(self, progress: Callable[[str], None]) -> None:
        """Copy the source, build it unmutated, decide on the fast path.

        What an earlier start of the run has done is not done again. Raises
        :class:`SupervisorError` where mutants cannot be built here.
        """
        async with self._lock:
            if not self._command:
                raise SupervisorError(
                    "mutants are built by target.build, which this campaign has not: add it"
                )
            try:
                await asyncio.to_thread(self._mark.sweep)  # a compiler of an earlier start
                await self._prepare(progress)
            except OSError as e:
                raise SupervisorError(
                    f"{e.filename or self._work}: mutants cannot be built there: {e.strerror or e}"
                ) from None

    async def build(self, mutant: TextMutant, into: Path) -> Build:
        """Build a mutant; its program and what that needs are in ``into`` then.

        May be cancelled at any moment: the next build is not disturbed. Raises OSError for
        what is no fault of the mutant: a full disk.
        """
        async with self._lock:
            began = time.monotonic()
            how = "whole"
            built: list[str] = []
            twin = error = ""
            try:
                name, text = await in_thread(lambda: self._text(mutant))
                steps = self._fast[0].steps_of(name) if self._fast else []
                how = "fast" if steps else "whole"
                make = self._fast_build if steps else self._whole_build
                twin = await make(mutant, name, text, steps, into)
                if not twin:
                    built = [str(into / self._program_name), *self._campaign.target["command"][1:]]
            except (TreeError, _Failed, SupervisorError) as e:
                error = str(e)
            finally:
                if not built:
                    shutil.rmtree(into, ignore_errors=True)
            return Build(tuple(built), error, time.monotonic() - began, how, twin)

    # ------------------------------------------------------------------------ the baseline

    async def _prepare(self, progress: Callable[[str], None]) -> None:
        campaign = self._campaign
        self._fast, self._rooms, self._originals = None, {}, {}
        env = build_environment(campaign)
        tools = find_tools(self._work / "tools", env, campaign.engine["afl_path"] or "")
        self._tools = tools
        self._work.mkdir(mode=0o700, parents=True, exist_ok=True)
        await in_thread(tools.make)
        if reason := await in_thread(lambda: tools.try_ccache(self._command)):
            progress(f"ccache is not used for mutants: {reason}")
        if not await in_thread(self._resume):
            await self._begin(progress)
        if not self.slow:
            progress("mutants: only what one changes is compiled, then the program is linked")
        else:
            progress(f"mutants are built by the whole of target.build: {self.slow}")
        if self.twins_unknown:
            progress(f"equivalent mutants are not told: {self.twins_unknown}")

    def _resume(self) -> bool:
        """Whether the baseline of an earlier start is there, and goes on."""
        state = read_json(self._work / "state.json")
        if state is None or state["key"] != self._key():
            return False
        rooms = {name: self._room(name) for name in ("plain", "base")}
        if not Tree(self._work / "origin", Path()).usable():
            return False
        resumed = [room.resume() for room in rooms.values()]
        # Where whole builds were in them, one may be half done: it will be made anew.
        if not (all(resumed) or state["slow"]):
            return False
        self.baseline_s, self.slow = state["seconds"], state["slow"]
        self.twins_unknown, self._originals = state["twins_unknown"], state["originals"]
        if self.slow:
            self._rooms = {_PLAIN: rooms["plain"], _AFL: rooms["base"]}
            return True
        try:
            plain, afl = self._recipes()
        except Unclear:
            return False
        plain.learn()
        self._fast = (plain, afl)
        return plain.whole() and afl.whole()

    async def _begin(self, progress: Callable[[str], None]) -> None:
        for name in ("state.json", "fast-plain", "fast-base", _PLAIN, _AFL, "failed"):
            await in_thread(functools.partial(_remove, self._work / name))
        await self._copy_source(progress)
        base, plain = self._room("base"), self._room("plain")
        progress("building it as it is")
        outcome = await self._built(base, BASELINE_LIMIT_S)
        self.baseline_s = outcome.seconds
        if outcome.status != 0 or not self._program(base).is_file():
            words = await in_thread(lambda: self._words("baseline", outcome, base))
            raise SupervisorError(f"target.build: for mutants, in {base.tree.home}: {words}")
        # One that does not build is not kept: the user will mend it.
        told = json.dumps({"source": self._campaign.target["source"]})
        replace_text(self._work / "origin" / "of.json", told)
        progress("building it without instrumentation")
        outcome = await self._built(plain, BASELINE_LIMIT_S)
        self.twins_unknown = self.slow = ""
        if outcome.status != 0 or not self._program(plain).is_file():
            self.slow = "it cannot be built without instrumentation"
            words = await in_thread(lambda: self._words("plain", outcome, plain))
            self.twins_unknown = " ".join(f"without instrumentation {words}".split())
        else:
            self.slow = await self._try_fast(plain, base)
        if self.slow:
            self._fast, self._rooms = None, {_PLAIN: plain, _AFL: base}
            if not self.twins_unknown:
                self.twins_unknown = await self._try_plain(plain)
        await self._check_sources(progress)
        await in_thread(self._keep)

    async def _copy_source(self, progress: Callable[[str], None]) -> None:
        """Unless the run has one that builds: it goes on with the source that it began with."""
        source = Path(self._campaign.target["source"])
        without = (self._campaign.output, self._work.parents[1])
        origin = Tree(self._work / "origin", source, without)
        if read_json(origin.home / "of.json") == {"source": str(source)} and origin.usable():
            return
        if not source.is_dir():
            raise SupervisorError(f"target.source: there is no directory {source}: mutants need it")
        progress(f"copying {source}: mutants are made of the copy")
        stopped = threading.Event()
        await in_thread(lambda: origin.make(lambda: not stopped.is_set()), stopped.set)

    def _keep(self) -> None:
        """Write down what the next start need not find out again. Raises OSError."""
        state = {
            "key": self._key(),
            "seconds": self.baseline_s,
            "slow": self.slow,
            "twins_unknown": self.twins_unknown,
            "originals": self._originals,
        }
        replace_text(self._work / "state.json", json.dumps(state))

    async def _built(self, room: Room, limit: float) -> Outcome:
        """Build the original from the beginning."""
        await room.make()
        return await room.build(self._program(room), limit)

    async def _try_fast(self, plain: Room, base: Room) -> str:
        """Make the programs on the fast path; why it is not to be trusted, "" if it is."""
        try:
            fast = await in_thread(self._recipes)
        except Unclear as e:
            return str(e)
        for path, room in zip(fast, (plain, base), strict=True):
            await in_thread(path.write)
            outcome = await self._run_script(path, path.everything(), BASELINE_LIMIT_S)
            if outcome.status != 0 or not path.program.is_file():
                words = await in_thread(functools.partial(self._words, "fast", outcome, room))
                return " ".join(f"of its recorded steps, done again, one fails: {words}".split())
        # Programs that AFL++ has compiled are never the same: these are, or nothing is.
        programs = (self._program(plain), fast[0].program)
        whole, made = [await in_thread(functools.partial(digest_of, [p])) for p in programs]
        if whole != made:
            return "its recorded steps make another program than the whole command"
        await in_thread(fast[0].learn)
        self._fast = fast
        self._originals["fast"] = whole
        return ""

    async def _try_plain(self, room: Room) -> str:
        """Learn the original's digest, twice if need be; why it tells nothing, "" if it does."""
        made = set()
        for again in (True, False):
            made.add(await in_thread(lambda: self._digest(room)))
            if not room.calls:
                return "target.build does not compile with $CC and $CXX"
            if not again or "fast" in self._originals:
                break
            outcome = await self._built(room, self._limit)
            if outcome.status != 0 or not self._program(room).is_file():
                return "it cannot be built twice without instrumentation"
        if len(made) > 1:
            return "two builds of the same source are not the same program"
        self._originals[_PLAIN] = made.pop()
        return ""

    async def _check_sources(self, progress: Callable[[str], None]) -> None:
        """Raise :class:`SupervisorError` where no mutant of any source changes the program.

        Where no compiler was seen to read one of them, it is tried what comes of one that cannot
        be compiled.
        """
        tree = Tree(self._work / "origin", Path(self._campaign.target["source"]))
        files = dict.fromkeys(file for file, _ in self._campaign.mutants.get("sources", ()))
        try:
            names = [tree.name_of(file) for file in files]
        except TreeError:
            return  # it is said when mutants are made of it
        fast = self._fast[0] if self._fast else None
        if not names or any(
            fast.steps_of(name) if fast else self._rooms[_AFL].seen(name) for name in names
        ):
            return
        progress("making sure that it is compiled from the copy")
        plain, room = await self._whole_rooms()
        room = plain or room
        for name in names:
            outcome = await room.mutant(name, NO_SOURCE, self._program(room), self._limit)
            if outcome.status != 0 or not self._program(room).is_file():
                return
            if plain and await in_thread(lambda: self._digest(room)) != self._originals[_PLAIN]:
                return
        (self._work / "state.json").unlink(missing_ok=True)  # else the next start believes it
        raise SupervisorError(
            f"target.build does not compile {visible(', '.join(files))} from $SOURCE, where "
            "mutants are put: no mutant changes the program. Let target.build name the file as "
            f"$SOURCE/{visible(names[0])}, or cd to $SOURCE"
        )

    def _recipes(self) -> tuple[FastPath, FastPath]:
        """Raises :class:`Unclear`, OSError."""
        assert self._tools is not None
        rooms = self._room("plain"), self._room("base")
        plain, afl = [
            recipe_of(read_calls(room.records), self._program(room), room.tree.home)
            for room in rooms
        ]
        if not same_steps(plain, rooms[0].tree.home, afl, rooms[1].tree.home):
            raise Unclear("with and without instrumentation it is built in different steps")
        paths = [self._work / f"fast-{name}" for name in ("plain", "base")]
        return (
            FastPath(paths[0], plain, self._tools, rooms[0].tree.source, plain=True),
            FastPath(paths[1], afl, self._tools, rooms[1].tree.source, plain=False),
        )

    async def _whole_rooms(self) -> tuple[Room | None, Room]:
        """Where the whole command runs: without AFL++'s passes, if that is of use, and with.

        Where there is a fast path, its own baselines are left alone: these are made when the
        first mutant needs them.
        """
        if _AFL not in self._rooms:
            room = self._rooms[_AFL] = self._room(_AFL)
            await in_thread(room.resume)
        if self.twins_unknown:
            return None, self._rooms[_AFL]
        if _PLAIN not in self._rooms:
            room = self._room(_PLAIN)
            if _PLAIN in self._originals:
                await in_thread(room.resume)
            else:
                outcome = await self._built(room, self._limit)
                if outcome.status != 0 or not self._program(room).is_file():
                    words = "without instrumentation the whole of it cannot be built again"
                    self.twins_unknown = words
                    return None, self._rooms[_AFL]
                self.twins_unknown = await self._try_plain(room)
                await in_thread(self._keep)
                if self.twins_unknown:
                    return None, self._rooms[_AFL]
            self._rooms[_PLAIN] = room
        return self._rooms[_PLAIN], self._rooms[_AFL]

    # ------------------------------------------------------------------------- one mutant

    async def _fast_build(
        self, mutant: TextMutant, name: str, text: bytes, steps: list[int], into: Path
    ) -> str:
        """Returns the twin. Raises :class:`_Failed`, OSError."""
        assert self._fast is not None
        digest = ""
        for path, room in zip(self._fast, (self._room("plain"), self._room("base")), strict=True):
            with room.tree.holding(name, text):
                outcome = await self._run_script(path, path.changed(steps), self._limit)
            await self._check(mutant, outcome, path.program, room)
            if not digest:
                digest = await in_thread(functools.partial(digest_of, [path.program]))
                if twin := self._twin(mutant, digest, "fast"):
                    return twin
        await in_thread(lambda: self._settle(path.program, room, into))
        self._twins.add(mutant.id, digest)
        return ""

    async def _whole_build(
        self, mutant: TextMutant, name: str, text: bytes, steps: list[int], into: Path
    ) -> str:
        """Returns the twin. Raises :class:`_Failed`, OSError, :class:`SupervisorError`."""
        digest = ""
        plain, room = await self._whole_rooms()
        if plain:
            outcome = await plain.mutant(name, text, self._program(plain), self._limit)
            await self._check(mutant, outcome, self._program(plain), plain)
            digest = await in_thread(lambda: self._digest(plain))
            if twin := self._twin(mutant, digest, _PLAIN):
                return twin
        outcome = await room.mutant(name, text, self._program(room), self._limit)
        await self._check(mutant, outcome, self._program(room), room)
        await in_thread(lambda: self._settle(self._program(room), room, into))
        if digest:
            self._twins.add(mutant.id, digest)
        return ""

    def _twin(self, mutant: TextMutant, digest: str, kind: str) -> str:
        """Whom it is the twin of, which is noted then; "" for nobody."""
        twin = self._twins.of(mutant.id, digest, self._originals[kind])
        if twin:
            self._twins.add(mutant.id, digest)
        return twin

    async def _check(self, mutant: TextMutant, outcome: Outcome, program: Path, room: Room) -> None:
        """Raise :class:`_Failed` where a build made no program."""
        if outcome.status != 0 or not program.is_file():
            name = directory_name(mutant.id)
            raise _Failed(await in_thread(lambda: self._words(name, outcome, room)))

    async def _run_script(self, fast: FastPath, script: str, limit: float) -> Outcome:
        path = fast.home / "run.sh"
        path.write_bytes(os.fsencode(f"set -e\n{script}\n"))
        fast.program.unlink(missing_ok=True)
        return await execute(["sh", str(path)], self._mark, cwd=fast.home, limit=limit, stdout=True)

    def _text(self, mutant: TextMutant) -> tuple[str, bytes]:
        source = self._campaign.target["source"]
        tree = Tree(self._work / "origin", Path(source))
        name = tree.name_of(mutant.file)
        return name, mutated(tree.text(name), mutant)

    def _settle(self, program: Path, room: Room, into: Path) -> None:
        """Put a program, and what it needs when it runs, to where they stay. Raises OSError."""
        _remove(into)
        into.mkdir(mode=0o700, parents=True)
        without = {self._program(room)}
        if self._campaign.target["cmplog"] not in ("", "0"):
            without.add(self._inside(room, self._campaign.target["cmplog"]))
        beside = [*companions(room.tree.build, without), *self._libraries(room.tree.source)]
        settle(program, self._program_name, room.tree.home, beside, into)

    def _digest(self, room: Room) -> str:
        """Of a whole build: the program and the libraries that it may be found in."""
        made = [*shared_objects(room.tree.build), *self._libraries(room.tree.source)]
        return digest_of([self._program(room), *made])

    def _libraries(self, source: Path) -> list[Path]:
        """Shared objects that a build has made in its source."""
        origin = self._work / "origin" / "source"
        found = shared_objects(source)
        return [path for path in found if not os.path.lexists(origin / path.relative_to(source))]

    def _words(self, name: str, outcome: Outcome, room: Room) -> str:
        """Why a build made no program, and where all of its output is. Raises OSError."""
        directory = self._work / "failed"
        directory.mkdir(mode=0o700, exist_ok=True)
        log = directory / f"{name}.log"
        log.write_bytes(outcome.output)
        logs = sorted(directory.iterdir(), key=lambda path: path.lstat().st_mtime_ns)
        for old in logs[:-FAILED_KEPT]:
            old.unlink(missing_ok=True)
        if outcome.status is None:
            words = f"it took more than {outcome.seconds:.0f} s"
        elif outcome.status:
            words = f"it failed with exit status {outcome.status}"
        else:
            words = f"it made no {self._program_name.name}"
        printed = outcome.output.decode(errors="replace").splitlines()
        private = f"{room.tree.source}{os.sep}"
        lines = [printed_line(line.replace(private, "")) for line in printed]
        said = "".join(f"\n  {line}" for line in telling_lines(filter(None, lines)))
        return f"{words}:{said}\nall of its output is in {log}"

    # ------------------------------------------------------------------------------ places

    def _room(self, name: str) -> Room:
        """``plain`` and ``base``: of the baselines; those of mutants by the whole command."""
        assert self._tools is not None
        tree = Tree(self._work / name, self._work / "origin" / "source")
        return Room(tree, self._tools, self._command, self._mark, plain=name in ("plain", _PLAIN))

    @property
    def _limit(self) -> float:
        return max(LEAST_LIMIT_S, TIMES_BASELINE * self.baseline_s)

    @property
    def _program_name(self) -> Path:
        """``build/prog``, or ``source/prog``: where a room has the campaign's program."""
        return self._place(self._campaign.target["command"][0])

    def _program(self, room: Room) -> Path:
        return room.tree.home / self._program_name

    def _inside(self, room: Room, program: str) -> Path:
        return room.tree.home / self._place(program)

    def _place(self, program: str) -> Path:
        bases = {
            "build": self._campaign.build_directory,
            "source": self._campaign.target["source"],
        }
        for place, base in bases.items():
            inside = os.path.relpath(program, base)
            if not inside.startswith(os.pardir):
                return Path(place, inside)
        raise SupervisorError(
            f"target.command: {program} is neither made in the build's directory nor in "
            "target.source: mutants of it cannot be built in private"
        )

    def _key(self) -> str:
        """Changes with all that a baseline depends on, but for the source: that is ours."""
        target, engine = self._campaign.target, self._campaign.engine
        told = [fuzztui.__version__, str(self._work), boot_id(), self._command]
        told += [target["source"], target["command"][0], str(engine["afl_path"])]
        return hashlib.sha256("\0".join(told).encode(errors="surrogateescape")).hexdigest()


def directory_name(mutant: str) -> str:
    """What the files of a mutant are called: its id may hold anything."""
    return hashlib.sha256(mutant.encode(errors="backslashreplace")).hexdigest()[:24]


def _remove(path: Path) -> None:
    """Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
