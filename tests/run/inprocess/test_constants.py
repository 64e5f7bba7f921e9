"""Which constants the choices in inputs select, for whatever command runs them."""

import json
from pathlib import Path

import pytest

from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.instrument.target import Target
from fuzztui.features.targeting.run_constants import keep_constants
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.constants import constants_file, constants_json, constants_of
from fuzztui.run.inprocess.spec import write_spec

CONSTANTS = {"str": [{"value": "frobnicate"}], "bytes": [], "int": []}
CHOICES = b"\xff\x00\x00"
FILE = """\
[target]
function = "json:loads"
generator = "gen:make"
[engine]
kind = "{kind}"
"""


@pytest.fixture
def home(tmp_path: Path) -> RunDir:
    run = RunDir(tmp_path / "run")
    for folder in ("out/main", "supervisor", "mutants/work/1-x", "mutants/slots/m7/out/s1"):
        (run.path / folder).mkdir(parents=True)
    run.campaign.write_text(FILE.format(kind="spoton"))
    return run


def drawn(run: RunDir, place: str, kind: str, *overrides: str) -> str:
    """What a generator of texts makes of choices in the engine that a command starts."""
    directory = run.path / place
    campaign = load(run.campaign, overrides, kind=kind).campaign
    file = run.path.parent / "spec.json"
    write_spec(file, campaign, directory)
    target = Target(str, lambda s: s.text("abcdefinorkt", 0, 20), (), text=True)
    form = form_of(target, read_spec(file).engine, bytes)
    return form.build(CHOICES)


@pytest.mark.parametrize(
    "place",
    ["out/main", "out/none", "supervisor/main", "mutants/work/1-x", "mutants/slots/m7/out/s1"],
)
@pytest.mark.parametrize("kind", ["zest", "mu2", "spoton"])
@pytest.mark.parametrize("older", [False, True])
def test_choices_are_read_as_the_run_drew_them(
    home: RunDir, place: str, kind: str, *, older: bool
) -> None:
    if older:
        home.targets.write_text(json.dumps({"targets": [], "constants": CONSTANTS}))
    else:
        home.constants.write_text(constants_json(CONSTANTS))
    assert drawn(home, place, kind) == "frobnicate"
    assert drawn(home, place, kind, "engine.constants=false") == "frobnicate"


def test_a_file_of_that_name_above_is_not_the_run_s(home: RunDir, tmp_path: Path) -> None:
    (tmp_path / "constants.json").write_text('{"speed_of_light": 299792458}')
    (tmp_path / "campaign.toml").write_text(FILE.format(kind="zest"))
    assert constants_file(home.instance("main")) is None
    assert constants_file(tmp_path / "scratch" / "out" / "main") is None  # that of a question


def test_a_run_that_drew_none_reads_none(home: RunDir) -> None:
    home.targets.write_text(json.dumps({"targets": [], "constants": CONSTANTS}))
    home.campaign.write_text(FILE.format(kind="spoton") + "constants = false\n")
    assert drawn(home, "out/main", "spoton") != "frobnicate"
    assert constants_of(home) is None
    home.targets.unlink()
    home.campaign.write_text(FILE.format(kind="spoton"))
    assert constants_file(home.instance("main")) is None


def test_an_older_run_of_spoton_gets_its_file_when_it_starts_again(home: RunDir) -> None:
    home.targets.write_text(json.dumps({"targets": [], "constants": CONSTANTS}))
    (home.instance("main") / "spec.json").write_text('{"engine": {"targets": "x"}}')
    before = constants_of(home)
    keep_constants(load(home.campaign).campaign, home, lambda words: None)
    assert home.constants.read_bytes() == before == constants_of(home)
    assert ConstantPool.read(home.constants).texts("abcdefinorkt", 0, 20) == ["frobnicate"]
