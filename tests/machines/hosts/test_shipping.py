"""The campaign file of a host: its paths are those over there, and what is shipped is enough."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import tomli

from fuzztui.machines.hosts.receive import campaign_here
from fuzztui.machines.hosts.shipping import Shipment, host_run, shares, shipment, shipped_files
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign import CampaignError, FrozenCampaign, load
from fuzztui.run.campaign.binaries import binaries_of
from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.rundir import prepare_run

BOX = HostPlace("box", "user@box", 2, python=sys.executable)
HERE = HostPlace("here", "", 1)

PYTHON = """
[target]
function = "pkg.parse:parse"
{target}
[engine]
kind = "{kind}"
{engine}
{rest}
"""


class Project:
    """A campaign file in a directory of its own, and a host that gets it."""

    def __init__(self, path: Path) -> None:
        self.path = path / "project"
        self.path.mkdir()
        self.file = self.path / "c.toml"
        self.run = path / "hubrun"
        self.host = path / "hostrun"

    def make(self, *names: str, mode: int = 0o644) -> None:
        for name in names:
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
            path.chmod(mode)

    def load(self, text: str, hosts=("user@box*2", "here")) -> FrozenCampaign:
        self.file.write_text(text)
        return load(self.file, [f"campaign.output={self.run}"], hosts=hosts)

    def python(self, target: str = "", engine: str = "", rest: str = "", kind: str = "zest"):
        self.make("pkg/__init__.py", "pkg/parse.py")
        return self.load(PYTHON.format(target=target, engine=engine, rest=rest, kind=kind))

    def arrive(self, cargo: Shipment) -> FrozenCampaign:
        """Put the files in their places, take the originals away, and load the host's campaign."""
        prepare_run(self.host)
        for directory in cargo.directories:
            (self.host / "shipped" / directory).mkdir(parents=True, exist_ok=True)
        for file in cargo.files:
            path = self.host / "shipped" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.source, path)
            path.chmod(file.mode)
        self.path.rename(self.path.with_name("away"))
        text = campaign_here(cargo.campaign_text, self.host)
        return load(self.host / "campaign.toml", text=text)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_python_target(project):
    project.make("seeds/1", "words.dict", "other/dir/seed", "certs/ca.pem", "certs/node.key")
    rest = '[notify]\ncommand = "true"\n[cluster]\ntls = "certs"\n'
    loaded = project.python(
        engine='seeds = ["seeds", "other/dir/seed"]\ndictionary = "words.dict"',
        rest=f'{rest}[campaign]\nseed = 7\nverdicts = "v.toml"',
    )
    cargo = shipment(loaded, BOX, 1)
    campaign = project.arrive(cargo).campaign
    tree = project.host / "shipped/tree0-project"
    assert campaign.target["path"] == [str(tree)]
    assert campaign.target["cwd"] == str(tree)
    assert (tree / "pkg/parse.py").is_file()
    assert campaign.engine["seeds"] == [str(tree / "seeds"), str(tree / "other/dir/seed")]
    assert campaign.engine["dictionary"] == [str(tree / "words.dict")]
    assert campaign.target["python"] == sys.executable
    assert (campaign.host, campaign.instances, campaign.seed) == ("box", 2, 1007)
    assert campaign.output == project.host
    assert not campaign.hosts and not campaign.table("notify") and not campaign.table("cluster")
    assert "v.toml" not in cargo.campaign_text
    assert not [file.path for file in cargo.files if "certs" in file.path], "a secret of the hub"


def test_tests_keep_their_places_in_the_project(project):
    """Names of properties, of which entries have a hash, are paths in the project."""
    project.make("tests/unit/test_a.py", "conftest.py", "pkg/__init__.py")
    target = 'function = ["tests"]\ninclude = ["pkg"]\nexamples = ".hypothesis/examples"'
    loaded = project.load(f'[target]\n{target}\n[engine]\nkind = "zest"')
    campaign = project.arrive(shipment(loaded, BOX, 0)).campaign
    root = Path(campaign.target["cwd"])
    assert campaign.target["suite"] == [str(root / "tests")]
    assert (root / "tests/unit/test_a.py").is_file() and (root / "conftest.py").is_file()
    assert not campaign.target["examples"], "there is no project in which a user looks for them"


