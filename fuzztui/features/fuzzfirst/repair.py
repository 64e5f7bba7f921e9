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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from fuzztui.engines.inputs.operands import Operands, edits_of_bytes
from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.prune import Input, write_whole
from fuzztui.features.fuzzfirst.showmap import read_input
from fuzztui.features.fuzzfirst.threads import in_thread
from fuzztui.run.afl.build import build_environment
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessMark, execute
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHILDREN: Final = 100
"""Most inputs that are made of one near miss."""

_MAP_BYTES: Final = 65536 * (8 + 32 * 80)
"""At least the size of the CmpLog map in all versions of AFL++ until now: 65,536 comparisons with
up to 32 pairs of operands each."""
_SECOND: Final = (1, 4)
"""Words from a first operand to the second one: AFL++ 4.0x, and later versions. Wrong pairs do no
harm: they are tried if the input has one of their values."""
_FEW: Final = 256
"""Values below this are found soon without help."""
_MOST_PAIRS: Final = 4096


class NearMissRepair:
    """Makes inputs of near misses. Call :meth:`prepare` first.

    ``origin``: the private copy of the source. ``name``: the program's path in a build tree.
    """

    def __init__(self, campaign: Campaign, run_dir: RunDir, origin: BuildTree, name: Path) -> None:
        self._campaign, self._run_dir = campaign, run_dir
        self._tree = BuildTree(run_dir.mutants.absolute() / "work" / "cmplog", origin.source)
        self._file = self._tree.home / name
        self._mark = ProcessMark(run_dir.path, "near-misses")
        self._program: TargetProgram | None = None

    async def prepare(self, limit: float) -> str:
        """Build the program, unless an earlier start has. Returns why that failed; "": it is there.

        ``limit``: seconds. Raises OSError, :class:`SupervisorError`.
        """
        if not (self._tree.usable() and self._file.exists()):
            await in_thread(self._tree.make)
            env = build_environment(self._campaign)
            env |= {"AFL_LLVM_CMPLOG": "1", "SOURCE": str(self._tree.source)}
            command = ["sh", "-eu", "-c", self._campaign.target["build"]]
            outcome = await execute(
                command, self._mark, cwd=self._tree.build, limit=limit, env=env, stdout=True
            )
            if outcome.status != 0 or not self._file.exists():
                return f"target.build with AFL_LLVM_CMPLOG=1 ends with status {outcome.status}"
            self._tree.end()
        command = [str(self._file), *self._campaign.target["command"][1:]]
        target = {**self._campaign.target, "command": command}
        self._program = TargetProgram.of(replace(self._campaign, target=target))
        return ""

    async def repaired(self, near: Sequence[Input], into: Path) -> list[Input]:
        """Return the inputs made of near misses, as files in ``into``. Raises SupervisorError."""
        made: dict[str, Input] = {}
        if self._program is None:
            return []
        for one in near:
            if (data := await asyncio.to_thread(read_input, one.path)) is None:
                continue
            pairs = await self._operands(self._program, data)
            edits = edits_of_bytes(data, pairs, random.Random(one.digest), text=False)
            for edit in itertools.islice(edits, CHILDREN):
                digest = sha256(edit.data).hexdigest()
                if digest not in made:
                    path = into / digest
                    await asyncio.to_thread(write_whole, path, edit.data)
                    made[digest] = Input(path, one.origin, digest, one.parent, "repair")
        return list(made.values())

    async def _operands(self, program: TargetProgram, data: bytes) -> list[Operands]:
        """Return the operands of the comparisons that the program makes with an input."""
        try:
            with _cmplog_map() as (number, words):
                # AFL++'s name for the variable that says that a fuzzer runs the program.
                env = {"__AFL_CMPLOG_SHM_ID": str(number), "___AFL_EINS_ZWEI_POLIZEI___": "1"}
                subject = replace(program, env={**program.env, **env}, memory=0)
                with open_sandbox(subject, data, self._mark) as place:
                    await place.run(program.hang_limit)
                return await asyncio.to_thread(_pairs, words)
        except OSError as e:
            raise SupervisorError(f"CmpLog: {e.strerror or e}") from None


def _pairs(words: NDArray[np.uint64]) -> list[Operands]:
    """Return the pairs of operands in a CmpLog map, each once, without those of small values."""
    pairs: dict[tuple[int, int], None] = {}
    first = np.flatnonzero(words[: -max(_SECOND)])
    for gap in _SECOND:
        for one, other in zip(words[first].tolist(), words[first + gap].tolist(), strict=True):
            if one != other and max(one, other) >= _FEW:
                pairs[one, other] = None
    found = itertools.islice(pairs, _MOST_PAIRS)
    return [Operands(one, other, "equal", at) for at, (one, other) in enumerate(found)]


@contextmanager
def _cmplog_map() -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Context manager: an empty CmpLog map in shared memory, as id and words. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    libc.shmdt.argtypes = [ctypes.c_void_p]
    libc.shmget.argtypes = [ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
    number = libc.shmget(_PRIVATE, _MAP_BYTES, _CREATE)
    at = None if number < 0 else libc.shmat(number, None, 0)
    if number >= 0:
        libc.shmctl(number, _REMOVE, None)  # once nobody has it attached, also if this is killed
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
