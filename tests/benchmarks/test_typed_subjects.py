"""The typed libraries that spoton is evaluated on: their files, and the choice of a set."""

import ast
import sys

import pytest
from lab.handlers import SETS, Handler, find, require

LIBRARIES = {
    "tuning": ["astral", "babel", "icalendar"],
    "held-out": ["humanize", "networkx", "omegaconf", "pydicom", "pypika"],
}
SUBJECTS = [h for name in LIBRARIES for h in find(sys.executable, subjects=name)]


def test_each_set_has_its_campaigns_and_no_others():
    found = {name: [h.name for h in find(sys.executable, subjects=name)] for name in SETS}
    assert {name: found[name] for name in LIBRARIES} == LIBRARIES
    assert len(found["handlers"]) == 7
    assert "csvload" in found["handlers"]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda h: h.name)
def test_a_campaign_names_functions_of_a_harness_that_compiles(subject):
    """Without an import: the libraries are not needed."""
    target = subject.campaign.target
    assert subject.campaign.engine["kind"] == "spoton"
    assert {name.partition(".")[0] for name in target["include"]} == {subject.name}
    file, _, function = target["function"].rpartition(":")
    harness, _, generator = target["generator"].rpartition(":")
    assert file == harness == str(subject.file.with_name(f"{subject.name}_harness.py"))
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    compile(tree, file, "exec")
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    takes = defined[function].args.args[0].annotation
    makes = defined[generator].returns
    assert takes is not None
    assert makes is not None
    assert ast.unparse(takes) == ast.unparse(makes), "what is made is what the function takes"
    imported = {n.name for i in ast.walk(tree) if isinstance(i, ast.Import) for n in i.names}
    assert not imported & {"os", "random", "socket", "time"}


def test_names_are_those_of_the_set():
    assert [h.name for h in find("python", ["babel"], subjects="tuning")] == ["babel"]
    with pytest.raises(SystemExit, match="tuning: no networkx; there are astral, babel, icalendar"):
        find("python", ["networkx"], subjects="tuning")


def test_a_missing_library_is_told_with_the_command_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.handlers._TYPED", tmp_path)
    file = tmp_path / "some.toml"
    (tmp_path / "some_harness.py").write_text("def run(x: str) -> None: ...\ndef gen(r): ...\n")
    file.write_text(
        '[target]\nfunction = "some_harness.py:run"\ngenerator = "some_harness.py:gen"\n'
        'include = ["json", "no_such_library.part"]\n[engine]\nkind = "spoton"\n'
    )
    with pytest.raises(SystemExit) as told:
        require([Handler("some", file, sys.executable)])
    assert str(told.value) == (
        f"{sys.executable} does not have no_such_library:"
        f" python3 -m pip --python {sys.executable} install -e '.[bench]'"
    )


def test_handlers_need_no_typed_library():
    require(find("/no/such/python", ["csvload"]))
