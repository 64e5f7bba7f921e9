"""Real campaigns of the real AFL++ that mutate inputs as text."""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from homes import AFL_ENV, compiled, write_seeds
from skipped import needs_afl
from supervised import Supervised
from waiting import wait_until

from fuzztui.engines.text.block import BLOCK, StatsBlock, read_block
from fuzztui.engines.text.table import ARMS, HAVOC, NAMES
from fuzztui.kernel.wire.commands import Pause, PromoteEntry, Resume, SetMixture, SkipEntry
from fuzztui.kernel.wire.events import InstanceHello
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.library import text_library
from fuzztui.run.supervise.daemon import start

pytestmark = [pytest.mark.slow, needs_afl()]

NEWEST = Path("/tmp/afl422bin")
"""An AFL++ 4.22a that was built by hand, where there is one."""

TARGET = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__AFL_FUZZ_INIT();
int main(void) {
  __AFL_INIT();
  char *b = (char *)__AFL_FUZZ_TESTCASE_BUF;
  while (__AFL_LOOP(10000)) {
    size_t n = (size_t)__AFL_FUZZ_TESTCASE_LEN;
    volatile int x = 0;
    for (size_t i = 0; i + 1 < n; i++) {
      switch (b[i]) { /* an edge for each, and some for how often */
        case '+': x++; break;
        case '-': x += 2; break;
        case '*': x *= 3; break;
        case '/': x /= 2; break;
        case '<': x ^= 1; break;
        case '>': x ^= 2; break;
        case '{': x += 5; break;
        case '!': x += 7; break;
      }
      if (b[i] == '|' && b[i + 1] == '|') abort(); /* one operator away */
      if (b[i] == '%' && b[i + 1] == '%') for (;;) sleep(1);
    }
  }
}
"""
SEED = "x = 1;\nwhile (x < 10 && y == 2) {\n  f(x + 1, y - 2, z * 3);\n}\nif (a) b = c / 2;\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("t"), TARGET, "-O1", compiler="afl-clang-fast")


class Fleet(Supervised):
    """A campaign with a table ``[text]``."""

    more = "[text]\nhavoc = 0.3\ntext = 0.7"

    def __init__(self, directory: Path, program: Path, afl_path: str) -> None:
        super().__init__(directory, "afl")
        self.target = f'command = ["{program}"]\ntimeout = "500ms"'
        self.engine = f'seeds = ["seeds"]\n{afl_path}'
        write_seeds(directory, a=SEED, b=SEED.replace("&&", "+ -").replace("{", "!{"))

    def dir(self, name: str) -> Path:
        return self.run / "out" / name

    def block(self, name: str = "main") -> StatsBlock:
        """Waited for: nobody can read it in the middle of a change."""
        return wait_until(lambda: read_block(self.dir(name) / BLOCK))

    def arm(self, name: str, instance: str = "main"):
        return self.block(instance).arms[ARMS.index(name)]

    def trials(self, name: str = "main") -> int:
        return self.block(name).trials

    def saved(self, part: str, name: str = "main") -> list[str]:
        return [p.name for p in (self.dir(name) / part).glob("id:*")]

    def goes_on(self, name: str = "main", more: int = 2000) -> None:
        since = self.trials(name)
        wait_until(lambda: self.trials(name) >= since + more)


@pytest.fixture(params=["installed", "newest"])
def fleet(request, tmp_path, program):
    if request.param == "newest" and not (NEWEST / "afl-fuzz").exists():
        pytest.skip("no newer AFL++")
    path = f'afl_path = "{NEWEST}"' if request.param == "newest" else ""
    with Fleet(tmp_path, program, path) as fleet:
        yield fleet


OPERATORS = re.compile(r",op:([a-z0-9+-]+),rep:[1-8](,\+cov)?")


def test_operators_are_named_counted_and_steered(fleet):
    fleet.start()
    fleet.until(lambda s: s.state == "running" and s.instances["main"].stats.execs > 0)
    hello = fleet.events(InstanceHello)[-1]
    assert {"mixture", "skip", "promote", "pause", "add-seed"} <= set(hello.capabilities)
    assert not hello.unable.keys() & set(hello.capabilities)

    # Queue names say what worked, and the block counts it, as of the last time it was told.
    wait_until(lambda: len(fleet.saved("queue")) >= 6)
    new = [name for name in fleet.saved("queue") if "orig:" not in name]
    fleet.goes_on()
    named = [m for name in new if (m := OPERATORS.search(name))]
    assert len(named) == len(new) > 0
    block = fleet.block()
    assert (block.havoc, block.text, block.splice, block.adaptive) == (0.3, 0.7, 0.0, False)
    assert {name for m in named for name in m[1].split("+")} <= set(ARMS)
    for name in {name for m in named for name in m[1].split("+")}:
        assert fleet.arm(name).found >= 1
    # A trial counts for all the operators in its stack, so no fewer than entries.
    assert sum(arm.found for arm in block.arms) >= len(new)
    assert fleet.arm(HAVOC).applied > 0 and fleet.arm("swap-args").applied > 0

    # Crashes and hangs are counted as what they are.
    wait_until(lambda: fleet.saved("crashes"))
    assert all(OPERATORS.search(name) for name in fleet.saved("crashes"))
    wait_until(lambda: sum(arm.crashes for arm in fleet.block().arms) >= 1)

    # The mixture, while it runs: operators stand still when there is nothing but havoc, and
    # without havoc there is only what had to become havoc, as no operator applies to "0".
    assert fleet.send(SetMixture(1.0, 0.0, 0.0)).ok
    wait_until(lambda: fleet.block().havoc == 1.0)
    before = [arm.tried for arm in fleet.block().arms[: len(NAMES)]]
    fleet.goes_on(more=3000)
    assert [arm.tried for arm in fleet.block().arms[: len(NAMES)]] == before
    assert fleet.send(SetMixture(0.0, 1.0, 0.0)).ok
    wait_until(lambda: fleet.block().text == 1.0)
    before = [arm.applied for arm in fleet.block().arms]
    fleet.goes_on(more=3000)
    after = [arm.applied for arm in fleet.block().arms]
    assert after[-1] - before[-1] < 0.15 * (sum(after) - sum(before))

    # Skipping and promoting still work beside it.
    entry = max(fleet.state().entries.values(), key=lambda e: e.id)
    assert fleet.send(SkipEntry(entry.id, "main")).ok
    promoted = fleet.send(PromoteEntry(entry.id, "main"))
    assert promoted.ok or "does not pick" in promoted.detail or "insists" in promoted.detail

    # What nobody can do is refused, and changes nothing.
    assert not fleet.send(SetMixture(0.9, 0.9, 0.0)).ok
    assert fleet.block().text == 1.0

    # It survives afl-fuzz's death and a stop.
    trials, found = fleet.trials(), sum(arm.found for arm in fleet.block().arms)
    killed = fleet.until(lambda s: s.instances["main"].pid).instances["main"].pid
    os.kill(killed, 9)
    fleet.until(lambda s: s.instances["main"].pid not in (0, killed))
    fleet.until(lambda s: s.instances["main"].state == "running")
    fleet.goes_on()
    assert fleet.block().text == 1.0
    assert fleet.trials() > trials
    assert sum(arm.found for arm in fleet.block().arms) >= found
    fleet.stop()
    trials = fleet.trials()
    start(fleet.run)
    fleet.goes_on()
    assert fleet.block().text == 1.0 and fleet.trials() > trials


def mixture(block):
    return block.havoc, block.text, block.splice


def weights(block):
    return {arm.weight for arm in block.arms[: len(NAMES)]}


def test_adaptive_siblings(fleet):
    fleet.start("text.adaptive=true", "text.splice=0.2", "text.text=0.5", instances=2)
    for name in ("main", "s1"):
        wait_until(lambda name=name: fleet.trials(name) > 21_000)
        # It moves with what is found, whenever that is.
        wait_until(lambda name=name: mixture(fleet.block(name)) != (0.3, 0.5, 0.2))
        block = fleet.block(name)
        assert block.adaptive
        assert sum(mixture(block)) == pytest.approx(1)
        wait_until(lambda name=name: len(weights(fleet.block(name))) > 1)
        assert fleet.arm("balanced", name).applied > 0
    assert fleet.send(SetMixture(0.5, 0.5, 0.0, instance="s1")).ok
    wait_until(lambda: not fleet.block("s1").adaptive)
    assert fleet.block("main").adaptive
    assert fleet.send(SetMixture(0.0, 0.5, 0.5)).ok
    for name in ("main", "s1"):
        wait_until(lambda name=name: fleet.block(name).splice == 0.5)
    fleet.send(Pause("main"))
    fleet.send(Resume("main"))
    fleet.goes_on("main")


def test_without_a_compiler_the_campaign_is_refused(tmp_path, program, monkeypatch):
    fleet = Fleet(tmp_path, program, "")
    fleet.freeze()
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("afl-fuzz", "afl-showmap", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # what was made before would do
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert text_library()[0] is None
    with pytest.raises(SupervisorError, match="no C compiler"):
        start(fleet.run)
    fleet.clean_up()


def test_a_plain_afl_fuzz_can_use_it(tmp_path, program):
    """With nothing of ours but the library."""
    library, why = text_library()
    assert library, why
    (seeds,) = write_seeds(tmp_path, SEED)
    env = {
        **os.environ, **AFL_ENV, "AFL_CUSTOM_MUTATOR_ONLY": "1",
        "AFL_CUSTOM_MUTATOR_LIBRARY": str(library), "FUZZTUI_TEXT_BLOCK": str(tmp_path / "block"),
    }  # fmt: skip
    subprocess.run(
        ["afl-fuzz", "-E", "30000", "-i", seeds, "-o", tmp_path / "out", "--", program],
        env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
    )  # fmt: skip
    block = read_block(tmp_path / "block")
    assert block
    for parts in (["queue"], ["crashes", "hangs"]):
        out = [tmp_path / "out/default" / part for part in parts]
        names = [path.name for directory in out for path in directory.glob("id:*,src:*")]
        found = Counter(o for name in names for o in OPERATORS.search(name)[1].split("+"))
        figures = [arm.found if "queue" in parts else arm.crashes for arm in block.arms]
        assert found and {k: n for k, n in zip(ARMS, figures, strict=True) if n} == found
