"""Starting spoton: its keys, and the document of goals that a run is given."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from fuzztui.engines.base.errors import Diagnostic
from fuzztui.engines.base.spec import read_spec
from fuzztui.features.targeting import run_analysis, setup
from fuzztui.features.targeting.analysis import Influence, Request, TargetingAnalysis, TargetsError
from fuzztui.features.targeting.analysis.application import AnalysedApplication
from fuzztui.features.targeting.analysis.modules import Interpreter
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.model import Campaign
from fuzztui.run.campaign.rundir import RunDir, Unfit, prepare_run
from fuzztui.run.inprocess.ask import Ready
from fuzztui.run.supervise.launchers import launcher_for

PYTHON = Interpreter((), (), (3, 11))

GOOD = """\
[target]
function = "thumbs:collect"
generator = "gens:gen_files"
[engine]
kind = "spoton"
aliases = { "lib.Body" = "app.S3Object" }
"""


def campaign(tmp_path: Path, text: str = GOOD) -> Campaign:
    file = tmp_path / "c.toml"
    file.write_text(text)
    return load(file, ["campaign.output=" + str(tmp_path / "run")]).campaign


def set_up(campaign: Campaign) -> Sequence[Message]:
    """What the service of a campaign does before instances start."""
    return setup.TargetingSetup(campaign, RunDir(campaign.output)).setup(lambda words: None)


def said(tmp_path: Path, text: str) -> str:
    with pytest.raises(CampaignError) as caught:
        campaign(tmp_path, text)
    return "\n".join(map(str, caught.value.problems))


def test_keys(tmp_path):
    engine = campaign(tmp_path).engine
    assert engine["aliases"] == {"lib.Body": "app.S3Object"}
    assert (engine["targeted"], engine["fresh"], engine["distances"]) == (None, 0.05, "frontier")
    assert campaign(tmp_path, GOOD + '[oracle]\nmessage = "internal error"\n').table("oracle")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("aliases", "targeted = 1.5\naliases", "engine.targeted"),
        ("aliases", 'aliases = { "a.A" = [1] }\n#', "engine.aliases"),
        ("aliases", 'distances = "near"\naliases', "engine.distances"),
        ("aliases", 'dictionary = ["d"]\naliases', "engine.dictionary: unknown key"),
        ("[engine]", '[text]\ntext = 0.5\n[engine]', "text: is for engine.kind = text or afl"),
        ("[engine]", '[mutants]\nsources = ["a"]\n[engine]', "mutants: is for engine.kind"),
    ],
)  # fmt: skip
def test_what_it_does_not_take(tmp_path, old, new, words):
    assert words in said(tmp_path, GOOD.replace(old, new))


@pytest.fixture(autouse=True)
def _fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No engine is asked whether it could start; there are no sources but what a test says."""
    monkeypatch.setattr(setup, "ready", lambda campaign, progress: {})
    monkeypatch.setattr(
        run_analysis, "gather", lambda request, progress: AnalysedApplication(PYTHON, ())
    )


def test_the_document_of_a_run_is_for_each_of_its_instances(tmp_path, monkeypatch):
    asked: list[Request] = []

    def found(request: Request, progress: object) -> TargetingAnalysis:
        asked.append(request)
        return TargetingAnalysis(("thumbs",), "3.11", notes=("one",))

    monkeypatch.setattr(run_analysis, "find_targets", found)
    monkeypatch.setattr(setup, "ready", lambda campaign, progress: Ready())
    made = campaign(tmp_path)
    prepare_run(made.output)
    home, launcher = RunDir(made.output), launcher_for("spoton")
    set_up(made)
    assert [r.generator for r in asked] == ["gens:gen_files"]
    assert json.loads(home.targets.read_text())["notes"] == ["one"]
    home.instance("main").mkdir()
    launcher.prepare(made, home, 0)
    spec = json.loads((home.instance("main") / "spec.json").read_text())
    assert spec["engine"]["targets"] == "../../targets.json"
    text = home.targets.read_text()
    home.targets.unlink()  # the engine says so, and does not start
    launcher.prepare(made, home, 0)
    assert json.loads((home.instance("main") / "spec.json").read_text()) == spec, (
        "it must not start"
    )
    home.targets.write_text(text)
    moved = made.output.rename(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(moved)
    for run in (moved, tmp_path / "link"):
        targets = read_spec(run / "out/main/spec.json").engine.options["targets"]
        assert targets == str(run / "targets.json")


def test_an_analysis_that_fails_stops_nobody(tmp_path, monkeypatch):
    def fails(request: Request, progress: object) -> TargetingAnalysis:
        raise TargetsError("mypy is not to be had")

    monkeypatch.setattr(run_analysis, "find_targets", fails)
    odd = Ready(aliases={"lib.Body": "odd"})
    monkeypatch.setattr(setup, "ready", lambda campaign, progress: odd)
    made = campaign(tmp_path)
    prepare_run(made.output)
    home = RunDir(made.output)
    said = set_up(made)
    words = 'engine.aliases: "lib.Body": odd'
    assert said == [Message("warning", words)], "what it had been asked before"
    found = TargetingAnalysis.loads(home.targets.read_bytes())
    assert found.notes == ("the analysis failed: mypy is not to be had",)
    assert not found.targets


def test_aliases_that_come_to_nothing_are_for_the_log_once(tmp_path, monkeypatch):
    types = (Influence("lib.Stub", 1), Influence("lib.Bodies", 2))
    document = TargetingAnalysis(("thumbs",), "3.11", types=types)
    monkeypatch.setattr(run_analysis, "find_targets", lambda request, progress: document)
    nothing = {"app.Gone": "there is no such type", "lib.Stub": "there is no such type"}
    remarks = [
        Diagnostic("target.generator: odd", "target.generator", warns=True),
        Diagnostic("so", "", warns=False),
    ]
    monkeypatch.setattr(setup, "ready", lambda campaign, progress: Ready(remarks, nothing))
    aliases = '{ "lib.Body" = "app.S3Object", "lib.Stub" = ["app.Gone"] }'
    made = campaign(tmp_path, GOOD.replace('{ "lib.Body" = "app.S3Object" }', aliases))
    prepare_run(made.output)
    said = set_up(made)
    assert [message.text for message in said] == [
        "target.generator: odd",
        'engine.aliases: "lib.Body": no branch depends on such a type; did you mean lib.Bodies?',
        'engine.aliases: "app.Gone": there is no such type',
    ], "a type of stubs is no class"
    again = set_up(made)
    assert not [message for message in again if "aliases" in message.text]


def test_what_no_engine_could_start_with_is_not_analysed(tmp_path, monkeypatch):
    made = campaign(tmp_path)
    prepare_run(made.output)
    monkeypatch.undo()
    monkeypatch.setattr(run_analysis, "find_targets", lambda *_: pytest.fail("it is analysed"))
    with pytest.raises(Unfit, match="No module named 'thumbs'") as caught:
        set_up(made)
    assert caught.value.key == "target.function"
    assert not RunDir(made.output).targets.exists()
