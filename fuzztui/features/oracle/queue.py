"""Judge new entries of the queues with the program oracle, in a helper process.

``python -P -m fuzztui.features.oracle.queue RUN`` reads ``RUN/out/*/queue`` once a second and runs
the commands of ``[oracle]`` on each new content once. Bugs are saved in ``out/oracle`` in the
format of an in-process engine: ``crashes/`` and ``events.jsonl``. This passive instance has no
``queue/``, so that no instance imports from it.

The process runs at low priority, prints JSON lines (:mod:`fuzztui.run.process.helper`) and exits
with its parent. SIGTERM: judge the entries that are left and exit; a second SIGTERM: exit at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.directory.events import EventLog, read_reported
from fuzztui.engines.directory.store import Store
from fuzztui.engines.execute.failures import Failure
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.features.oracle.command import OracleReply
from fuzztui.features.oracle.judge import OracleFinding, OracleJudge
from fuzztui.kernel.base.files import open_regular, read_regular
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.wire.finding_kinds import CRASHES
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.observe.queues import Found, Queues
from fuzztui.run.observe.relay import end_torn_line
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.helper import CANNOT, DeathJournal, begin, say
from fuzztui.run.triage.examine import printable
from fuzztui.run.triage.sandbox import remove_sandboxes

_KEY: Final = struct.Struct("<Q")
_MAX_SIZE: Final = 64 << 20

EVERY_S: Final = 1.0
AT_ONCE: Final = 1000
"""Most entries of one queue in one pass over all queues."""
AGAIN_S: Final = 5.0
"""Seconds after which commands that could not be run are tried again."""
NICE: Final = 10
JUDGE_S: Final = 10.0
"""Seconds of CPU time for judging the output of one entry: a pattern may search endlessly."""
MAX_INPUT: Final = 1 << 20
MAX_CAUSES: Final = 1000
"""Maximum number of signatures, so that an oracle that is always different cannot fill the disk."""


class SeenInputs:
    """A set of 64-bit keys in a file, 8 bytes each.

    The first key is that of ``request``: if the request has changed, the set is empty. Inputs whose
    keys are lost at the end of the file are judged again by the next process.
    """

    def __init__(self, file: Path, request: str) -> None:
        """Open or create the file. Raises OSError."""
        head = blake2b(request.encode(errors="surrogateescape"), digest_size=_KEY.size).digest()
        self._fd = open_regular(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        data = os.pread(self._fd, _MAX_SIZE, 0)
        whole = len(data) - len(data) % _KEY.size
        if data[: _KEY.size] != head:
            os.ftruncate(self._fd, 0)
            whole = 0
        elif whole < len(data):
            os.ftruncate(self._fd, whole)
        self._keys = {key for (key,) in _KEY.iter_unpack(data[_KEY.size : whole])}
        self._unwritten = b"" if whole else head

    def __contains__(self, key: int) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: int) -> None:
        """Add a key. If the disk is full, the key is written together with a later one."""
        self._keys.add(key)
        self._unwritten += _KEY.pack(key)
        try:
            # After a partial write the rest is written first the next time.
            self._unwritten = self._unwritten[os.write(self._fd, self._unwritten) :]
        except OSError:
            return


class OracleQueue:
    """The entries of a run's queues that wait for the oracle, and its findings."""

    def __init__(
        self, run_dir: RunDir, judge: OracleJudge, say: Callable[[str, object], None]
    ) -> None:
        """Continue where an earlier process has ended. Raises OSError."""
        self._run_dir, self._judge, self._say = run_dir, judge, say
        self.directory = run_dir.instance(ORACLE)
        (self.directory / CRASHES).mkdir(mode=0o700, parents=True, exist_ok=True)
        events = self.directory / "events.jsonl"
        end_torn_line(events)
        self._events = EventLog(events, ORACLE)
        store = Store(self.directory, self._events, self._wait)
        store.tidy()
        self.findings = Findings(store, self._events, None, read_reported(events))
        self._seen = SeenInputs(run_dir.supervisor / "oracle.looked", judge.request)
        self._journal = DeathJournal(run_dir.supervisor, "oracle", JUDGE_S)
        self._rejected = self._journal.rejected
        self._queues = Queues(run_dir.out, MAX_INPUT)
        self._pending: dict[int, tuple[str, str]] = {}
        """Instance and name of waiting entries by content key; the first is next."""
        self.last = self.stopped = False
        """``last``: the engines have ended; ``stopped``: the supervisor no longer waits."""
        if n := len(self._rejected):
            say("problem", f"oracle: entries that crashed the oracle process are skipped: {n}")

    @property
    def pending(self) -> int:
        """Number of entries that are known and not judged yet."""
        return len(self._pending)

    def gather(self) -> None:
        """Collect the entries that have not been judged."""
        self._events.flush()  # events that a full disk may have delayed
        for queue in self._queues.look():
            for found in queue.entries(AT_ONCE, last=self.last):
                key = key_of(found.data)
                if key not in self._seen and key not in self._rejected:
                    self._pending[key] = found.instance, found.name

    async def step(self) -> None:
        """Judge one entry. Raises :class:`SupervisorError`, OSError if that must wait."""
        key, (instance, name) = next(iter(self._pending.items()))
        try:
            data = read_regular(self._run_dir.instance(instance) / "queue" / name, MAX_INPUT)
        except OSError:
            data = b""
        if key_of(data) == key:  # otherwise trimmed or renumbered: it is collected again
            with self._journal.at(key):
                findings = await self._judge.findings(data)
                for finding, answers in findings:
                    self._found(Found(instance, name, data), finding, answers)
            self._seen.add(key)
        del self._pending[key]

    def finish(self) -> None:
        """Report the final counts."""
        self.findings.recount(final=True)

    def _found(self, entry: Found, finding: OracleFinding, answers: Sequence[OracleReply]) -> None:
        failure = Failure(finding.category, finding.signature, finding.title, "", finding.before)
        if self.findings.count_known(failure):
            self.findings.recount()
            return
        if len(self.findings) >= MAX_CAUSES:
            text = f"oracle: more than {MAX_CAUSES} signatures: further ones are not kept"
            self._say("problem", text)
            return
        tail = _tail(entry)
        file = self.directory / self.findings.file_for(failure, tail)

        def describe() -> Description:
            detail = self._judge.report(answers, file)
            return Description(finding.title, detail, printable(entry.data))

        self.findings.save(failure, entry.data, tail, describe)

    def _wait(self, seconds: float) -> None:
        """Called while the disk is full."""
        if self.stopped or not self._run_dir.out.is_dir():
            raise Stopping
        time.sleep(seconds)


