"""The real afl-fuzz, steered."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from homes import AFL_ENV, compiled
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.wire.codec import decode_event
from fuzztui.kernel.wire.commands import Command, PromoteEntry, SkipEntry
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected, EntryDescribed, Message
from fuzztui.run.instances.add_seed import add_seed
from fuzztui.run.process.library import steering_library
from fuzztui.run.supervise.command_router import append

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("afl-fuzz"), reason="no afl-fuzz"),
]

TARGET = """
#include <string.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
int main(void) {
  __AFL_INIT();
  unsigned char *b = __AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(10000)) {
    int n = __AFL_FUZZ_TESTCASE_LEN;
    volatile int x = 0;
    for (int i = 0; i < n && i < 8; i++)
      switch (b[i] % 16) {
        case 0: x++; break;
        case 1: x += 2; break;
        case 2: x ^= 3; break;
        case 3: x *= 3; break;
      }
    if (n == 9 && !memcmp(b, "seyHello", 8)) x = 7;
    if (n == 9 && !memcmp(b, "oYtdnuof", 8)) x = 8;
  }
}
"""


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    # -fno-builtin: afl-clang-fast would take the comparison apart, and fuzzing find it.
    flags = ["-O1", "-fno-builtin"]
    return compiled(tmp_path_factory.mktemp("t"), TARGET, *flags, compiler="afl-clang-fast")


class Afl:
    """One afl-fuzz, ``main`` in ``out``."""

    def __init__(self, home: Path, target: Path) -> None:
        self.home, self.target = home, target
        self.out, self.dir = home / "out", home / "out/main"
        self.log = home / "log"
        self.dir.mkdir(parents=True)
        (home / "in").mkdir()
        # b covers what a does: afl-fuzz keeps it in the queue and never picks it.
        for name, data in {"a": b"aaaa", "b": b"aaaa", "c": b"0123456789"}.items():
            (home / "in" / name).write_bytes(data)
        self.process: subprocess.Popen[bytes] | None = None
        self.issued = 0

    def start(self, *, resume: bool = False) -> None:
        library, why = steering_library()
        assert library, why
        env = {
            **os.environ,
            **AFL_ENV,
            "AFL_SYNC_TIME": "1",
            "AFL_CUSTOM_MUTATOR_LIBRARY": str(library),
            "FUZZTUI_CONTROL": str(self.dir / "control.jsonl"),
            "FUZZTUI_EVENTS": str(self.dir / "events.jsonl"),
        }
        seeds = "-" if resume else str(self.home / "in")
        argv = ["afl-fuzz", "-V", "600", "-s", "1", "-M", "main", "-i", seeds, "-o", str(self.out)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*argv, "--", str(self.target)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
            )

    def stop(self) -> int:
        assert self.process
        self.process.terminate()
        return self.process.wait(timeout=DEADLINE_S)

    def fuzzed(self) -> list[int]:
        """The entries that it has come to, in order."""
        return [int(n) for n in re.findall(rb"Fuzzing test case #(\d+)", self.log.read_bytes())]

    def queue(self) -> dict[int, str]:
        return {int(p.name[3:9]): p.name for p in (self.dir / "queue").glob("id:*")}

    def told(self, command: Command) -> str:
        self.issued += 1
        append(self.dir / "control.jsonl", f"c{self.issued}", command)
        return f"c{self.issued}"

    def said(self) -> list:
        path = self.dir / "events.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [decode_event(line) for line in lines if line.endswith(b"\n")]

    def answer(self, id_: str) -> str:
        def given() -> str:
            for event in self.said():
                if isinstance(event, CommandApplied) and event.id == id_:
                    return event.detail
                if isinstance(event, CommandRejected) and event.id == id_:
                    return f"NO {event.reason}"
            return ""

        return self.until(given)

    def until(self, what: Callable[[], object]):
        def happens() -> object:
            if not (found := what()):
                assert self.process and self.process.poll() is None, self.log.read_text(
                    errors="replace"
                )[-2000:]
            return found

        return wait_until(happens, lambda: (self.said()[-5:], self.fuzzed()[-20:]))

    def settled(self) -> None:
        """Wait until it has entries to choose from, and fuzzes."""
        self.until(lambda: len(self.queue()) >= 8 and len(self.fuzzed()) >= 8)


@pytest.fixture
def afl(target, tmp_path):
    one = Afl(tmp_path, target)
    yield one
    if one.process and one.process.poll() is None:
        one.process.terminate()  # killed, it would leave a stopped target behind
        one.process.wait(DEADLINE_S)


def same_program(afl: Afl) -> int:
    """The seed that is never picked: afl-fuzz disables one of two alike."""
    if b"afl-fuzz++4.0" not in afl.log.read_bytes():
        pytest.skip("newer versions pick every entry now and then")
    seeds = {n for n, name in afl.queue().items() if name.endswith((":a", ":b"))}
    afl.until(lambda: len(afl.fuzzed()) >= 60 and seeds & set(afl.fuzzed()))
    (never,) = seeds - set(afl.fuzzed())
    return never


def test_what_is_skipped_is_not_fuzzed_and_what_is_promoted_is_next(afl):
    afl.start()
    afl.settled()
    entry = afl.fuzzed()[-1]
    assert afl.answer(afl.told(SkipEntry(entry))) == f"entry {entry} is skipped from now on"
    since = len(afl.fuzzed())
    afl.until(lambda: len(afl.fuzzed()) >= since + 60)
    assert entry not in afl.fuzzed()[since + 1 :]

    other = next(n for n in afl.fuzzed()[since:] if n != afl.fuzzed()[-1])
    for wanted in (other, entry):
        since = len(afl.fuzzed())
        assert afl.answer(afl.told(PromoteEntry(wanted))) == f"entry {wanted} is being fuzzed"
        assert wanted in afl.fuzzed()[since:]
    assert afl.answer(afl.told(SkipEntry(99999))) == "NO there is no queue entry 99999"
    assert afl.stop() == 0
    assert "steer" not in "".join(afl.queue().values())  # it makes no inputs: no op of its own


def test_after_a_resume_the_same_input_is_skipped(afl):
    afl.start()
    afl.settled()
    entry = max(afl.fuzzed())
    afl.answer(afl.told(SkipEntry(entry)))
    name = afl.queue()[entry]
    assert afl.stop() == 0

    late = afl.told(PromoteEntry(0))
    afl.start(resume=True)
    assert "numbers its entries again" in afl.answer(late)
    before = len(afl.fuzzed())

    def now() -> list[int]:
        return [n for n, x in afl.queue().items() if x == name or x.endswith(f",orig:{name}")]

    afl.until(lambda: len(afl.fuzzed()) >= before + 60)
    (number,) = now()
    assert number not in afl.fuzzed()[before:]
    steered = {e.id: e.steer for e in afl.said() if isinstance(e, EntryDescribed)}
    assert {n: s for n, s in steered.items() if s} == {number: "skipped"}
    assert afl.stop() == 0


def test_refusing_everything_neither_ends_the_fuzzing_nor_hides_it(afl):
    afl.start()
    afl.settled()
    never = same_program(afl)
    answers = []
    for _ in range(20):  # new ones keep coming
        left = set(afl.queue()) - {never} - {e.id for e in afl.said() if hasattr(e, "steer")}
        answers += [afl.answer(afl.told(SkipEntry(n))) for n in sorted(left)]
    assert all("is skipped from now on" in a for a in answers)
    afl.until(lambda: [e for e in afl.said() if isinstance(e, Message)])
    since = len(afl.fuzzed())
    afl.until(lambda: len(afl.fuzzed()) >= since + 5)
    assert afl.stop() == 0


def test_a_promotion_that_cannot_be_is_given_up_and_stopping_works_meanwhile(afl):
    afl.start()
    afl.settled()
    never = same_program(afl)
    assert afl.answer(afl.told(PromoteEntry(never))).startswith("NO afl-fuzz does not pick entry")
    since = len(afl.fuzzed())
    afl.until(lambda: len(afl.fuzzed()) >= since + 5)
    told = len(afl.said())
    afl.told(PromoteEntry(never))
    afl.until(lambda: len(afl.said()) > told)
    assert afl.stop() == 0
    assert (afl.dir / "fuzzer_stats").stat().st_size


def test_seeds_are_taken_over_also_after_a_resume(afl, tmp_path):
    afl.start()
    afl.settled()
    for number, word in enumerate(("seyHello", "oYtdnuof")):
        if number:
            assert afl.stop() == 0
            afl.start(resume=True)
        (tmp_path / word).write_bytes(f"{word}!".encode())
        assert add_seed(afl.out, tmp_path / word).detail.startswith(f"seed {number} added")
        sync = f"sync:added,src:{number:06}"
        afl.until(lambda sync=sync: any(sync in n for n in afl.queue().values()))
    assert afl.stop() == 0
    assert {p.name for p in afl.out.iterdir()} == {"main", "added"}
