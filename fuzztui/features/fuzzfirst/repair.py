"""Repair near misses of a program: put the operands of its comparisons into them.

A near miss covers something new in a mutant, and fails a check of the target, such as a checksum.
The target is built once more with AFL++'s CmpLog, whose map has the operands of each comparison,
and runs the near miss: where an operand is in the input, the other one takes its place. (RedQueen,
Aschermann et al., NDSS 2019; T-Fuzz, Peng et al. 2018, solves the path instead.)
"""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import random
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fuzztui.engines.inputs.operands import Operands, edits_of_bytes
from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.failed_builds import build_target
from fuzztui.features.fuzzfirst.prune import REPAIR, Input, write_whole
from fuzztui.features.fuzzfirst.showmap import read_input
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CMPLOG: Final = "cmplog"
"""The directory of the build tree."""

CHILDREN: Final = 100
"""Most inputs that are made of one near miss."""

LARGEST: Final = 1 << 16
"""Bytes above which a near miss is not repaired: each operand is searched for in all of it."""

_MAP_BYTES: Final = 65536 * (8 + 32 * 80)
"""At least the size of the CmpLog map in all versions of AFL++ until now: 65,536 comparisons with
up to 32 pairs of operands each."""
_SECOND: Final = (1, 4)
"""Words from a first operand to the second one: AFL++ 4.0x, and later versions. Wrong pairs do no
harm: they are tried if the input has one of their values."""
_FEW: Final = 256
"""Values below this are found soon without help."""
_MOST_PAIRS: Final = 1024


class NearMissRepair:
    """Repairs near misses of the program ``name`` (its path in a build tree), one at a time.

    ``origin``: the private copy of the source. The program is built at the first near miss, within
    ``limit`` seconds.
    """

    def __init__(
        self, campaign: Campaign, run_dir: RunDir, origin: BuildTree, name: Path, *, limit: float
    ) -> None:
        self._limit = limit
        work = run_dir.mutants.absolute() / "work"
        self._campaign, self._into = campaign, work / "repaired"
        self._tree = BuildTree(work / CMPLOG, origin.source)
        self._file = self._tree.home / name
        self._mark = ProcessMark(run_dir.path, "near-misses")
        self._program: TargetProgram | None = None
        self._failure = ""

    async def __call__(
        self, near: Iterable[Input], take: Callable[[Input, list[Input]], Awaitable[None]]
    ) -> None:
        """Call ``take`` with each near miss and the inputs made of it, which are removed then.

        Raises :class:`SupervisorError`; only once if the program cannot be built.
        """
        waiting = [] if self._failure else [*near]
        if not waiting:
            return
        try:
            if self._program is None:
                self._program = await self._built()
            with _cmplog_map() as (number, words):
                for one in waiting:
                    try:
                        await take(one, await self._repaired(self._program, one, number, words))
                    finally:
                        await in_thread(partial(shutil.rmtree, self._into, ignore_errors=True))
        except OSError as e:
            raise SupervisorError(f"CmpLog: {e.strerror or e}") from None

    async def _built(self) -> TargetProgram:
        if not (self._tree.usable() and self._file.exists()):
            await in_thread(self._tree.make)
            self._tree.begin()  # an interrupted build is made again
            self._failure = await build_target(
                self._campaign, self._mark, self._tree, self._file,
                what="the build with AFL_LLVM_CMPLOG=1", env={"AFL_LLVM_CMPLOG": "1"},
                limit=self._limit,
            )  # fmt: skip
            if self._failure:
                raise SupervisorError(f"near misses are not repaired: {self._failure}")
            self._tree.end()
        command = [str(self._file), *self._campaign.target["command"][1:]]
        target = {**self._campaign.target, "command": command}
        return TargetProgram.of(replace(self._campaign, target=target))

    async def _repaired(
        self, program: TargetProgram, one: Input, number: int, words: NDArray[np.uint64]
    ) -> list[Input]:
        """Return the inputs made of a near miss. ``number``, ``words``: of an empty CmpLog map."""
        data = await asyncio.to_thread(read_input, one.path)
        if data is None or len(data) > LARGEST:
            return []
        # AFL++'s name for the variable that says that a fuzzer runs the program.
        env = {"__AFL_CMPLOG_SHM_ID": str(number), "___AFL_EINS_ZWEI_POLIZEI___": "1"}
        memory = program.memory and program.memory + _MAP_BYTES
        subject = replace(program, env={**program.env, **env}, memory=memory)
        with open_sandbox(subject, data, self._mark) as place:
            await place.run(program.hang_limit)
        # In threads that are waited for: the map must not be detached while it is read.
        pairs = await in_thread(partial(_pairs, words))
        return await in_thread(partial(self._made, one, data, pairs))

    def _made(self, one: Input, data: bytes, pairs: list[Operands]) -> list[Input]:
        made: dict[str, Input] = {}
        edits = edits_of_bytes(data, pairs, random.Random(one.digest), text=False)
        for edit in itertools.islice(edits, CHILDREN):
            digest = sha256(edit.data).hexdigest()
            if digest not in made:
                write_whole(self._into / digest, edit.data)
                made[digest] = Input(self._into / digest, one.origin, digest, one.parent, REPAIR)
        return list(made.values())


def _pairs(words: NDArray[np.uint64]) -> list[Operands]:
    """Return pairs of operands in a CmpLog map, each once, without those of small values.

    Empties the map.
    """
    import numpy as np  # of the extra "first": hosts run campaigns without it

    pairs: dict[tuple[int, int], None] = {}
    first = np.flatnonzero(words[: -max(_SECOND)])
    for gap in _SECOND:
        one, other = words[first], words[first + gap]
        at = np.flatnonzero((one != other) & (np.maximum(one, other) >= _FEW))[: 16 * _MOST_PAIRS]
        for pair in zip(one[at].tolist(), other[at].tolist(), strict=True):
            pairs[pair] = None
    words[first] = 0
    words[-max(_SECOND) :] = 0
    found = itertools.islice(pairs, 2 * _MOST_PAIRS)
    return [Operands(one, other, "equal", at) for at, (one, other) in enumerate(found)]


@contextmanager
def _cmplog_map() -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Context manager: an empty CmpLog map in shared memory, as id and words. Raises OSError."""
    import numpy as np

    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    libc.shmdt.argtypes = [ctypes.c_void_p]
    libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
    number = libc.shmget(_PRIVATE, _MAP_BYTES, _CREATE)
    at = None if number < 0 else libc.shmat(number, None, 0)
    if number >= 0:
        libc.shmctl(number, _REMOVE, None)  # when the last process detaches it, also if killed
    if at is None or at == _FAILED:
        raise OSError(ctypes.get_errno(), "there is no shared memory for it")
    try:
        count = _MAP_BYTES // 8
        yield number, np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(at))
    finally:
        libc.shmdt(at)


_PRIVATE, _CREATE, _REMOVE = 0, 0o1600, 0
"""IPC_PRIVATE; IPC_CREAT, for this user only; IPC_RMID."""
_FAILED = ctypes.c_void_p(-1).value
