"""The oracle of a program, beside the real AFL++: a compiler of ours with two bugs in it."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from skipped import needs_afl
from supervised import Supervised
from waiting import DEADLINE_S, wait_until

from fuzztui.cli.minimise import minimise
from fuzztui.cli.output import FINDINGS
from fuzztui.cli.parser import parse
from fuzztui.cli.repro import repro
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.wire.commands import Minimise
from fuzztui.kernel.wire.events import PRINTED, CampaignEnded, FindingSaved, Message
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run
from fuzztui.run.process.identity import ProcessId, marked
from fuzztui.run.supervise.daemon import start

pytestmark = [pytest.mark.slow, needs_afl()]

SAMPLE = Path(__file__).parents[2] / "sample_campaigns" / "calc-oracle.toml"


class Calc(Supervised):
    """The sample campaign."""

    def freeze(self, *overrides: str, instances: int = 1) -> None:
        output = f'campaign.output="{self.run}"'
        prepare_run(self.run)
        write_frozen(load(SAMPLE, [output, "campaign.budget=10m", *overrides]), self.run)


@pytest.fixture
def calc(tmp_path):
    with Calc(tmp_path, "afl") as made:
        yield made


def found(state: State) -> dict[str, Finding]:
    return {row.category: row for row in state.findings.values() if row.signature and row.saved}


@pytest.mark.timeout(500)
def test_both_bugs_are_found_told_run_again_and_made_smaller(calc, capsys):
    calc.start()
    state = calc.until(lambda s: {"crash", "differs"} <= set(found(s)))
    bugs = found(state)
    assert {row.instance for row in bugs.values()} == {ORACLE}
    assert "internal error: cannot fold" in bugs["crash"].title
    assert "calc -O1 printed" in bugs["differs"].title
    assert "calc -O0" in bugs["differs"].detail
    key = f"{bugs['crash'].sync}/{bugs['crash'].src[0]}"
    entry = calc.until(lambda s: key in s.entries).entries[key]
    file = calc.run / "out" / ORACLE / bugs["crash"].file
    assert file.read_bytes() == (calc.run / "out" / "main" / entry.file).read_bytes()
    assert not list((calc.run / "out" / "main" / "crashes").glob("id:*")), "nothing crashes"

    # Run again from a shell, while the campaign continues; and made smaller by it.
    for row in bugs.values():
        options = parse(["repro", str(calc.run), f"{ORACLE}/{row.file}"])
        assert repro(options) == FINDINGS
        printed = capsys.readouterr()
        assert "calc -O1" in printed.out and str(calc.run / "out" / ORACLE) in printed.out
        assert row.category in printed.err
    assert repro(parse(["repro", str(calc.run), "main/queue/" + next(iter(seeds(calc)))])) == 0
    result = calc.send(Minimise(bugs["differs"].file, ORACLE), 300)
    assert result.ok, result.detail
    small = calc.run / "minimised" / ORACLE / Path(bugs["differs"].file).name
    text = small.read_bytes()
    assert b"-" in text
    assert len(text) <= (calc.run / "out" / ORACLE / bugs["differs"].file).stat().st_size

    # Killed, it continues; ended, resumed, nothing is found again.
    [judge] = wait_until(lambda: judges(calc))
    os.kill(judge.pid, signal.SIGKILL)
    wait_until(lambda: judge not in judges(calc) != [])
    calc.stop()
    before = [e for e in calc.events(FindingSaved) if e.instance == ORACLE]
    start(calc.run)
    calc.until(lambda s: s.state == "running" and s.instances["main"].pid)
    calc.stop()
    after = [e for e in calc.events(FindingSaved) if e.instance == ORACLE]
    assert [e.file for e in after[: len(before)]] == [e.file for e in before]
    signatures = [r.signature for r in calc.state().findings.values() if r.instance == ORACLE]
    assert len(signatures) == len(set(signatures)), "one file a cause"
    # afl-fuzz itself may warn: of a busy machine, of many seeds.
    assert not [e for e in calc.events(Message) if e.level != "info" and e.about != PRINTED]
    assert len(calc.events(CampaignEnded)) == 2


def judges(calc: Calc) -> list[ProcessId]:
    """The process of the oracle, without the programs that it runs; a fork is both for a moment."""
    found = []
    for process in marked(calc.run, ORACLE):
        with suppress(OSError):
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            found += [process] * (b"fuzztui.features.oracle.queue" in words)
    return found if len(found) == 1 else []


def seeds(calc: Calc) -> list[str]:
    return sorted(path.name for path in (calc.run / "out/main/queue").glob("id:000000,*"))


def test_the_command_line_makes_it_smaller_too(calc, tmp_path, capsys):
    calc.freeze()
    (calc.run / "build").mkdir()
    source = SAMPLE.parent / "calc" / "calc.c"
    subprocess.run(
        ["cc", "-o", calc.run / "build" / "calc", source], check=True, timeout=DEADLINE_S
    )
    crashes = calc.run / "out" / ORACLE / "crashes"
    crashes.mkdir(parents=True)
    (crashes / "id:000000").write_bytes(b"1 + 2 * (3 + 4);\n(17 - 38) * 2;\n")
    argv = ["minimise", str(calc.run), f"{ORACLE}/crashes/id:000000", "-o", str(tmp_path / "m")]
    assert minimise(parse(argv)) == 0
    small = (tmp_path / "m").read_bytes()
    assert len(small) <= 16
    assert f"32 -> {len(small)} bytes" in capsys.readouterr().out