def test_the_interpreter(project):
    loaded = project.python(target=f'python = "{sys.executable}"')
    python = HostPlace("box", "user@box", 1)
    assert 'python = "python3"' in shipment(loaded, python, 0).campaign_text
    assert f'python = "{sys.executable}"' in shipment(loaded, HERE, 1).campaign_text
    other = HostPlace("here", "", 1, python="python3.12")
    assert 'python = "python3.12"' in shipment(loaded, other, 1).campaign_text


def test_directories_elsewhere_and_one_in_another(project, tmp_path):
    (tmp_path / "lib/deep").mkdir(parents=True)
    (tmp_path / "lib/deep/m.py").touch()
    project.make("src/m2.py", "data/x")
    loaded = project.python(
        target=f'path = [".", "src", "{tmp_path}/lib/deep"]\ncwd = "data"\ninclude = ["pkg"]'
    )
    campaign = project.arrive(shipment(loaded, BOX, 0)).campaign
    one, two, three = map(Path, campaign.target["path"])
    assert (one / "pkg/parse.py").is_file()
    assert two == one / "src" and (two / "m2.py").is_file()
    assert (three / "m.py").is_file()
    assert Path(campaign.target["cwd"]) == one / "data"


def test_the_campaigns_directory_stays_if_nothing_of_the_campaign_is_in_it(project):
    project.make("private.txt")
    loaded = project.load('[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n')
    cargo = shipment(loaded, BOX, 0)
    assert cargo.files == ()
    campaign = project.arrive(cargo).campaign
    assert Path(campaign.target["cwd"]).is_dir()
    assert campaign.target["path"] == [campaign.target["cwd"]]


def test_the_same_from_the_hubs_own_copy(project):
    """The hub reads its frozen copy, in which every key is given."""
    project.make("private.txt")
    loaded = project.load('[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n')
    prepare_run(project.run)
    (project.run / "campaign.toml").write_text(loaded.toml())
    origin = json.dumps({"file": str(project.file), "began": 1.0})
    (project.run / "supervisor/origin.json").write_text(origin)
    again = load(project.run / "campaign.toml")
    assert again.campaign.hosts == loaded.campaign.hosts
    cargo = [shipment(campaign, BOX, 0) for campaign in (again, loaded)]
    assert cargo[0].files == cargo[1].files == ()
    assert tomli.loads(cargo[0].campaign_text) == tomli.loads(cargo[1].campaign_text)


def test_a_harness_file_brings_its_directory(project):
    project.make("harness/h.py", "harness/helper.py")
    (project.path / "harness/h.py").write_text("def target(data): pass\ndef generate(s): pass\n")
    loaded = project.load(
        '[target]\nfunction = "harness/h.py"\ngenerator = "harness/h.py:generate"\n'
        'include = ["json"]\n[engine]\nkind = "zest"\n'
    )
    campaign = project.arrive(shipment(loaded, BOX, 0)).campaign
    file, _, name = campaign.target["generator"].partition(":")
    assert Path(file).with_name("helper.py").is_file()
    assert name == "generate"


def test_sources_of_mutants(project):
    name = f"{project.path}/pkg/parse.py:1"
    rest = f'[mutants]\nsources = ["{name}", "pkg.parse"]\n[campaign]\nbudget = "1h"'
    campaign = project.arrive(shipment(project.python(rest=rest), BOX, 0)).campaign
    (file, lines), module = campaign.table("mutants")["sources"]
    assert (campaign.file.parent / file).is_file() and lines == "1"
    assert module == ("pkg.parse", "")


# ----------------------------------------------------------------------- AFL++ targets

AFL = """
[target]
command = {command}
{target}
[engine]
kind = "afl"
instances = 3
{engine}
{rest}
"""


def afl(project, command='["./prog", "@@"]', target="", engine="", rest=""):
    return project.load(AFL.format(command=command, target=target, engine=engine, rest=rest))


def build(project, *names: str) -> None:
    for name in names:
        path = project.run / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        path.chmod(0o755)


