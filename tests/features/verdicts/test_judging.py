"""Judging findings by ``ctl`` and while a campaign runs; regressions of a later run."""

import asyncio
from pathlib import Path

import pytest
from waiting import until

from fuzztui.cli import main
from fuzztui.cli.output import DONE, FAILED, USAGE
from fuzztui.cli.runs import standing
from fuzztui.features.verdicts import keeper
from fuzztui.features.verdicts.file import change_verdicts, read_verdicts
from fuzztui.features.verdicts.judging import changes, judge_finding, verdicts_file
from fuzztui.features.verdicts.keeper import VerdictsKeeper
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import FindingVerdict, State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire.commands import JudgeFinding
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignStarted,
    Event,
    FindingDescribed,
    Message,
    MutantsFound,
    MutantState,
    Record,
    SupervisorStarted,
    VerdictsChanged,
)
from fuzztui.run.campaign.rundir import RunDir, SupervisorError

CRASH = "crashes/id:000000,sig:00"


def put(file: Path, verdict: FindingVerdict) -> None:
    change_verdicts(file, [verdict.row()])


def take_back(file: Path, signature: str) -> None:
    change_verdicts(file, [], {signature})


def found(signature: str = "A", instance: str = "main", file: str = CRASH) -> Event:
    return FindingDescribed(instance, "crash", file, signature, "title")


def a_run(path: Path, verdicts: Path | None, *events: Event) -> Path:
    (path / "supervisor").mkdir(parents=True)
    named = f'[campaign]\nverdicts = "{verdicts}"\n' if verdicts else ""
    (path / "campaign.toml").write_text(named)
    writer = LogWriter(path / "log")
    started = [CampaignStarted("c", engine="zest"), SupervisorStarted(1, 0.0)]
    for t, event in enumerate([*started, *events, CampaignEnded("finished", "")]):
        writer.append(event, float(t))
    writer.close(at_rest=True)
    return path


def ctl(run: Path, *words: str) -> int:
    return main(["ctl", str(run), "judge", *words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.verdicts.toml"


def test_a_verdict_after_the_end_is_in_the_file_and_in_the_log(tmp_path, file):
    run = a_run(tmp_path / "run", file, found(), found("B", file="crashes/2"))
    assert ctl(run, f"main/{CRASH}", "known", "--note", "issue 12") == DONE
    filed = (read_verdicts(file) or {})["A"]
    assert (filed.verdict, filed.note) == ("known", "issue 12")
    assert 'title = "title"' in file.read_text()
    assert filed.author and filed.date
    state = standing(run).state
    assert (verdict_of(state, "A"), verdict_of(state, "B")) == ("known", "new")
    assert [c.state for c in state.commands.values()] == ["applied"]
    assert ctl(run, "B", "wont-fix") == DONE  # a signature
    assert ctl(run, CRASH, "new") == DONE
    assert set(read_verdicts(file) or ()) == {"B"}
    assert verdict_of(standing(run).state, "A") == "new"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), USAGE), (("A",), USAGE), (("A", "maybe"), USAGE), (("C", "known"), FAILED),
        ((CRASH, "known"), FAILED),  # two instances have it
        (("", "known"), USAGE), (("s2/crashes/bare", "known"), FAILED),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_changes_nothing(tmp_path, file, words, code):
    run = a_run(tmp_path / "run", file, found(), found("B", "s2"), found("", "s2", "crashes/bare"))
    seq = standing(run).state.seq
    assert ctl(run, *words) == code
    assert (standing(run).state.seq, file.exists()) == (seq, False)


def test_a_broken_file_is_an_error_and_stays_as_it_is(tmp_path, file, capsys):
    run = a_run(tmp_path / "run", file, found())
    file.write_text("[[finding]]\n")
    assert ctl(run, "A", "known") == FAILED
    assert f"{file}:1" in capsys.readouterr().err
    assert file.read_text() == "[[finding]]\n"


def test_an_old_run_has_a_file_of_its_own(tmp_path):
    for name, verdicts in (("old", None), ("moved", tmp_path / "gone" / "c.verdicts.toml")):
        run = a_run(tmp_path / name, verdicts, found())
        assert ctl(run, "A", "known") == DONE
        assert verdicts_file(RunDir(run)).parent == run
        assert set(read_verdicts(verdicts_file(RunDir(run))) or ()) == {"A"}


