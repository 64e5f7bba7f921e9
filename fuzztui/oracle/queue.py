"""Asking the oracle about what the queues get, in a separate process.

``python -P -m fuzztui.oracle.queue RUN`` looks into ``RUN/out/*/queue`` once a second and
runs each new entry, each content once, through the commands of ``[oracle]``, one after the other.
What is a bug goes into ``out/oracle`` as an engine of ours would write it: ``crashes/`` and
``events.jsonl``. No ``queue/`` is there, so nobody imports from it.

It has a low claim to the processor, prints JSON lines (:mod:`fuzztui.process.helper`) and ends
with its parent. SIGTERM: look at what there is and end; once more: end now.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fuzztui.base.files import read_regular
from fuzztui.campaign import CampaignError, load
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.engines.base.errors import Stopping
from fuzztui.engines.directory.events import EventLog, read_told
from fuzztui.engines.directory.store import CRASHES, Store
from fuzztui.engines.findings.failures import Failure
from fuzztui.engines.findings.findings import Description, Findings
from fuzztui.model.oracle import ORACLE
from fuzztui.observe.afl_names import parse_name
from fuzztui.observe.queues import Found, Queues
from fuzztui.observe.relay import end_torn_line
from fuzztui.oracle.command import OracleReply
from fuzztui.oracle.judge import OracleFinding, OracleJudge
from fuzztui.oracle.seen_inputs import Looked
from fuzztui.process.death_journal import DeathJournal
from fuzztui.process.execute import ProcessMark
from fuzztui.process.helper import CANNOT
from fuzztui.triage.examine import printable
from fuzztui.triage.sandbox import sweep_benches

__all__ = ["OracleQueue"]

EVERY_S: Final = 1.0
AT_ONCE: Final = 1000
"""Entries of one queue between two looks at all of them."""
AGAIN_S: Final = 5.0
"""After so long it is tried again to run what could not be run."""
NICE: Final = 10
JUDGE_S: Final = 10.0
"""Of the processor's time, for what one entry makes commands print: a pattern may have no end."""
MAX_INPUT: Final = 1 << 20
MAX_CAUSES: Final = 1000
"""Where each input is its own cause, somebody must be told that; the disk is not to be filled."""


class OracleQueue:
    """What one run's queues hold, and what was made of it."""

    def __init__(
        self, run_dir: RunDir, judge: OracleJudge, say: Callable[[str, object], None]
    ) -> None:
        """Goes on where one before it has ended. Raises OSError."""
        self._run_dir, self._judge, self._say = run_dir, judge, say
        self.directory = run_dir.instance(ORACLE)
        (self.directory / CRASHES).mkdir(mode=0o700, parents=True, exist_ok=True)
        events = self.directory / "events.jsonl"
        end_torn_line(events)
        self._events = EventLog(events, ORACLE)
        store = Store(self.directory, self._events, self._wait)
        store.tidy()
        self.findings = Findings(store, self._events, None, read_told(events))
        self._looked = Looked(run_dir.supervisor / "oracle.looked", judge.question)
        self._journal = DeathJournal(run_dir.supervisor, "oracle", JUDGE_S)
        self._refused = self._journal.refused
        self._queues = Queues(run_dir.out, MAX_INPUT)
        self._waiting: dict[int, tuple[str, str]] = {}
        """Instances and names, by what is in them; the first is next."""
        self.last = self.stopped = False
        """Nobody writes any more; and nobody waits for us."""
        if n := len(self._refused):
            say("problem", f"oracle: entries that it did not survive are left out: {n}")

    @property
    def pending(self) -> int:
        """How many entries are known that it has not looked at."""
        return len(self._waiting)

    def gather(self) -> None:
        """See what there is that it has not looked at."""
        self._events.flush()  # what a full disk may have held up
        for queue in self._queues.look():
            for found in queue.entries(AT_ONCE, last=self.last):
                key = key_of(found.data)
                if key not in self._looked and key not in self._refused:
                    self._waiting[key] = found.instance, found.name

    async def step(self) -> None:
        """Look at one of those. Raises :class:`SupervisorError`, OSError: it has to wait."""
        key, (instance, name) = next(iter(self._waiting.items()))
        try:
            data = read_regular(self._run_dir.instance(instance) / "queue" / name, MAX_INPUT)
        except OSError:
            data = b""
        if key_of(data) == key:  # else trimmed, or renumbered: it is met again
            with self._journal.at(key):
                verdicts = await self._judge.verdicts(data)
                for verdict, answers in verdicts:
                    self._found(Found(instance, name, data), verdict, answers)
            self._looked.add(key)
        del self._waiting[key]

    def finish(self) -> None:
        """Tell the counts as they are at the end."""
        self.findings.recount(final=True)

    def _found(self, entry: Found, verdict: OracleFinding, answers: Sequence[OracleReply]) -> None:
        failure = Failure(verdict.category, verdict.signature, verdict.title, "", verdict.before)
        if self.findings.knows(failure):
            self.findings.recount()
            return
        if len(self.findings) >= MAX_CAUSES:
            self._say("problem", f"oracle: more than {MAX_CAUSES} causes: others are not kept")
            return
        tail = _tail(entry)
        file = self.directory / self.findings.file_for(failure, tail)

        def describe() -> Description:
            detail = self._judge.report(answers, file)
            return Description(verdict.title, detail, printable(entry.data))

        self.findings.save(failure, entry.data, tail, describe)

    def _wait(self, seconds: float) -> None:
        """While the disk is full."""
        if self.stopped or not self._run_dir.out.is_dir():
            raise Stopping
        time.sleep(seconds)