def test_a_build_is_shipped_and_not_repeated(project):
    project.make("private.txt")
    build(project, "prog", "lib/libx.so", "prog.cmplog", "seeds/1")
    loaded = afl(
        project,
        target='build = "make"\ncmplog = "./prog.cmplog"\ncoverage = true',
        engine='seeds = ["$BUILD/seeds"]\nafl_path = "."',
        rest='[oracle]\nagainst = ["./prog", "--conf", "$BUILD/lib/libx.so", "@@"]',
    )
    cargo = shipment(loaded, BOX, 0, project.run)
    assert not [f for f in cargo.files if f.path.endswith("private.txt")]
    campaign = project.arrive(cargo).campaign
    there = project.host / "shipped/build"
    assert campaign.target["command"] == [str(there / "prog"), "@@"]
    assert (there / "prog").stat().st_mode & 0o100
    assert campaign.target["cmplog"] == str(there / "prog.cmplog")
    assert campaign.target["build"] == ""
    assert not campaign.target["coverage"]  # the hub measures it, which has the source
    assert campaign.engine["seeds"] == [str(there / "seeds")]
    assert not campaign.engine["afl_path"]
    wanted = [str(there / "prog"), "--conf", str(there / "lib/libx.so"), "@@"]
    assert campaign.table("oracle")["against"] == wanted
    assert Path(campaign.target["cwd"]).is_dir()


def test_the_builds_of_other_binaries_are_shipped(project):
    build(project, "prog", "../build-asan/prog", "../build-cmplog/prog")
    table = 'build = "make"\nbinaries = { asan = { instances = 0, memory = 7 }, cmplog = {} }'
    loaded = afl(project, target=table)
    campaign = project.arrive(shipment(loaded, BOX, 0, project.run)).campaign
    there = project.host / "shipped"
    (asan,) = binaries_of(campaign)
    assert asan.command == (str(there / "build-asan/prog"), "@@")
    assert (asan.build, asan.memory) == ("", 7)
    assert (there / "build-asan/prog").stat().st_mode & 0o100
    assert campaign.target["cmplog"] == str(there / "build-cmplog/prog")


def test_no_build_yet(project):
    with pytest.raises(HostError):
        shipment(afl(project, target='build = "make"'), BOX, 0, project.run)


def test_a_program_and_the_files_that_it_names(project, tmp_path):
    project.make("prog", mode=0o755)
    project.make("conf/a.ini", "unused")
    (tmp_path / "b.ini").touch()
    command = f'["./prog", "conf/a.ini", "{tmp_path}/b.ini", "-x", "@@"]'
    campaign = project.arrive(shipment(afl(project, command), BOX, 0)).campaign
    program, relative, absolute, *rest = campaign.target["command"]
    assert Path(program).is_relative_to(project.host) and Path(program).is_file()
    assert (Path(campaign.target["cwd"]) / relative).is_file() and relative == "conf/a.ini"
    assert Path(absolute).is_relative_to(project.host) and Path(absolute).is_file()
    assert rest == ["-x", "@@"]
    assert not list(project.host.rglob("unused"))


def test_a_program_of_the_system_is_the_hosts_own(project):
    cargo = shipment(afl(project, '["cat", "@@"]'), BOX, 0)
    assert cargo.files == ()
    (program, _) = project.arrive(cargo).campaign.target["command"]
    assert program == shutil.which("cat")


def test_a_working_directory_is_shipped_whole(project):
    project.make("prog", mode=0o755)
    project.make("data/x/y")
    campaign = project.arrive(shipment(afl(project, target='cwd = "data"'), BOX, 0)).campaign
    assert (Path(campaign.target["cwd"]) / "x/y").is_file()


def test_options_of_instances_that_a_host_does_not_have(project):
    project.make("prog", mode=0o755)
    loaded = afl(project, engine='[engine.options]\nmain = []\ns1 = []\ns2 = ["-Z"]')
    loaded = load(project.file, hosts=["user@box*2", "other*3"])
    campaign = project.arrive(shipment(loaded, BOX, 0)).campaign
    assert set(campaign.engine["options"]) == {"main", "s1"}


