"""Keys that have no effect beside others: a new run refuses them, an old one continues."""

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE, USAGE
from fuzztui.run.campaign import CampaignError, load, refuse_idle_keys, write_frozen
from fuzztui.run.campaign.rundir import prepare_run

PYTHON = """\
[campaign]
budget = "10m"
[target]
function = "app:parse"
[engine]
kind = "{kind}"
"""

AFL = """\
[campaign]
budget = "10m"
[target]
command = ["/bin/true"]
[engine]
kind = "afl"
"""

GENERATOR = 'target.generator="gen.py:make"'
MUTANTS = 'mutants.sources=["app"]'


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gen.py").write_text("def make(r): return r.integer(0, 9)\n")
    (tmp_path / "app.py").write_text("def parse(d): return d\n")
    for kind in ("zest", "mu2", "spoton", "text"):
        (tmp_path / f"{kind}.toml").write_text(PYTHON.format(kind=kind))
    (tmp_path / "afl.toml").write_text(AFL)
    return tmp_path


def sets(overrides):
    return [word for override in overrides for word in ("--set", override)]


REFUSED = [
    ("zest", [MUTANTS, "mutants.order=random", "mutants.weights={edit=2.0}"], "mutants.weights"),
    ("zest", [MUTANTS, "mutants.use=parallel", "mutants.returns=true"], "mutants.returns"),
    ("zest", [MUTANTS, "mutants.stuck_after=0.1"], "mutants.stuck_after"),
    *((kind, ["target.examples=ex"], "target.examples") for kind in ("zest", "mu2")),
    ("afl", ["target.source=."], "target.source"),
    ("afl", ["target.source=.", "oracle.run=['cat']", "oracle.message=x"], "target.source"),
    ("afl", ["target.coverage=true"], "target.coverage"),
]

TAKEN = [
    ("zest", [GENERATOR]),
    ("mu2", [GENERATOR, "engine.constants=true"]),
    ("zest", [GENERATOR, "engine.constants=false"]),
    ("zest", ["engine.constants=true"]),
    ("text", ["engine.constants=true"]),
    ("spoton", [GENERATOR, "engine.constants=true"]),
    ("zest", [MUTANTS, "mutants.weights={edit=2.0}"]),
    ("zest", [MUTANTS, "mutants.order=random"]),
    ("zest", [MUTANTS, "mutants.use=parallel"]),
    ("zest", [MUTANTS, "mutants.use=parallel", "mutants.returns=false"]),
    ("zest", [MUTANTS, "mutants.returns=true"]),
    ("zest", [MUTANTS, "mutants.when=stuck", "mutants.stuck_after=0.2"]),
    ("afl", []),
    ("afl", ["target.source=.", "target.build=make"]),
    ("afl", ["target.build=make", "target.coverage=true"]),
    ("afl", ["target.source=.", "oracle.run=['cat', '$SOURCE/x', '@@']", "oracle.message=x"]),
]


@pytest.mark.parametrize(("kind", "overrides", "key"), REFUSED)
def test_a_key_that_does_nothing_is_refused_to_a_new_run(home, kind, overrides, key, capsys):
    file = home / f"{kind}.toml"
    for words in (["check", str(file), "--no-run"], [str(file), "--detach"]):
        assert main([*words, *sets(overrides)]) == USAGE
        assert f"{key}: " in capsys.readouterr().err
    assert not (home / "runs").exists()
    assert main([str(file), "--detach", "--new", *sets(overrides)]) == USAGE
    with pytest.raises(CampaignError) as e:
        refuse_idle_keys(load(file, overrides))
    (problem,) = e.value.problems
    assert problem.key == key
    assert problem.origin.startswith(f"--set {key}")


@pytest.mark.parametrize(("kind", "overrides"), TAKEN)
def test_a_key_that_does_something_is_taken(home, kind, overrides):
    file = home / f"{kind}.toml"
    assert main(["check", str(file), "--no-run", *sets(overrides)]) == DONE


@pytest.mark.parametrize(("name", "refused"), [("m1", 1), ("m1-s2", 1), ("m", 0), ("m1x", 0)])
def test_names_of_turns_are_refused_beside_mutants(home, name, refused):
    names = [f"engine.names=['{name}']"]
    load(home / "afl.toml", names)
    try:
        load(home / "afl.toml", [*names, "mutants.sources=['app.py']"])
        found = []
    except CampaignError as e:
        found = [problem.text for problem in e.problems if problem.key == "engine.names"]
    assert len(found) == refused


@pytest.mark.parametrize(
    ("overrides", "refused"),
    [([], 0), (["engine.instances=2"], 1), (["engine.names=['main']"], 1)],
)
def test_without_instrumentation_afl_is_alone(home, overrides, refused):
    problems = []
    try:
        made = load(home / "afl.toml", ["engine.extra_args=['-n']", *overrides])
        assert made.campaign.own_names == ["default"]
    except CampaignError as e:
        problems = [problem.key for problem in e.problems]
    assert problems == ["engine.extra_args"] * refused


def test_line_and_key_are_told(home, capsys):
    file = home / "zest.toml"
    file.write_text(file.read_text() + '[mutants]\norder = "random"\nweights = {edit = 2.0}\n')
    assert main(["check", str(file), "--no-run", "--set", MUTANTS]) == USAGE
    assert f"{file}:9: mutants.weights: " in capsys.readouterr().err


def test_with_a_generator_constants_are_drawn_only_if_the_file_says_so(home):
    file = home / "zest.toml"
    assert load(file, []).campaign.engine["constants"]
    for overrides, drawn in (([GENERATOR], False), ([GENERATOR, "engine.constants=true"], True)):
        campaign = load(file, overrides).campaign
        assert campaign.engine["constants"] == drawn == campaign.draws_constants
    spoton = load(home / "spoton.toml", [GENERATOR]).campaign
    assert spoton.engine["constants"] and spoton.draws_constants


@pytest.mark.parametrize(("kind", "overrides", "key"), REFUSED)
def test_a_run_that_began_with_such_a_key_still_opens(home, kind, overrides, key):
    run = home / "runs" / kind
    loaded = load(home / f"{kind}.toml", [*overrides, f"campaign.output={run}"])
    prepare_run(run)
    write_frozen(loaded, run)
    again = load(run / "campaign.toml")
    assert again.campaign.kind == kind
    refuse_idle_keys(again)
    assert main(["check", str(run / "campaign.toml"), "--no-run"]) == DONE


def test_a_file_of_tests_as_the_function_names_the_command_for_it(home):
    (home / "test_app.py").write_text("def test_a(): pass\n")
    (home / "zest.toml").write_text(PYTHON.format(kind="zest").replace("app:parse", "test_app.py"))
    with pytest.raises(CampaignError, match=r'target.function: .*"module:function".*') as raised:
        load(home / "zest.toml")
    assert f"fuzztui test {home / 'test_app.py'}" in str(raised.value)


def test_instances_of_cmplog_are_refused(home):
    text = AFL + '[target.binaries]\ncmplog = { command = ["/bin/true"], instances = 3 }\n'
    (home / "afl.toml").write_text(
        text.replace('[engine]\nkind = "afl"\n', "") + '[engine]\nkind = "afl"\n'
    )
    with pytest.raises(CampaignError, match=r"target.binaries.cmplog.instances: no instance"):
        load(home / "afl.toml")