def key_of(data: bytes) -> int:
    """Return the key of an input: 64 bits of a hash."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _tail(entry: Found) -> str:
    """The part of the finding's file name that names the instance and the entry."""
    name = parse_name(entry.name)
    source = [f"sync:{entry.instance}", f"src:{name.id:06d}"] if name.id >= 0 else []
    return ",".join([*source, f"time:{name.time_ms}", "execs:0", "op:oracle"])


async def _run(queue: OracleQueue, parent: int) -> None:
    reported = ""
    while os.getppid() == parent and queue.directory.parent.is_dir():
        last = queue.last
        queue.gather()
        until = time.monotonic() + EVERY_S
        pause = EVERY_S
        while queue.pending and time.monotonic() < until:
            say("figures", {"pending": queue.pending})
            pause = 0.0
            try:
                await queue.step()
            except (SupervisorError, OSError) as e:
                if reported != str(e):
                    reported = str(e)
                    say(
                        "problem", f"oracle: {reported}; entries wait, tried again in {AGAIN_S:g} s"
                    )
                pause = AGAIN_S
                break
            reported = ""
        say("figures", {"pending": queue.pending})
        if last and (not queue.pending or pause == AGAIN_S):
            break
        await asyncio.sleep(pause)
    queue.finish()


async def _main(run_dir: RunDir, judge: OracleJudge) -> None:
    parent = os.getppid()
    queue = OracleQueue(run_dir, judge, say)
    job = asyncio.ensure_future(_run(queue, parent))

    def end() -> None:
        queue.stopped = queue.last
        queue.last = True
        if queue.stopped:
            job.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    with contextlib.suppress(asyncio.CancelledError, Stopping):
        await job


def main(arguments: Sequence[str]) -> int:
    """Run until SIGTERM, or until the parent or the run directory is gone. Returns the status."""
    run_dir = RunDir(Path(arguments[0]))
    begin(NICE)
    mark = ProcessMark(run_dir.path, "oracle-asks")
    mark.kill_leftovers()
    remove_sandboxes(run_dir.path)
    try:
        campaign = load(run_dir.campaign).campaign
        judge = OracleJudge.of(campaign, mark)
    except (CampaignError, SupervisorError) as e:
        say("problem", f"oracle: {e}")
        return CANNOT
    asyncio.run(_main(run_dir, judge))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