def test_only_what_changed_is_logged(tmp_path, file):
    state = State()
    assert changes(state, file) == []
    put(file, FindingVerdict("A", "known"))
    put(file, FindingVerdict("B", "fixed"))
    apply(state, [Record(n, 0.0, e) for n, e in enumerate(changes(state, file), 1)])
    assert changes(state, file) == []
    file.write_text(file.read_text().replace('"fixed"', '"known"'))
    (event,) = changes(state, file)
    assert [row["signature"] for row in event.findings] == ["B"]
    file.write_text("")
    (event,) = changes(state, file)
    assert {row["verdict"] for row in event.findings} == {"new"}


class Running:
    """The keeper of a campaign whose log is in memory."""

    def __init__(self, file: Path) -> None:
        self.state = State()
        self.keeper = VerdictsKeeper(file, self.state, self.record, file.parent / "out")
        self.events: list[Event] = []

    def record(self, *events: Event) -> None:
        for event in events:
            self.events.append(event)
            apply(self.state, [Record(self.state.seq + 1, 0.0, event)])

    def start(self) -> None:
        self.record(*self.keeper.at_start(), SupervisorStarted(1, 0.0))


def test_a_later_run_reports_what_was_fixed(file):
    put(file, FindingVerdict("A", "fixed"))
    put(file, FindingVerdict("B", "known"))
    run = Running(file)
    run.start()
    run.record(found("A"), found("B", file="crashes/2"))
    assert (verdict_of(run.state, "A"), verdict_of(run.state, "B")) == ("regression", "known")


def test_a_broken_file_is_an_error_at_the_start(file):
    file.write_text("[[finding]]\n")
    with pytest.raises(SupervisorError, match=":1"):
        Running(file).keeper.at_start()


async def test_edits_reach_a_running_campaign(file, monkeypatch):
    monkeypatch.setattr(keeper, "LOOK_S", 0.0)
    run = Running(file)
    run.start()
    run.record(found("A"))
    task = asyncio.ensure_future(run.keeper.run())

    async def comes(kind: type[Event]) -> None:
        run.events.clear()

        def there() -> bool:
            if task.done():
                task.result()
            return any(isinstance(e, kind) for e in run.events)

        await until(there)

    await run.keeper.handlers()["judge"](JudgeFinding("A", "known"), lambda *_: None)
    assert verdict_of(run.state, "A") == "known"
    file.write_text(file.read_text().replace("known", "wont-fix"))
    await comes(VerdictsChanged)
    assert verdict_of(run.state, "A") == "wont-fix"
    file.write_text("[[finding]]\n")
    await comes(Message)
    assert verdict_of(run.state, "A") == "wont-fix"
    task.cancel()


async def test_a_mutant_marked_while_the_file_is_broken_is_filed_once_it_is_repaired(
    file, monkeypatch
):
    monkeypatch.setattr(keeper, "LOOK_S", 0.0)
    run = Running(file)
    run.record(CampaignStarted("c", "mu2", "t"))
    run.record(MutantsFound("main", "m", "m.py", "/m.py", [{"id": "m:f:math:1:-"}]))
    run.start()
    task = asyncio.ensure_future(run.keeper.run())
    file.write_text("[[mutant]]\n")
    run.record(MutantState("", "m:f:math:1:-", "equivalent"))
    await until(lambda: any("in this run's log only" in str(e) for e in run.events))
    file.write_text("")
    await until(lambda: "m:f:math:1:-" in file.read_text())
    assert sum("in this run's log only" in str(e) for e in run.events) == 1
    task.cancel()


def test_the_first_verdict_of_a_run_without_its_file_keeps_the_others(tmp_path):
    """A run that was copied from another machine, or a file that was deleted."""
    from fuzztui.kernel.model.verdicts import verdict_of
    from fuzztui.kernel.wire.events import FindingDescribed

    state = State()
    events = [
        FindingDescribed("main", "crash", "crashes/1", "NEW", "title"),
        VerdictsChanged(
            [
                {"signature": "A", "verdict": "known", "note": "n", "date": "no date"},
                {"signature": "B", "verdict": "fixed", "date": "2026-11-25"},
            ]
        ),
    ]
    apply(state, [Record(n, float(n), e) for n, e in enumerate(events, 1)])
    file = tmp_path / "c.verdicts.toml"
    for command in (
        JudgeFinding("crashes/1", "wont-fix", "", "main"),
        JudgeFinding("crashes/1", "new", "", "main"),
    ):
        file.unlink(missing_ok=True)
        more, _ = judge_finding(state, file, command, "ada")
        apply(state, [Record(state.seq + 1 + n, 9.0, e) for n, e in enumerate(more)])
        assert (verdict_of(state, "A"), verdict_of(state, "B")) == ("known", "fixed")
        assert verdict_of(state, "NEW") == command.verdict
        assert {"A", "B"} <= set(read_verdicts(file) or ())
