"""The table ``[hosts]`` and ``--host``."""

import jsonschema
import pytest
import tomli

from fuzztui.run.campaign import CampaignError, load
from fuzztui.tools.schema.json_schema import document

HEAD = """\
[target]
function = "tomllib:loads"
include = ["tomllib"]
[engine]
kind = "zest"
instances = 3
"""


@pytest.fixture
def file(tmp_path):
    def write(text: str):
        path = tmp_path / "c.toml"
        path.write_text(HEAD + text)
        return path

    return write


HOSTS = """
[hosts]
"user@box.example.org" = { instances = 8, path = "~/runs/x", python = "/venv/bin/python" }
here = { instances = 2 }
lab = {}
"""


def test_rows(file):
    one, two, three = load(file(HOSTS)).campaign.hosts
    assert (one.name, one.address, one.instances) == ("box", "user@box.example.org", 8)
    assert (one.path, one.python) == ("~/runs/x", "/venv/bin/python")
    assert (two.name, two.address, two.instances) == ("here", "", 2)
    assert (three.address, three.instances, three.path, three.python) == ("lab", 3, "", "")


def test_the_frozen_copy_has_the_same_hosts(file):
    loaded = load(file(HOSTS))
    again = load(file(""), text=loaded.toml())
    assert again.campaign.hosts == loaded.campaign.hosts
    assert load(file("")).campaign.hosts == ()
    assert "hosts" not in load(file("")).toml()


def test_an_engine_that_is_chosen_elsewhere_keeps_the_hosts(file):
    assert len(load(file(HOSTS), kind="mu2").campaign.hosts) == 3


def test_host_options_add_and_change(file):
    hosts = load(file(HOSTS), hosts=["lab*5", "new", "me@new.org*2"]).campaign.hosts
    assert [(h.name, h.instances) for h in hosts[2:]] == [("lab", 5), ("new", 3), ("new-2", 2)]
    (alone,) = load(file(""), hosts=["lab"]).campaign.hosts
    assert alone.instances == 3


def test_keys_of_a_host_can_be_set(file):
    sets = ["hosts.me@box.org.python=/v/bin/python", "hosts.lab.net={ instances = 2 }"]
    first, second = load(file(""), sets, hosts=["me@box.org*4"]).campaign.hosts
    assert (first.address, first.python, first.instances) == ("me@box.org", "/v/bin/python", 4)
    assert (second.address, second.instances) == ("lab.net", 2)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('"-oProxyCommand=x" = {}', "hosts.-oProxyCommand=x"),
        ('"a b" = {}', "hosts.a b"),
        ("box = 3", "hosts.box"),
        ("box = { instances = 0 }", "hosts.box.instances"),
        ("box = { instances = true }", "hosts.box.instances"),
        ("box = { instance = 1 }", "hosts.box.instance"),
        ('box = { path = "runs/x" }', "hosts.box.path"),
        ('box = { path = "/runs/../x" }', "hosts.box.path"),
        ('box = { path = "/" }', "hosts.box.path"),
        ('box = { python = "-c" }', "hosts.box.python"),
        ('box = { python = "python3; true" }', "hosts.box.python"),
        ('box = { python = "/a\\nb" }', "hosts.box.python"),
    ],
)
def test_a_wrong_line_is_named(file, line, key):
    path = file(f"[hosts]\n{line}\n")
    with pytest.raises(CampaignError) as error:
        load(path)
    (problem,) = error.value.problems
    assert problem.key == key
    assert problem.origin == f"{path}:8"


def test_a_table_without_hosts(file):
    with pytest.raises(CampaignError) as error:
        load(file("[hosts]\n"))
    assert [p.key for p in error.value.problems] == ["hosts"]


@pytest.mark.parametrize("text", ["box*x", "box*", "*3", "box*0", "-oX*2", "box*9999999999"])
def test_a_wrong_option_is_named(file, text):
    with pytest.raises(CampaignError) as error:
        load(file(""), hosts=[text])
    (problem,) = error.value.problems
    assert problem.origin == f"--host {text}"


def test_a_budget_of_trials_must_do_for_all_hosts(file):
    path = file("[hosts]\na = { instances = 4 }\nb = { instances = 4 }\n[campaign]\nbudget = 7\n")
    with pytest.raises(CampaignError) as error:
        load(path)
    assert error.value.problems[0].key == "campaign.budget"
    assert load(path, ["campaign.budget=8"])


def test_the_schema_for_editors_agrees(file):
    validator = jsonschema.Draft7Validator(document())
    assert validator.is_valid(tomli.loads(HEAD + HOSTS))
    for wrong in ("[hosts]", "[hosts]\nbox = 3", "[hosts]\nbox = {instances = 0}"):
        assert not validator.is_valid(tomli.loads(HEAD + wrong))
