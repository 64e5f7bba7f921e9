"""Moving probability between classes of mutation in a campaign of real processes."""

import json

import pytest

from fuzztui.cli import main
from fuzztui.features.mutators.fold import mixture_summary
from fuzztui.kernel.wire.commands import SetMixture
from fuzztui.kernel.wire.events import CommandApplied, MutatorStats

pytestmark = pytest.mark.slow

ABLE = ["pause", "resume", "mixture"]


def mixes(state) -> bool:
    """All execute, have figures, and have told of something that they found."""
    found = [sum(figures.found) for figures in state.mutators.values()]
    return state.state == "running" and len(state.instances) == len(found) == 2 and min(found) > 0


def test_all_instances_obey_and_the_log_says_who_asked(made, capsys):
    s = made(operators=True, capabilities=ABLE)
    s.start(instances=2)
    state = s.until(mixes)
    now = mixture_summary(state)
    assert (now.mixture, now.t, now.differ) == ((0.25, 0.75, 0.0), -1.0, False)
    result = s.send(SetMixture(0.1, 0.8, 0.1))
    assert (result.ok, result.detail) == (True, "as you like (2 instances)")
    state = s.until(lambda st: mixture_summary(st).mixture == (0.1, 0.8, 0.1))
    assert "@" in mixture_summary(state).by
    answers = [e for e in s.events() if isinstance(e, CommandApplied)]
    assert all(e.trial > 0 for e in answers)
    # Figures that come later are what was asked for: none of before are told after the answer.
    events = s.events()
    last = max(events.index(e) for e in answers)
    told = [e for e in events[last:] if isinstance(e, MutatorStats)]
    assert all((e.havoc, e.text, e.splice) == (0.1, 0.8, 0.1) for e in told)

    def fuzztui(*argv):
        code = main(list(argv))
        return code, capsys.readouterr().out

    run = str(s.run)
    code, out = fuzztui("ctl", run, "mixture", "splice=50%", "--instance", "s1")
    assert code == 0
    assert out.startswith("applied by s1 at trial ")
    state = s.until(lambda st: mixture_summary(st, "s1").mixture.splice == 0.5)
    assert mixture_summary(state, "main").mixture == (0.1, 0.8, 0.1)
    assert mixture_summary(state).differ
    assert fuzztui("ctl", run, "mixture", "text=2")[0] == 2
    assert fuzztui("ctl", run, "mixture", "--adaptive")[0] == 0
    s.until(lambda st: mixture_summary(st).adaptive)
    rows = json.loads(fuzztui("operators", run, "--json", "--sort", "found")[1])["mutators"]
    assert rows[0]["found"] >= rows[-1]["found"]
    assert json.loads(fuzztui("status", run, "--json")[1])["mixture"]["adaptive"] is True


def test_a_new_supervisor_tells_no_figures_again(made):
    s = made(operators=True, capabilities=ABLE)
    s.start(instances=2)
    s.until(mixes)
    assert s.send(SetMixture(0.0, 1.0, 0.0)).ok
    s.until(lambda st: mixture_summary(st).mixture == (0.0, 1.0, 0.0))
    assert (
        s.send(SetMixture(0.3, 0.6, 0.2)).detail == "havoc, text and splice add up to 1.1, not to 1"
    )
    before = mixture_summary(s.state())
    s.restart(instances=2)
    state = s.until(lambda st: st.state == "running")
    assert (mixture_summary(state).t, mixture_summary(state).by) == (before.t, before.by)
