"""What a trial counts, from the answers of an engine."""

import pytest

from fuzztui.run.inprocess.ask import NoAnswer
from fuzztui.tools.scaffold.trial import run_trial

TEXT = '[target]\nfunction = "m:f"\ninclude = ["m"]\n[engine]\nkind = "zest"\n'
ITERATOR = {
    "outcome": "success",
    "value": {"type": "builtins.generator", "unseen": ["generator (not compared)"]},
}
PARTLY = {
    "outcome": "success",
    "value": {"type": "m.Tree", "unseen": ["file: m.File"], "text": "1"},
}
VALUE = {"outcome": "success", "value": {"text": "7"}}


def failed(*bases: str) -> dict:
    return {"outcome": "failure", "error": {"class": bases[0], "bases": list(bases)}}


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Runs a trial with answers in place of an engine's; an exception is raised."""

    def run(*results, of: int = 0):
        def ask(*args, **kwargs):
            for number, result in enumerate(results):
                if isinstance(result, Exception):
                    raise result
                yield {"recorded": [number, result]}

        monkeypatch.setattr("fuzztui.run.inprocess.ask.ask", ask)
        inputs = [b"x"] * (of or len(results))
        return run_trial(tmp_path / "campaign.toml", TEXT, inputs, ["m"])

    return run


def test_rejected_inputs_are_those_of_the_packages_own_exceptions(answers):
    own = failed("m.Deep", "m.Error", "Exception")
    found = answers(VALUE, own, failed("UnicodeDecodeError", "ValueError"), failed("KeyError"))
    assert found.accepted == [True, False, False, False]
    assert found.expected == {"m.Error": 1, "ValueError": 1}
    assert found.failures == {"KeyError": 1}
    assert not found.is_misused
    assert not found.is_lazy


def test_a_slow_target_is_judged_by_what_it_has_done(answers):
    found = answers(VALUE, failed("KeyError"), NoAnswer("no answer within 60 s"), of=50)
    assert (found.inputs, found.accepted_count, len(found.accepted)) == (2, 1, 50)
    with pytest.raises(NoAnswer):
        answers(NoAnswer("no answer within 60 s"), of=50)


def test_answers_that_never_end_are_not_waited_for(answers):
    assert answers(VALUE, VALUE, NoAnswer("no answer within 60 s"), of=2).inputs == 2


def test_iterators_and_wrong_calls_are_noticed(answers):
    assert answers(ITERATOR, ITERATOR, VALUE).is_lazy
    assert not answers(ITERATOR, VALUE, VALUE).is_lazy
    assert answers(failed("TypeError"), failed("AttributeError"), VALUE).is_misused
    partly = answers(PARTLY, PARTLY, VALUE)
    assert (partly.is_lazy, partly.unseen) == (False, {"file: m.File": 2})
    both = answers(ITERATOR).with_counts_of(answers(VALUE, failed("KeyError")))
    assert (both.inputs, both.accepted_count, both.lazy, both.failures) == (
        3,
        2,
        1,
        {"KeyError": 1},
    )