def key_of(data: bytes) -> int:
    """What an input is known by: 64 bits of a hash."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def _tail(entry: Found) -> str:
    """What follows in the finding's name: which entry of whose queue it is."""
    name = parse_name(entry.name)
    source = [f"sync:{entry.instance}", f"src:{name.id:06d}"] if name.id >= 0 else []
    return ",".join([*source, f"time:{name.time_ms}", "execs:0", "op:oracle"])


async def _run(look: OracleQueue, parent: int, say: Callable[[str, object], None]) -> None:
    told = ""
    while os.getppid() == parent and look.directory.parent.is_dir():
        last = look.last
        look.gather()
        until = time.monotonic() + EVERY_S
        pause = EVERY_S
        while look.pending and time.monotonic() < until:
            say("figures", {"pending": look.pending})
            pause = 0.0
            try:
                await look.step()
            except (SupervisorError, OSError) as e:
                if told != str(e):
                    told = str(e)
                    say("problem", f"oracle: {told}: entries wait until that can be done")
                pause = AGAIN_S
                break
            told = ""
        say("figures", {"pending": look.pending})
        if last and (not look.pending or pause == AGAIN_S):
            break
        await asyncio.sleep(pause)
    look.finish()


async def _look(run_dir: RunDir, judge: OracleJudge, say: Callable[[str, object], None]) -> None:
    parent = os.getppid()
    look = OracleQueue(run_dir, judge, say)
    job = asyncio.ensure_future(_run(look, parent, say))

    def end() -> None:
        look.stopped = look.last
        look.last = True
        if look.stopped:
            job.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    with contextlib.suppress(asyncio.CancelledError, Stopping):
        await job


def main(arguments: Sequence[str]) -> int:
    """Runs until it is told to end, or its parent is gone, or the run is."""
    run_dir = RunDir(Path(arguments[0]))
    with contextlib.suppress(OSError, ValueError):
        os.nice(NICE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def say(word: str, value: object) -> None:
        print(json.dumps({word: value}), flush=True)

    mark = ProcessMark(run_dir.path, "oracle-asks")
    mark.kill_leftovers()
    sweep_benches(run_dir.path)
    try:
        campaign = load(run_dir.campaign).campaign
        judge = OracleJudge.of(campaign, mark)
    except (CampaignError, SupervisorError) as e:
        say("problem", f"oracle: {e}")
        return CANNOT
    asyncio.run(_look(run_dir, judge, say))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
