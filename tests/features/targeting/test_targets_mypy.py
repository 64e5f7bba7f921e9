"""Which mypy is used, and what is said about another one."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from fuzztui.features.targeting.analysis import TargetsError, find_targets, mypyapi
from fuzztui.features.targeting.analysis.document import Request

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "fuzztui"


@pytest.mark.slow
def test_nothing_else_imports_mypy():
    importing = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "mypy" for name in names):
                importing.add(file.relative_to(PACKAGE).as_posix())
    assert importing == {"features/targeting/analysis/mypyapi.py"}


def test_the_range_is_that_of_the_package():
    needed = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (mypy,) = needed["spoton"]
    (major, minor), (last, newest) = mypyapi.OLDEST, mypyapi.NEWEST
    assert mypy == f"mypy>={major}.{minor},<{last}.{newest + 1}"
    assert mypyapi.untested() == ""


@pytest.mark.parametrize(
    ("version", "tested"),
    [("1.20.2", False), ("2.0.0", True), ("2.4.9", True), ("2.5.0", False), ("x", False)],
)
def test_what_is_outside_of_it_is_told(monkeypatch, version, tested):
    monkeypatch.setattr(mypyapi, "version", lambda name: version)
    words = mypyapi.untested()
    assert (words == "") == tested
    assert tested or "pip install 'mypy>=2.0,<2.5'" in words


FAKE = {
    "without a module": ("", "cannot import name 'nodes' from 'mypy'"),
    "without a name": ("class Node: pass\n", "mypy.nodes has no AssertStmt"),
}


@pytest.mark.parametrize("kind", FAKE)
def test_another_mypy_is_refused_in_words(tmp_path, monkeypatch, kind):
    """One in front of the real one: what a child process imports, too."""
    nodes, words = FAKE[kind]
    fake = tmp_path / "fake"
    for name in ("mypy", "mypy-3.0.0.dist-info"):
        (fake / name).mkdir(parents=True)
    (fake / "mypy-3.0.0.dist-info/METADATA").write_text("Name: mypy\nVersion: 3.0.0\n")
    names = {
        "types": "", "build": "build = 0", "errorcodes": "EXHAUSTIVE_MATCH = 0",
        "errors": "CompileError = 0", "modulefinder": "BuildSource = 0", "options": "Options = 0",
        "stubinfo": "stub_distribution_name = 0", "__init__": "",
    }  # fmt: skip
    for name, text in names.items():
        (fake / f"mypy/{name}.py").write_text(f"{text}\n")
    if nodes:
        (fake / "mypy/nodes.py").write_text(nodes)
    (tmp_path / "app.py").write_text("def entry(x: int):\n    if x:\n        return 1\n")
    monkeypatch.setenv("PYTHONPATH", str(fake))
    request = Request("app:entry", sys.executable, path=(str(tmp_path),))
    with pytest.raises(TargetsError) as e:
        find_targets(request, cache=tmp_path / "cache")
    said = str(e.value)
    assert "mypy cannot be used: " in said
    assert words in said
    assert "mypy 3.0.0 is installed; fuzztui was tested with 2.0 to 2.4" in said


@pytest.mark.slow
def test_a_failure_with_another_mypy_names_it(tmp_path, monkeypatch):
    """The names are there, and mean something else."""
    fake = tmp_path / "mypy-9.1.dist-info"
    fake.mkdir()
    (fake / "METADATA").write_text("Name: mypy\nVersion: 9.1\n")
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if sys.argv[0] == '-m':\n"
        "    import mypy.build\n"
        "    mypy.build.build = lambda sources: None\n"
    )
    (tmp_path / "app.py").write_text("def entry(x: int):\n    if x:\n        return 1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    request = Request("app:entry", sys.executable, path=(str(tmp_path),))
    with pytest.raises(TargetsError, match=r"the analysis failed \(TypeError: .*mypy 9.1 is inst"):
        find_targets(request, cache=tmp_path / "cache")


def test_the_module_alone_says_why(tmp_path):
    (tmp_path / "mypy.py").write_text("")
    code = "import fuzztui.features.targeting.analysis.mypyapi"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "TargetsError: mypy cannot be used: " in done.stderr
