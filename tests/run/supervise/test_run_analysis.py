"""A run's document of goals: found once, and again when the program is another one."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fuzztui.features.targeting import run_analysis
from fuzztui.features.targeting.analysis import (
    AnalysedConstant,
    AnalysedGoal,
    Influence,
    Request,
    TargetingAnalysis,
    TargetsError,
)
from fuzztui.features.targeting.analysis.application import AnalysedApplication, gather
from fuzztui.features.targeting.analysis.document import AnalysedModule
from fuzztui.features.targeting.run_analysis import analyse, analyse_again
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, prepare_run

CAMPAIGN = """\
[target]
function = "shop:run"
generator = "gens:gen_order"
path = ["."]
include = ["shop"]
[engine]
kind = "spoton"
"""
TARGET = AnalysedGoal(
    "shop/__init__.py:1:then", "shop", "f", 1, 0, "then", 0, (0,), (), True, (Influence("a.B", 1),)
)


class Lab:
    """A program, a run of it, and an analysis that knows but its sources."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.write("shop/__init__.py", "A = 1")
        self.write("shop/price.py", "B = 1")
        self.write("gens.py", "C = 1")
        (root / "c.toml").write_text(CAMPAIGN)
        self.campaign = load(root / "c.toml", [f"campaign.output={root / 'run'}"]).campaign
        prepare_run(self.campaign.output)
        self.home = RunDir(self.campaign.output)
        self.said: list[str] = []
        self.analyses = 0
        self.meanwhile: Callable[[], None] = lambda: None
        self.result = TargetingAnalysis(("shop",), "3.11", targets=(TARGET,))
        monkeypatch.setattr(run_analysis, "find_targets", self.find)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + "\n")

    def find(self, request: Request, progress: Callable[[str], None]) -> TargetingAnalysis:
        self.analyses += 1
        sources = gather(request, progress).sources.values()
        self.meanwhile()
        made = tuple(AnalysedModule(s.name, str(s.file), s.sha) for s in sources)
        return replace(self.result, modules=made, notes=(f"analysis {self.analyses}",))

    def first(self) -> list[Message]:
        return analyse(self.campaign, self.home, self.said.append)[1]

    def again(self) -> list[Message]:
        self.said.clear()
        return analyse_again(self.campaign, self.home, self.said.append)

    @property
    def document(self) -> TargetingAnalysis:
        return TargetingAnalysis.loads(self.home.targets.read_bytes())


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    return Lab(tmp_path, monkeypatch)


def test_a_program_that_is_what_it_was_is_left_alone(lab):
    assert lab.first() == []
    before = lab.home.targets.stat()
    assert lab.again() == []
    assert (lab.said, lab.analyses) == ([], 1)
    after = lab.home.targets.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("shop/price.py", "shop/price.py has changed: its types are analysed again"),
        ("shop/__init__.py", "shop/__init__.py has changed: its types are analysed again"),
        ("shop/new.py", "shop/new.py has changed: its types are analysed again"),
        ("gens.py", "gens.py has changed: its types are analysed again"),
    ],
)
def test_what_has_changed_is_analysed_again_once(lab, file, words):
    lab.first()
    lab.write(file, "D = 4")
    assert lab.again() == [Message("info", words)]
    assert words in lab.said
    assert lab.document.notes == ("analysis 2",)
    assert lab.again() == []


def test_several_and_what_is_gone_are_named(lab):
    lab.first()
    (lab.root / "shop" / "price.py").unlink()
    lab.write("gens.py", "D = 4")
    (told,) = lab.again()
    assert told.text == "gens.py and shop.price have changed: their types are analysed again"


def test_constants_stay_as_entries_mean_what_they_do_by_them(lab):
    lab.result = replace(lab.result, constants=(AnalysedConstant("one", "==", "shop/price.py:1"),))
    lab.first()
    lab.result = replace(lab.result, constants=(AnalysedConstant("two", "==", "shop/price.py:1"),))
    lab.write("shop/price.py", "B = 2")
    lab.again()
    assert [c.value for c in lab.document.constants] == ["one"]
    assert lab.document.notes == ("analysis 2",)


def test_what_is_no_program_at_the_moment_is_not_analysed(lab):
    lab.first()
    before = lab.document
    lab.write("shop/price.py", "def broken(:")
    for _ in range(2):
        (told,) = lab.again()
        assert told.level == "warning"
        assert told.text.startswith(
            "shop/price.py has changed, but the analysis fails: shop/price.py:1: invalid syntax"
        )
    assert (lab.document, lab.analyses) == (before, 1)
    lab.write("shop/price.py", "B = 2")
    assert [told.level for told in lab.again()] == ["info"]


