"""Inputs that are accepted more often than mutated bytes: which ones are proposed."""

import pytest

from fuzztui.tools.scaffold.better import Proposal, better_inputs
from fuzztui.tools.scaffold.files import HARNESS, CampaignDraft
from fuzztui.tools.scaffold.trial import InputTrial

DRAFT = CampaignDraft("n", "zest", {"function": "m:f", "input": "text"}, seeds=[b"s"])
GOOD = [b"let x = (1 + 2);", b"let y = x * x;", b"print(x, y, 3);"]
TOKENS = ["let", "print", "(", ")", "+", "*", ";", "=", "x"]
COUNT = 80


class Trials:
    """Runs of a target that accepts as many inputs of each kind as it is told."""

    def __init__(self, text: int = 0, joined: int = 0, exchanged: int = 0) -> None:
        self._accepted = {"text": text, "joined": joined, "exchanged": exchanged}
        self.kinds: list[str] = []

    def run(self, draft: CampaignDraft, inputs) -> InputTrial:
        harness = draft.harnesses.get(HARNESS, "")
        kind = "text" if not harness else "exchanged" if "EXAMPLES" in harness else "joined"
        self.kinds.append(kind)
        count = self._accepted[kind]
        return InputTrial(len(inputs), [n < count for n in range(len(inputs))])


def found(trials: Trials, *, accepted: int = 0, good=GOOD, tokens=TOKENS):
    none = Proposal(DRAFT)
    return better_inputs(none, good, tokens, accepted=accepted, count=COUNT, run=trials.run)


def test_text_mutators_keep_the_seeds():
    best = found(Trials(text=60, joined=5, exchanged=20)).better
    assert (best.kind, list(best.seeds), best.harnesses) == ("text", [b"s"], {})
    assert best.target == DRAFT.target


@pytest.mark.parametrize(("name", "mark"), [("joined", False), ("exchanged", True)])
def test_a_generator_is_a_file_and_has_no_seeds_of_bytes(name, mark):
    best = found(Trials(**{name: 50})).better
    assert best.kind == "zest"
    assert best.target["generator"] == f"{HARNESS}:generate"
    assert "input" not in best.target
    assert not best.seeds
    assert ("EXAMPLES" in best.harnesses[HARNESS]) is mark


def test_nothing_is_proposed_unless_it_is_twice_as_good():
    tried = found(Trials(text=9, joined=9, exchanged=10), accepted=5)
    assert tried.better is None
    assert len(tried.shown) == 3
    assert found(Trials(exchanged=11), accepted=5).better is not None


def test_what_needs_accepted_inputs_is_tried_only_with_some():
    trials = Trials(joined=3)
    assert found(trials, good=[]).better is not None
    assert trials.kinds == ["joined"]
    trials = Trials()
    assert found(trials, good=[b"\x00\xff binary data"] * 5, tokens=["a"]).better is None
    assert trials.kinds == []
