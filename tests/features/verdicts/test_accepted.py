"""Survivors that a user accepts: the file, the log, and undo."""

from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.cli.mutant_lines import summary_line
from fuzztui.cli.output import DONE, FAILED, USAGE
from fuzztui.cli.runs import standing
from fuzztui.features.verdicts import judging
from fuzztui.features.verdicts.file import read_mutant_verdicts
from fuzztui.features.verdicts.judging import accept_mutants, changes
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.inverses import inverse
from fuzztui.kernel.model.mutants import mutants_dict, mutants_summary, survivors
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import AcceptMutants, UnacceptMutants
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    CampaignStarted,
    Event,
    InstanceHello,
    MutantsFound,
    MutantState,
    Record,
    SupervisorStarted,
    VerdictsChanged,
)
from fuzztui.run.campaign.rundir import SupervisorError

ROWS = [{"id": f"m{n}", "line": n, "before": "a", "after": f"b{n}"} for n in range(4)]
STARTED = [
    CampaignStarted("c", engine="mu2"), SupervisorStarted(1, 0.0), InstanceHello("main", "mu2"),
    MutantsFound("main", "m", "m.py", "/m.py", ROWS),
    MutantState("main", "m0", "killed"), MutantState("main", "m1", "alive"),
    MutantState("main", "m2", "alive"),
]  # fmt: skip


def more(state: State, *events: Event) -> None:
    apply(state, [Record(state.seq + n, state.t, event) for n, event in enumerate(events, 1)])


@pytest.fixture
def state() -> State:
    state = State()
    more(state, *STARTED)
    return state


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.verdicts.toml"


def accepted(state: State) -> list[str]:
    return [m.id for m in state.mutants.values() if m.accepted]


def test_accepted_and_taken_back(state, file):
    events, _ = accept_mutants(state, file, AcceptMutants("line=0|1|3", "too rare"), "ada")
    more(state, *events)
    assert accepted(state) == ["m1", "m3"]  # not the killed one
    rows = read_mutant_verdicts(file)
    assert (rows["m1"].verdict, rows["m1"].because, rows["m1"].change, rows["m1"].author) == (
        "accepted", "too rare", "a -> b1", "ada",
    )  # fmt: skip
    assert [*survivors(state.mutants.values())][-1] == "accepted"
    summary = mutants_summary(state)
    assert (summary.accepted, summary.alive, summary.score) == (2, 2, 0.25)
    assert (mutants_dict(state) or {})["accepted"] == 2
    assert "2 of the survivors accepted" in summary_line(summary)
    more(state, MutantState("main", "m3", "killed"))
    assert mutants_summary(state).accepted == 1
    events, _ = accept_mutants(state, file, UnacceptMutants("m1"), "ada")
    more(state, *events)
    assert (accepted(state), set(read_mutant_verdicts(file))) == (["m3"], {"m3"})
    assert changes(state, file) == []


def test_the_file_says_which(state, file):
    row = '[[mutant]]\nid = "{}"\nverdict = "accepted"\nchange = "{}"\n'
    file.write_text(row.format("m1", "a -> b1") + row.format("m2", "other"))
    more(state, *changes(state, file))
    assert accepted(state) == ["m1"]
    # The target was edited: the same id is another change now.
    more(state, MutantsFound("main", "m", "m.py", "/m.py", [{**ROWS[2], "before": "other"}]))
    more(state, MutantsFound("main", "m", "m.py", "/m.py", [{**ROWS[1], "after": "c"}]))
    assert accepted(state) == []
    file.write_text("")
    more(state, *changes(state, file))
    assert state.accepted_mutants == {}


def test_verdicts_that_only_the_log_has_are_kept(state, file):
    more(state, VerdictsChanged([], [{"id": "m9", "verdict": "accepted", "because": "x"}]))
    events, _ = accept_mutants(state, file, AcceptMutants("m1"), "ada")
    more(state, *events)
    assert set(read_mutant_verdicts(file)) == set(state.accepted_mutants) == {"m1", "m9"}


@pytest.mark.parametrize("command", [AcceptMutants("m0"), AcceptMutants("x"), UnacceptMutants("m1"),
                                     AcceptMutants("line=")])  # fmt: skip
def test_what_cannot_be_accepted(state, file, command):
    with pytest.raises(SupervisorError):
        accept_mutants(state, file, command, "ada")
    assert not file.exists()


def test_too_many_at_once(state, file, monkeypatch):
    monkeypatch.setattr(judging, "MAX_ACCEPTED", 1)
    with pytest.raises(SupervisorError):
        accept_mutants(state, file, AcceptMutants("state=alive"), "ada")


def test_undo(file):
    def at(*rows: dict[str, str]) -> State:
        state = State()
        more(state, *STARTED, VerdictsChanged([], [{"verdict": "accepted", **r} for r in rows]))
        return state

    one, other = {"id": "m1", "because": "x"}, {"id": "m1", "because": "y"}
    accept = AcceptMutants("state=alive", "y")
    two = {"id": "m2", "because": "y"}
    assert inverse(accept, at(one), at(other, two)).commands == (
        AcceptMutants("id=m1", "x"), UnacceptMutants("id=m2"),
    )  # fmt: skip
    assert inverse(accept, at(), at(one)).commands == ()  # changed again since then
    assert inverse(UnacceptMutants("m1"), at(one), at()).commands == (AcceptMutants("id=m1", "x"),)


def test_after_the_end(tmp_path, file):
    run = tmp_path / "run"
    (run / "supervisor").mkdir(parents=True)
    (run / "campaign.toml").write_text(f'[campaign]\nverdicts = "{file}"\n')
    writer = LogWriter(run / "log")
    for t, event in enumerate([*STARTED, CampaignEnded("finished", "")]):
        writer.append(event, float(t))
    writer.close(at_rest=True)

    def ctl(*words: str) -> int:
        return main(["ctl", str(run), *words])

    assert ctl("accept-mutants", "state=alive", "--because", "x") == DONE
    assert accepted(standing(run).state) == ["m1", "m2"]
    assert ctl("unaccept-mutants", "m1") == DONE
    assert accepted(standing(run).state) == ["m2"]
    assert ctl("undo") == ctl("undo") == DONE
    assert accepted(standing(run).state) == []
    assert read_mutant_verdicts(file) == {}
    assert ctl("undo") == FAILED
    assert ctl("accept-mutants", "m0") == FAILED
    assert ctl("accept-mutants", "m1", "--note", "x") == USAGE
