"""What a user says about types and goals: effects, refusals, and what is kept of it."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from spoton_lab import document, write_document

from fuzztui.engines.execute.executor import Execution, Outcome
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.typed import TypeStacks
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.loop.corpus import CorpusEntry, SteerError
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.spoton.distances import Distances, TypeStats
from fuzztui.engines.spoton.feedback import GoalFeedback, Mode
from fuzztui.engines.spoton.goals import Goals, read_document
from fuzztui.engines.spoton.mutator import TypedMutator
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.spoton.steering import TargetingCommands
from fuzztui.engines.spoton.types_file import TYPES, TypesFile
from fuzztui.kernel.wire.commands import (
    Command,
    IgnoreGoal,
    Pause,
    PinGoal,
    SetTargetedShare,
    WeighType,
)

SOURCE = """\
def f(x):
    if x.day.year == 2008:
        name = x.name
        if name:
            return 1
    if x.image:
        return 2
    if x:
        return 3
"""
BRANCHES: dict[int, dict[str, int]] = {
    2: {"datetime.date": 2, "app.File": 3}, 4: {"app.File": 1}, 6: {"app.Image": 0}, 8: {},
}  # fmt: skip
SEEN = ("2:else", "6:then")
"""Arms that are covered: all decisions but that of line 4 are met."""


class Lab:
    """Parts of an engine in a directory; another one there continues from what it has kept."""

    def __init__(
        self,
        root: Path,
        loaded: str = "m",
        sha: str = "",
        targeted: float | None = 0.5,
        mode: Mode = "frontier",
        *,
        source: str = SOURCE,
        branches: dict[int, dict[str, int]] = BRANCHES,
    ) -> None:
        self.file = root / TYPES
        data = document("m", source, branches)
        data["types"] = [{"name": name, "distance": 9} for name in ("lib.date", "lib.Far")]
        data["modules"].append({"name": "late", "file": "/late.py", "sha": "0"})
        late = {**data["targets"][0], "location": "late.py:1:then", "module": "late"}
        data["targets"].append(late)
        read = read_document(write_document(root / "targets.json", data))
        self.goals = Goals(
            read, lambda name: (sha or read.modules[name], 10) if name == loaded else None
        )
        self.stacks = TypeStacks()
        coverage = CoverageMap()
        coverage.grow(64)
        self.coverage = CoverageFeedback(coverage)
        self.distances = Distances(random.Random(1))
        self.feedback = GoalFeedback(self.goals, self.distances, self.coverage, mode)
        relations = self.relations = TypeRelations(self.stacks, {})
        self.mutator = TypedMutator(
            random.Random(2), lambda entry: None, lambda child, parent: None,
            self.distances, relations, targeted=targeted,
        )  # fmt: skip
        self.full = False
        self.types_file = TypesFile(self.file, self.feedback, self.mutator, self.replace)
        self.told: list[str] = []
        self.feedback.on_covered = self.told.append
        self.lost: list[str] = []
        self.feedback.on_lost = self.lost.append
        self.feedback.renew()
        self.steers = TargetingCommands(self.feedback, self.mutator, relations, self.types_file)
        if loaded == "m" and not sha:
            self.cover(*SEEN)

    def replace(self, file: Path, data: bytes) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        file.write_bytes(data)

    def cover(self, *where: str) -> None:
        numbers = [self.goals.find(f"m.py:{w}") for w in where]
        cells = sum(1 << 8 * self.goals.all[n].cells[0] for n in numbers if n is not None)
        seen = self.coverage.seen | cells
        self.feedback.learn(
            Execution(Outcome.SUCCESS, b"", seen), CorpusEntry(0, "id:000000", b"", 0)
        )
        self.coverage.seen = seen

    def obey(self, *commands: Command) -> str:
        """The answer to the last one."""
        return [self.steers.execute(command) for command in commands][-1]

    @property
    def set(self) -> tuple[str, set[str]]:
        """What is pinned, and what is ignored."""
        return self.feedback.pinned, self.feedback.ignored

    def refusal(self, command: Command) -> str:
        before = self.types_file.data()
        with pytest.raises(SteerError) as caught:
            self.obey(command)
        assert self.types_file.data() == before
        return str(caught.value)

    def kept(self) -> Any:
        return json.loads(self.file.read_bytes())


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


# ------------------------------------------------------------------------------- types


def test_a_type_is_weighed_and_the_answer_tells_what_that_does(lab: Lab) -> None:
    # Chances: date 1/3, File 1/4, Image 1.
    assert lab.obey(WeighType("datetime.date", 4)) == (
        "datetime.date weighs 4: 21% -> 52% of picks"
    )
    assert lab.distances.probability("datetime.date") == pytest.approx(16 / 31)
    assert lab.kept()["types"]["datetime.date"]["weight"] == 4
    assert lab.obey(WeighType("File", 0)) == "app.File is banned: 10% -> 0% of picks"
    assert "app.File" not in {lab.distances.pick() for _ in range(500)}


def test_a_type_that_does_not_matter_now(lab: Lab) -> None:
    assert lab.obey(WeighType("Far", 2.5)) == ("lib.Far weighs 2.5; no current goal depends on it")
    assert lab.kept()["types"]["lib.Far"]["weight"] == 2.5


def test_when_all_types_are_banned_it_says_so(lab: Lab) -> None:
    for name in ("datetime.date", "app.File"):
        assert "no type is left" not in lab.obey(WeighType(name, 0))
    assert lab.obey(WeighType("Image", 0)).endswith(
        "of picks; all remaining types are banned, so every mutation is random"
    )
    assert lab.distances.pick() is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("datetime.dat", "no type 'datetime.dat' decides any branch; did you mean datetime.date"),
        ("fille", "no type 'fille' decides any branch; did you mean app.File?"),
        ("qqqq", "no type 'qqqq' decides any branch"),
        ("", "no type '' decides any branch"),
        ("ate", "no type 'ate' decides any branch; did you mean "),
        ("date", "'date' is ambiguous: choose datetime.date or lib.date"),
        ("x" * 5000, f"no type '{'x' * 80}...' decides any branch"),
    ],
)
def test_types_that_are_refused(lab: Lab, name: str, words: str) -> None:
    assert lab.refusal(WeighType(name, 1)).startswith(words)


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), 1e7])
def test_weights_that_are_none(lab: Lab, weight: float) -> None:
    assert "a weight is from 0 to 1,000,000, not" in lab.refusal(WeighType("File", weight))


# ----------------------------------------------------------------------------- the share


def test_the_share_that_aims(lab: Lab) -> None:
    assert lab.obey(SetTargetedShare(1)) == "50% -> 100% of the mutations are targeted"
    assert lab.mutator.targeted == 1.0
    assert (lab.kept()["targeted"], lab.kept()["steered"]) == (1.0, True)
    assert "targeted is 1.5" in lab.refusal(SetTargetedShare(1.5))
    assert "targeted is nan" in lab.refusal(SetTargetedShare(float("nan")))


def test_the_campaigns_share_counts_until_a_person_sets_it(tmp_path: Path) -> None:
    Lab(tmp_path, targeted=0.5).types_file.keep()
    second = Lab(tmp_path, targeted=0.7)
    assert second.mutator.targeted == 0.7
    second.obey(SetTargetedShare(0.2))
    assert Lab(tmp_path, targeted=0.5).mutator.targeted == 0.2


def test_without_a_share_what_mutations_bring_decides(tmp_path: Path) -> None:
    lab = Lab(tmp_path, targeted=None)
    assert (lab.types_file.data()["adaptive"], lab.mutator.targeted) == (True, 0.5)
    lab.mutator.mixture.mutate(CorpusEntry(0, "x", b"abc", 0))
    for _ in range(5):
        lab.mutator.mixture.saved(Candidate(b"", "havoc,rep:1", 0), "queue")
    assert lab.mutator.targeted < 0.3
    lab.obey(SetTargetedShare(0.9))
    assert (lab.kept()["adaptive"], lab.mutator.targeted) == (False, 0.9)
    answer = lab.obey(SetTargetedShare(adaptive=True))
    assert answer.startswith("90% -> ")
    assert answer.endswith(" of the mutations are targeted, adaptive")
    assert lab.mutator.targeted < 0.3
    assert (lab.kept()["adaptive"], lab.kept()["steered"]) == (True, True)
    assert Lab(tmp_path, targeted=0.5).mutator.set_share is None, "a user has set it"
    old = lab.kept() | {"targeted": 0.4}
    del old["adaptive"]
    lab.file.write_text(json.dumps(old))
    assert Lab(tmp_path, targeted=None).mutator.set_share == 0.4, "of an earlier version"


# ------------------------------------------------------------------------------ the pin


def test_a_target_is_pinned_and_unpinned(lab: Lab) -> None:
    lab.distances.record_match("datetime.date")
    words = lab.obey(PinGoal("m.py:2:then"))
    assert words == "m.py:2:then is pinned: datetime.date 2, app.File 3"
    assert lab.distances.now == {"datetime.date": 2, "app.File": 3}
    assert lab.kept()["pinned"] == "m.py:2:then"
    assert lab.obey(PinGoal("")) == "m.py:2:then is no longer pinned"
    assert "app.Image" in lab.distances.now
    assert lab.kept()["pinned"] == ""
    assert lab.obey(PinGoal("")) == "no goal was pinned"


def test_of_many_types_the_answer_names_the_nearest(lab: Lab, monkeypatch: Any) -> None:
    monkeypatch.setattr("fuzztui.engines.spoton.steering._NAMED", 1)
    words = lab.obey(PinGoal("m.py:2:then"))
    assert words.startswith("m.py:2:then is pinned: datetime.date 2 and 1 more; but ")


def test_a_pin_that_may_come_to_nothing(lab: Lab) -> None:
    lab.obey(WeighType("app.File", 0), SetTargetedShare(0))
    words = lab.obey(PinGoal("m.py:4:then"))  # not on the frontier: a user may know better
    lab.types_file.write()
    assert [row["location"] for row in lab.kept()["left"][:2]] == ["m.py:4:then", "m.py:2:then"]
    assert words.split("; but ") == [
        "m.py:4:then is pinned: app.File 1",
        "all its types are banned",
        "no mutated entry has a part of such a type yet",
        "no mutation is targeted: targeted is 0",
    ]
    lab.relations.meet({lab.stacks.push(0, "app.File")})
    assert "no entry that was mutated" not in lab.obey(PinGoal("m.py:4:then"))


def test_a_pin_ends_when_its_target_is_covered(lab: Lab) -> None:
    lab.obey(PinGoal("m.py:2:then"))
    lab.cover("6:else")
    assert (lab.feedback.pinned, lab.told) == ("m.py:2:then", [])
    lab.cover("2:then")
    assert (lab.feedback.pinned, lab.told) == ("", ["m.py:2:then"])
    assert lab.distances.now == {"app.File": 1}  # what is behind it
    lab.types_file.write()
    assert lab.kept()["pinned"] == ""


def test_a_pin_that_is_covered_by_what_is_run_again_after_a_restart(tmp_path: Path) -> None:
    """Killed when the entry was saved, and before its target was known to be covered."""
    Lab(tmp_path).obey(PinGoal("m.py:6:else"))
    second = Lab(tmp_path)
    assert second.feedback.pinned == "m.py:6:else"
    second.cover("6:else")
    assert second.told == ["m.py:6:else"]


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("m.py:2:thn", "there is no goal 'm.py:2:thn'; did you mean m.py:2:then"),
        ("m.py:9:loop", "there is no goal 'm.py:9:loop'"),
        ("n.py:2:then", "there is no goal 'n.py:2:then'; did you mean m.py:2:then"),
        ("zzz", "there is no goal 'zzz'"),
        ("m.py:2:else", "m.py:2:else is covered already"),
        ("m.py:8:then", "m.py:8:then cannot be targeted: the analysis found no type"),
        ("late.py:1:then", "cannot be targeted: its module late is not loaded yet"),
    ],
)
def test_targets_that_are_refused(lab: Lab, location: str, words: str) -> None:
    lab.obey(PinGoal("m.py:4:then"), IgnoreGoal("m.py:6:else"))
    for command in (PinGoal(location), IgnoreGoal(location), IgnoreGoal(location, False)):
        assert words in lab.refusal(command)
    assert lab.feedback.pinned == "m.py:4:then"
    assert lab.feedback.ignored == {"m.py:6:else"}


def test_a_target_of_a_module_that_has_changed(tmp_path: Path) -> None:
    Lab(tmp_path).obey(IgnoreGoal("m.py:2:then"))
    assert Lab(tmp_path, loaded="late").feedback.ignored == {"m.py:2:then"}  # m may come yet
    lab = Lab(tmp_path, sha="another")
    assert lab.feedback.ignored == set()
    words = "its module m has changed since the analysis"
    assert words in lab.refusal(PinGoal("m.py:2:then"))
    assert lab.goals.is_lost("m.py:2:then")
    assert lab.goals.is_lost("no.py:1:then")
    assert lab.types_file.data()["changed"] == ["m.py"]
    assert not lab.goals.is_lost("late.py:1:then")
    assert not Lab(tmp_path).goals.is_lost("m.py:2:then")


def test_what_was_set_rests_while_a_module_is_not_what_was_analysed(tmp_path: Path) -> None:
    first = Lab(tmp_path)
    first.obey(PinGoal("m.py:4:then"), IgnoreGoal("m.py:6:else"))
    rests = "the pin of m.py:4:then is suspended until the next analysis"
    for lost in ([rests], [], []):  # once, however often its worker is started
        changed = Lab(tmp_path, sha="another")
        assert changed.set == ("", set())
        assert changed.lost == lost
        changed.types_file.write()
        assert changed.kept()["pinned"] == ""
    again = Lab(tmp_path)
    assert again.set == ("m.py:4:then", {"m.py:6:else"})
    again.types_file.write()
    assert again.kept()["resting"] == ["", []]
    changed = Lab(tmp_path, sha="another")
    changed.obey(PinGoal(""))
    assert Lab(tmp_path).feedback.pinned == ""


def test_what_rests_is_taken_back(tmp_path: Path) -> None:
    first = Lab(tmp_path)
    first.obey(PinGoal("m.py:4:then"), IgnoreGoal("m.py:6:else"), IgnoreGoal("m.py:2:then"))
    changed = Lab(tmp_path, sha="another")
    changed.full = True
    for command in (PinGoal(""), IgnoreGoal("m.py:6:else", False)):
        assert "would be lost" in changed.refusal(command)
    changed.full = False
    assert changed.obey(IgnoreGoal("m.py:6:else")) == "m.py:6:else is ignored; " + (
        "all remaining types are banned, so every mutation is random"
    )
    assert changed.feedback.ignored == set()  # it rests as before
    words = changed.obey(IgnoreGoal("m.py:6:else", False))
    assert words == "m.py:6:else is no longer ignored"
    assert changed.obey(PinGoal("")) == "m.py:4:then is no longer pinned"
    assert changed.obey(PinGoal("")) == "no goal was pinned"
    assert "has changed since" in changed.refusal(IgnoreGoal("m.py:6:else", False))
    again = Lab(tmp_path)
    assert again.set == ("", {"m.py:2:then"})


def test_what_rests_waits_for_its_module_to_be_loaded(tmp_path: Path) -> None:
    Lab(tmp_path).obey(PinGoal("m.py:4:then"))
    Lab(tmp_path, sha="another").types_file.write()
    for _ in range(2):
        late = Lab(tmp_path, loaded="late")
        assert (late.feedback.suspended_pin, late.lost) == ("m.py:4:then", [])
        late.types_file.write()
    assert Lab(tmp_path).feedback.pinned == "m.py:4:then"


MOVED = SOURCE.replace("    if x.image", "    if x.colour:\n        return 9\n    if x.image")
"""Two lines more: where the decision of line 6 was there is another one."""


@pytest.mark.parametrize("rests", [False, True])
def test_what_may_be_another_branch_after_an_analysis_is_told_once(
    tmp_path: Path, rests: bool
) -> None:
    first = Lab(tmp_path)
    first.obey(PinGoal("m.py:4:then"), IgnoreGoal("m.py:6:else"), IgnoreGoal("m.py:2:then"))
    if rests:
        Lab(tmp_path, source=SOURCE, sha="another").types_file.write()
    again = Lab(tmp_path, source=MOVED)
    assert again.set == (
        "m.py:4:then", {"m.py:2:then", "m.py:6:else"},
    )  # fmt: skip
    assert again.lost == [
        "m.py has changed: m.py:4:then, which is pinned, and m.py:2:then and m.py:6:else, which are"
        " ignored, may be other branches now"
    ]
    again.types_file.write()
    again = Lab(tmp_path, source=MOVED)
    assert again.lost == []
    again.obey(PinGoal(""), IgnoreGoal("m.py:2:then", False))
    assert Lab(tmp_path, source=MOVED).lost == []
    (told,) = Lab(tmp_path, source=MOVED + "\n").lost
    assert told == ("m.py has changed: m.py:6:else, which is ignored, may be another branch now")


def test_what_is_set_in_a_file_that_is_what_it_was_is_no_matter_of_doubt(tmp_path, lab):
    lab.obey(PinGoal("m.py:4:then"))
    kept = lab.kept()
    lab.file.write_text(json.dumps({**kept, "analysis": "another"}))  # another module has changed
    assert Lab(tmp_path).lost == []


def test_what_an_analysis_finds_no_more_ends_with_a_word(tmp_path: Path) -> None:
    first = Lab(tmp_path)
    first.obey(
        PinGoal("m.py:4:then"),
        IgnoreGoal("m.py:6:else"),
        IgnoreGoal("m.py:2:then"),
        WeighType("datetime.date", 3.0),
    )
    moved = SOURCE.replace("    if x.image", "\n    if x.image")
    branches = {line + (line > 4): types for line, types in BRANCHES.items()}
    again = Lab(tmp_path, source=moved, branches=branches)
    assert again.feedback.pinned == "m.py:4:then"
    assert again.feedback.ignored == {"m.py:2:then"}
    assert again.lost == [
        "m.py:6:else is no longer ignored: not a goal now",
        "m.py has changed: m.py:4:then, which is pinned, and m.py:2:then, which is ignored, may be"
        " other branches now",
    ]
    assert again.distances.stats_by_type["datetime.date"].weight == 3
    again.types_file.write()
    again = Lab(tmp_path, source=moved, branches={9: {}})
    assert again.set == ("", set())
    assert again.lost == [
        "m.py:2:then is no longer ignored: not a goal now",
        "m.py:4:then is no longer pinned: not a goal now",
    ]


def test_how_often_targets_were_reached_is_of_one_analysis(tmp_path: Path) -> None:
    first = Lab(tmp_path)
    first.feedback.sampled_trials, first.feedback.reached = 10, {"m.py:2:then": 4}
    first.types_file.write()
    assert (Lab(tmp_path).feedback.sampled_trials, first.types_file.data()["changed"]) == (10, [])
    assert Lab(tmp_path).feedback.reached == {"m.py:2:then": 4}
    older = {key: value for key, value in first.kept().items() if key != "analysis"}
    for of in ({}, {"analysis": "another"}):  # an older fuzztui did not tell of which they are
        first.file.write_text(json.dumps({**older, **of}))
        again = Lab(tmp_path).feedback
        assert (again.sampled_trials, again.reached) == (0, {})


# --------------------------------------------------------------------- what is ignored


def test_a_target_is_ignored_and_minded_again(lab: Lab) -> None:
    assert lab.obey(IgnoreGoal("m.py:6:else")) == "m.py:6:else is ignored"
    assert lab.distances.now == {"datetime.date": 2, "app.File": 3}
    assert {lab.distances.pick() for _ in range(100)} == {"datetime.date", "app.File"}
    kept = lab.kept()
    assert kept["ignored"] == ["m.py:6:else"]
    # It is left anyway, and on the frontier; and told of before others.
    assert (kept["uncovered"], kept["frontier"]) == (6, 2)
    assert [row["location"] for row in kept["left"][:2]] == ["m.py:6:else", "m.py:2:then"]
    assert lab.obey(IgnoreGoal("m.py:6:else", False)) == "m.py:6:else is no longer ignored"
    assert lab.distances.now["app.Image"] == 0
    assert lab.kept()["ignored"] == []
    assert lab.obey(IgnoreGoal("m.py:6:else", False)) == "m.py:6:else was not ignored"


def test_without_the_frontier_what_is_further_off_is_aimed_at(lab: Lab) -> None:
    for location in ("m.py:2:then", "m.py:6:else", "m.py:4:else"):
        assert lab.obey(IgnoreGoal(location)) == f"{location} is ignored"
    assert lab.distances.now == {"app.File": 1}  # of line 4, whose decision nobody has met
    words = lab.obey(IgnoreGoal("m.py:4:then"))
    assert words.endswith("is ignored; all remaining types are banned, so every mutation is random")
    assert (lab.distances.now, lab.distances.pick()) == ({}, None)


def test_what_is_ignored_is_left_out_of_the_papers_distances(tmp_path: Path) -> None:
    lab = Lab(tmp_path, mode="global")
    # File's distance is that in the target with the most types, while that counts.
    assert lab.distances.now == {"datetime.date": 2, "app.File": 3, "app.Image": 0}
    lab.obey(IgnoreGoal("m.py:2:then"))
    assert lab.distances.now == {"app.File": 1, "app.Image": 0}


def test_a_pin_ends_an_ignore_and_the_other_way_round(lab: Lab) -> None:
    lab.obey(IgnoreGoal("m.py:2:then"))
    words = lab.obey(PinGoal("m.py:2:then"))
    assert words.startswith("m.py:2:then is pinned, and no longer ignored: datetime.date 2, app")
    assert (lab.kept()["pinned"], lab.kept()["ignored"]) == ("m.py:2:then", [])
    lab.obey(IgnoreGoal("m.py:6:else"))  # what else is ignored has no say in a pin
    assert lab.distances.now == {"datetime.date": 2, "app.File": 3}
    words = lab.obey(IgnoreGoal("m.py:2:then"))
    assert words == "m.py:2:then is no longer pinned, and ignored"
    assert lab.distances.now == {"app.File": 1}
    assert lab.kept()["pinned"] == ""
    assert lab.kept()["ignored"] == ["m.py:2:then", "m.py:6:else"]


def test_an_ignore_ends_when_its_target_is_covered_anyhow(tmp_path: Path, lab: Lab) -> None:
    lab.obey(IgnoreGoal("m.py:2:then"), IgnoreGoal("m.py:6:else"))
    lab.cover("2:then")
    assert (lab.feedback.ignored, lab.told) == ({"m.py:6:else"}, [])
    second = Lab(tmp_path)  # killed before that was written: what is run again tells
    assert second.feedback.ignored == {"m.py:2:then", "m.py:6:else"}
    second.cover("2:then")
    second.types_file.write()
    assert second.kept()["ignored"] == ["m.py:6:else"]


# ------------------------------------------------------------------------ what is kept


def test_all_of_it_outlives_a_restart(tmp_path: Path) -> None:
    commands = [
        WeighType("datetime.date", 3),
        WeighType("Far", 0),
        PinGoal("m.py:2:then"),
        IgnoreGoal("m.py:6:else"),
        IgnoreGoal("m.py:4:then"),
        SetTargetedShare(0.25),
    ]
    for command in commands:
        Lab(tmp_path).obey(command)
    second = Lab(tmp_path)
    assert second.distances.stats_by_type["datetime.date"].weight == 3
    assert second.distances.stats_by_type["lib.Far"].weight == 0
    assert second.feedback.pinned == "m.py:2:then"
    assert second.feedback.ignored == {"m.py:4:then", "m.py:6:else"}
    assert second.distances.now == {"datetime.date": 2, "app.File": 3}
    assert second.mutator.targeted == 0.25
    before = second.kept()
    for command in commands:  # killed before it was answered: it is done again
        second.obey(command)
    assert second.kept() == before


def test_what_another_version_or_hand_has_written_of_it(tmp_path: Path, lab: Lab) -> None:
    lab.obey(PinGoal("m.py:2:then"))
    kept = lab.kept()
    lab.file.write_text(json.dumps({k: v for k, v in kept.items() if k != "ignored"}))
    old = Lab(tmp_path)
    assert old.set == ("m.py:2:then", set())
    lab.file.write_text(json.dumps({**kept, "ignored": ["m.py:2:then", "m.py:6:else"]}))
    assert Lab(tmp_path).feedback.ignored == {"m.py:6:else"}
    lab.file.write_text(json.dumps({**kept, "ignored": 7}))
    torn = Lab(tmp_path)
    assert torn.set == ("", set())


@pytest.mark.parametrize(
    "command",
    [
        WeighType("Far", 4),
        PinGoal("m.py:2:then"),
        PinGoal("m.py:6:else"),
        PinGoal(""),
        IgnoreGoal("m.py:4:then"),
        IgnoreGoal("m.py:6:else", False),
        SetTargetedShare(0.9),
    ],
)
def test_a_full_disk_is_a_refusal(lab: Lab, command: Command) -> None:
    """Whatever was done would be forgotten with the next kill: so it is not done."""
    lab.obey(PinGoal("m.py:4:then"), IgnoreGoal("m.py:6:else"), WeighType("Image", 7))
    lab.full = True
    with pytest.raises(SteerError, match=r"cannot write \.types \(No space left on device"):
        lab.obey(command)
    assert lab.distances.stats_by_type.get("lib.Far", TypeStats()).weight == 1
    assert (lab.mutator.targeted, lab.types_file.steered) == (0.5, False)
    assert lab.set == ("m.py:4:then", {"m.py:6:else"})
    assert lab.distances.now == {"app.File": 1}
    assert lab.distances.stats_by_type["app.Image"].weight == 7
    lab.full = False
    assert lab.obey(command)


def test_what_it_does_not_know(lab: Lab) -> None:
    assert lab.refusal(Pause()) == "this engine does not support the command pause"


def test_a_damaged_share_is_not_taken_over(tmp_path: Path, lab: Lab) -> None:
    lab.obey(SetTargetedShare(0.9))
    for share in (7, "0.9", None, -1):
        data = {**lab.kept(), "targeted": share}
        lab.file.write_text(json.dumps(data))
        assert Lab(tmp_path).mutator.targeted == 0.5


def test_trials_do_not_depend_on_when_the_figures_are_written(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Lab(tmp_path / "other")
    one, two = [], []
    for trial in range(300):
        if trial == 100:
            lab.obey(WeighType("Image", 0.1))
            other.obey(WeighType("Image", 0.1))
        if trial % 7 == 0:
            other.types_file.keep()
        one.append(lab.distances.pick())
        two.append(other.distances.pick())
    assert one == two
    assert len(set(one)) == 3
