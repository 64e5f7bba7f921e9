"""The table [mutants]: what it makes of a campaign, and what is said of a wrong one."""

from itertools import chain, count
from pathlib import Path

import pytest

from fuzztui.features.fuzzfirst.budget import plan_of, wants_mutants
from fuzztui.features.fuzzfirst.fold import spent_on_mutants
from fuzztui.features.fuzzfirst.keys import LANGUAGES, WEIGHTS
from fuzztui.features.fuzzfirst.source_mutants.generate import LANGUAGES as BY_ENDING
from fuzztui.features.fuzzfirst.source_mutants.rank import Metric
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import (
    Message,
    MutantProgress,
    MutantsFound,
    MutantState,
    PhaseStarted,
    Record,
)
from fuzztui.run.campaign import CampaignError, load, write_frozen

GOOD = """\
[campaign]
budget = "1h"
[target]
command = ["./target"]
build = "$CC -o target $SOURCE/a.c"
[engine]
kind = "afl"
instances = 2
[mutants]
sources = ["a.c:12,40-60", "b.c"]
weights = { edit = 2, line = 0.5 }
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n" + "\n" * 59)
    (tmp_path / "b.c").write_text("int f(void) { return 0; }\n")

    def to_file(text):
        path = tmp_path / "c.toml"
        path.write_text(text)
        return path

    return to_file


def problems(path, *overrides):
    with pytest.raises(CampaignError) as e:
        load(path, overrides)
    return str(e.value)


def test_the_table_and_its_frozen_copy_mean_the_same(write, tmp_path):
    loaded = load(write(GOOD))
    mutants = loaded.campaign.table("mutants")
    assert mutants["sources"] == [("a.c", "12,40-60"), ("b.c", "")]
    assert (mutants["each_s"], mutants["each_trials"]) == (300.0, 0)
    assert Metric(**mutants["weights"]) == Metric(edit=2.0, line=0.5)
    write_frozen(loaded, tmp_path)
    again = load(tmp_path / "campaign.toml", cwd=Path("/")).campaign
    assert again.table("mutants") == mutants
    assert load(write(GOOD.partition("[mutants]")[0])).campaign.table("mutants") == {}


def test_every_weight_is_one_of_the_metric():
    assert set(WEIGHTS) == set(Metric.__dataclass_fields__) - {"as_tool"}


def test_every_language_is_one_of_universalmutators():
    assert set(LANGUAGES) == set(BY_ENDING.values())


def test_lines():
    assert set(chain(*parse_ranges(""))) == set()
    assert set(chain(*parse_ranges("12,40-42,41"))) == {12, 40, 41, 42}


@pytest.mark.parametrize(
    ("overrides", "plan"),
    [
        ([], {"mutants_s": 1800.0, "each_s": 300.0, "abreast": 1, "count": 6}),
        (["mutants.use=parallel"], {"mutants_s": 1800.0, "each_s": 300.0, "abreast": 2}),
        (
            ["campaign.budget=100000", "mutants.per_mutant=7000", "mutants.share=0.3"],
            {"mutants_trials": 30000, "each_trials": 7000, "abreast": 1, "count": 4},
        ),
    ],
)
def test_what_a_budget_allows(write, overrides, plan):
    found = plan_of(load(write(GOOD), overrides).campaign, State())
    assert {key: found[key] for key in plan} == plan


def test_mutants_come_again_for_what_they_have_left_and_no_more(write):
    campaign = load(write(GOOD)).campaign
    state, seq = State(), count(1)

    def tell(event, t=0.0):
        apply(state, [Record(next(seq), t, event)])

    tell(PhaseStarted("mutants", plan_of(campaign, state)))
    tell(MutantsFound("", file="a.c", mutants=[{"id": "a.c#1", "line": 1}]))
    tell(MutantState("", "a.c#1", "skipped"), 600.0)
    tell(PhaseStarted("target", spent_on_mutants(state, 600.0)))
    assert not wants_mutants(campaign, state)  # none waits
    tell(MutantState("", "a.c#1", "pending"), 900.0)
    tell(MutantProgress("a.c#1", "queued"))
    assert wants_mutants(campaign, state)
    assert plan_of(campaign, state)["mutants_s"] == 1800.0
    tell(Message("info", "the target was fuzzed for long"), 3000.0)
    assert plan_of(campaign, state)["mutants_s"] == 600.0 + (3600.0 - 3000.0)
    tell(PhaseStarted("target", {**state.plan, "before_s": 1800.0}))
    assert not wants_mutants(campaign, state)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[mutants]", '[mutants]\nsource = "x"'), 'did you mean "sources"'),
        (('"a.c:12,40-60", "b.c"', '"gone.c"'), "there is no file"),
        (('"a.c:12,40-60", "b.c"', '"../a.c"'), "outside"),
        (('"b.c"', '"b.c:1,2-3"'), "'b.c:1,2-3': the file has only 1 line"),
        (('["a.c:12,40-60", "b.c"]', "[]"), "name at least one file"),
        (("edit = 2", "edt = 2"), 'did you mean "edit"'),
        (("edit = 2", 'edit = "much"'), "is not a number"),
        (("edit = 2", "edit = nan"), "is not a number from 0"),
        (("edit = 2", "span = 0"), "is not a number from 1"),
        (('budget = "1h"', "seed = 1"), "needs campaign.budget"),
        (('budget = "1h"', 'budget = "5m"'), "too little for one mutant"),
        (('budget = "1h"', "budget = 100000"), "must have the unit"),
        (("[mutants]", "[mutants]\nshare = 1.5"), "a number from 0 to 1"),
        (("[mutants]", "[mutants]\nshare = true"), "a number from 0 to 1"),
        (("[mutants]", '[mutants]\nlanguage = "klingon"'), "not one of"),
        (('build = "$CC -o target $SOURCE/a.c"\n', ""), "needs target.build"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(write, tmp_path, change, words):
    (tmp_path / "target").write_text("#!/bin/sh\n")
    (tmp_path / "target").chmod(0o755)
    assert change[0] in GOOD
    assert words in problems(write(GOOD.replace(*change)))


def test_engines_that_make_mutants_themselves_take_none(write):
    path = write(
        '[target]\nfunction = "tomllib:loads"\n[engine]\nkind = "mu2"\n'
        '[mutants]\nsources = ["tomllib._parser"]\n'
    )
    assert "mu2 has its own mutants" in problems(path)


def test_an_engine_that_mutates_text_takes_them(write):
    path = write(
        '[campaign]\nbudget = "1h"\n[target]\nfunction = "tomllib:loads"\n'
        '[engine]\nkind = "text"\n[mutants]\nsources = ["tomllib._parser"]\n'
    )
    assert load(path).campaign.table("mutants")["sources"] == [("tomllib._parser", "")]