def test_an_analysis_that_fails_leaves_what_there_is_and_is_tried_again(lab, monkeypatch):
    def fails(request: Request, progress: object) -> TargetingAnalysis:
        raise TargetsError("mypy is not to be had")

    lab.first()
    before = lab.document
    lab.write("shop/price.py", "B = 2")
    monkeypatch.setattr(run_analysis, "find_targets", fails)
    info, warning = lab.again()
    assert info.level == "info"
    assert "the analysis fails: mypy is not to be had" in warning.text
    assert lab.document == before
    monkeypatch.setattr(run_analysis, "find_targets", lab.find)
    assert len(lab.again()) == 1
    assert lab.document.notes == ("analysis 2",)


@pytest.mark.slow
def test_a_full_disk_leaves_what_there_is(lab, monkeypatch):
    def full(file: Path, text: str) -> None:
        raise OSError(28, "No space left on device", str(file))

    lab.first()
    before = lab.document
    lab.write("shop/price.py", "B = 2")
    with monkeypatch.context() as patch:
        patch.setattr(run_analysis, "replace_text", full)
        _, told = lab.again()
    assert told.level == "warning"
    assert told.text == (
        f"shop/price.py has changed, but the analysis fails: {lab.home.targets}: No space left"
        " on device; goals in unchanged modules stay"
    )
    assert lab.document == before
    assert len(lab.again()) == 1
    assert lab.document != before


def test_sources_that_cannot_be_found_now_are_no_reason_not_to_start(lab, monkeypatch):
    def hangs(request: Request, progress: object) -> AnalysedApplication:
        raise subprocess.TimeoutExpired("python", 60)

    lab.first()
    monkeypatch.setattr(run_analysis, "gather", hangs)
    (told,) = lab.again()
    assert told.text.startswith("the target may have changed, but the analysis fails: ")
    assert "timed out after 60 seconds" in told.text


def test_what_failed_at_first_is_tried_again(lab, monkeypatch):
    def fails(request: Request, progress: object) -> AnalysedApplication:
        raise TargetsError("no python")

    with monkeypatch.context() as patch:
        patch.setattr(run_analysis, "gather", fails)
        assert lab.first() == []
        assert lab.document.notes == ("the analysis failed: no python",)
        (told,) = lab.again()
        assert told.text.endswith("but the analysis fails: no python")  # nothing else counts
    (told,) = lab.again()
    assert told.text == "the last analysis of types failed: types are analysed again"
    assert lab.document.targets


def test_what_is_edited_meanwhile_is_analysed_once_more(lab):
    def edit() -> None:
        if lab.analyses == 1:
            lab.write("shop/price.py", "B = 2")

    lab.meanwhile = edit
    (told,) = lab.first()
    words = "shop/price.py has changed during the analysis of types: analysing once more"
    assert told == Message("info", words)
    assert words in lab.said
    assert (lab.analyses, lab.again()) == (2, [])


@pytest.mark.parametrize("file", ["shop/price.py", "gens.py"])
def test_who_goes_on_editing_is_not_waited_for(lab, file):
    lab.meanwhile = lambda: lab.write(file, f"B = {lab.analyses + 1}")
    once, twice = lab.first()
    assert (once.level, twice.level, lab.analyses) == ("info", "warning", 2)
    assert twice.text.startswith(f"{file} has changed during the analysis of types, again; ")
    lab.meanwhile = lambda: None
    (told,) = lab.again()
    assert told.text == f"{file} has changed: its types are analysed again"


def test_a_run_of_an_older_fuzztui_knows_its_modules_only(lab):
    lab.first()
    (lab.home.supervisor / "analysed.json").unlink()
    assert lab.again() == []
    lab.write("gens.py", "D = 4")
    assert lab.again() == []
    lab.write("shop/price.py", "D = 4")
    assert len(lab.again()) == 1


def test_a_program_in_which_no_type_decides_any_more(lab):
    lab.first()
    lab.write("shop/price.py", "D = 4")
    lab.result = replace(lab.result, targets=())
    _, told = lab.again()
    assert told == Message("warning", "no mutation is targeted now, all are random: analysis 2")


def test_a_document_that_cannot_be_read_is_the_engines_to_refuse(lab):
    lab.home.targets.write_text("[")
    assert (lab.again(), lab.analyses) == ([], 0)