def test_mutants_are_built_on_the_host(project):
    project.make("src/prog.c", "src/.git/x", "src/build/prog.o")
    loaded = afl(
        project,
        target='build = "make"\nsource = "src"',
        rest='[mutants]\nsources = "prog.c"\n[campaign]\nbudget = "1h"',
    )
    cargo = shipment(loaded, BOX, 0)
    assert [f.path for f in cargo.files] == ["tree1-src/prog.c"]
    campaign = project.arrive(cargo).campaign
    assert campaign.target["build"] == "make"
    assert (Path(campaign.target["source"]) / "prog.c").is_file()


# --------------------------------------------------------------------------- both kinds


def test_trials_are_shared_in_proportion(project):
    project.make("pkg/__init__.py", "pkg/parse.py")
    text = PYTHON.format(target="", engine="", rest="[campaign]\nbudget = 1000", kind="zest")
    loaded = project.load(text, hosts=["a*3", "b*3", "c"])
    assert shares(loaded.campaign) == [428, 429, 143]
    cargo = shipment(loaded, loaded.campaign.hosts[1], 1)
    assert project.arrive(cargo).campaign.budget_trials == 429


@pytest.mark.parametrize(("hosts", "seconds"), [(["a", "b"], 0), (["a"], 3600)])
def test_whether_nothing_new_comes_is_the_hubs_decision(project, hosts, seconds):
    project.make("pkg/__init__.py", "pkg/parse.py")
    rest = '[stop]\nidle = "1h"\nedges = "1h"\ncrashes = 3'
    loaded = project.load(PYTHON.format(target="", engine="", rest=rest, kind="zest"), hosts=hosts)
    there = project.arrive(shipment(loaded, loaded.campaign.hosts[0], 0)).campaign
    assert (there.stop_idle_s, there.stop_edges_s, there.stop_crashes) == (seconds, seconds, 3)


def test_a_budget_of_time_is_each_hosts_own(project):
    loaded = project.python(rest='[campaign]\nbudget = "1h"')
    assert project.arrive(shipment(loaded, BOX, 0)).campaign.budget_s == 3600


def test_the_run_on_a_host(project):
    campaign = project.python(rest='[campaign]\nname = "a b/../c"').campaign
    run = host_run(campaign, BOX)
    assert run.startswith("~/.local/share/fuzztui/runs/a-b-..-c-box-")
    assert run == host_run(campaign, BOX) != host_run(campaign, HERE)
    assert host_run(campaign, HostPlace("box", "box", 1, path="~/x")) == "~/x"


def test_the_hubs_run_is_not_a_hosts(project):
    loaded = project.python()
    with pytest.raises(HostError):
        shipment(loaded, HostPlace("here", "", 1, path=str(project.run)), 1)


def test_a_seed_that_is_gone(project):
    project.make("seeds/1")
    loaded = project.python(engine='seeds = ["seeds"]')
    shutil.rmtree(project.path / "seeds")
    with pytest.raises(HostError) as error:
        shipment(loaded, BOX, 0)
    assert "seeds" in error.value.reason


@pytest.mark.parametrize("text", [None, 7, "x" * (2 << 20), "[", "[a]\nb = "])
def test_a_hub_that_sends_no_campaign(text, tmp_path):
    from fuzztui.kernel.remote.protocol import ProtocolError

    with pytest.raises(ProtocolError):
        campaign_here(text, tmp_path)


def test_the_path_of_a_run_needs_no_quoting(tmp_path):
    run = tmp_path / 'a "b" \\c'
    text = campaign_here('[target]\ncommand = ["@fuzztui-run@/shipped/x", "@fuzztui-run@"]\n', run)
    with pytest.raises(CampaignError) as error:
        load(tmp_path / "c.toml", text=text)  # it is TOML, and lacks a kind
    assert [p.key for p in error.value.problems] == ["engine.kind"]


def test_the_files_of_this_machine_by_their_paths_there(project):
    project.make("seeds/1")
    loaded = project.python(engine='seeds = ["seeds"]')
    found = shipped_files(loaded, project.run)
    cargo = shipment(loaded, BOX, 0, project.run)
    assert dict(found) == {file.path: file.source for file in cargo.files}
    assert project.path / "pkg" / "parse.py" in found.values()
