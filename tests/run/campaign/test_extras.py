"""A campaign that needs an extra is refused without it, before anything starts."""

from pathlib import Path

import pytest
import tomli

from fuzztui.run.campaign import CampaignError, extras, load
from fuzztui.run.campaign.extras import missing_extra, refuse_missing_extras

FILES = {
    "first": """
        [target]
        command = ["/bin/true", "@@"]
        source = "."
        build = "/bin/true"
        [engine]
        kind = "afl"
        seeds = ["seeds"]
        [mutants]
        sources = ["a.c"]
    """,
    "spoton": """
        [target]
        function = "json:loads"
        [engine]
        kind = "spoton"
    """,
}
KEYS = {"first": "mutants", "spoton": "engine.kind"}


@pytest.fixture
def loaded(tmp_path, request):
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "one").write_text("1")
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    file = tmp_path / "c.toml"
    file.write_text('[campaign]\nname = "c"\nbudget = "1h"\n' + FILES[request.param])
    return load(file)


@pytest.mark.parametrize("loaded", FILES, indirect=True)
def test_with_all_packages_nothing_is_refused(loaded):
    refuse_missing_extras(loaded)


@pytest.mark.parametrize(("loaded", "extra"), [(n, n) for n in FILES], indirect=["loaded"])
def test_without_a_package_its_key_is_refused(loaded, extra, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(CampaignError) as refusal:
        refuse_missing_extras(loaded)
    (problem,) = refusal.value.problems
    assert problem.key == KEYS[extra]
    assert extra in problem.text


def test_the_command_names_the_packages_that_are_absent(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert missing_extra("spoton").endswith("install 'mypy>=2.0,<2.5'")
    assert missing_extra("first").endswith(
        "install 'numpy>=1.26' 'rapidfuzz>=3.6' 'python-Levenshtein>=0.27'"
    )
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "numpy" else object())
    assert missing_extra("first").endswith("install 'numpy>=1.26'")


def test_requirements_are_those_of_the_package():
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    declared = tomli.loads(text)["project"]["optional-dependencies"]
    for extra, modules in extras.MODULES.items():
        assert set(modules.values()) <= {text.partition(";")[0] for text in declared[extra]}


def test_the_extras_are_those_of_the_package(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for extra in extras.MODULES:
        assert extra in missing_extra(extra)
