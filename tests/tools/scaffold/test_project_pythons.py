"""The interpreter of a project is that of its virtual environment."""

import os
import sys
from pathlib import Path

import pytest

from fuzztui.tools.scaffold.interpreters import asked, project_pythons


def environment(folder: Path, version: str = "3.12.1") -> Path:
    """A virtual environment whose interpreter only answers."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    answer = f'[[{version.replace(".", ", ")}], "{folder}/site"]'
    python.write_text(f"#!/bin/sh\necho '{answer}'\n")
    python.chmod(0o755)
    return python


def paths(project: Path, **environ: str) -> list[Path]:
    return [python.path for python in project_pythons(project, environ)]


def test_the_projects_own_comes_first_and_fuzztuis_last(tmp_path):
    project = tmp_path / "project"
    own = environment(project / ".venv")
    active = environment(tmp_path / "active")
    found = list(project_pythons(project, {"VIRTUAL_ENV": str(tmp_path / "active")}))
    assert [python.path for python in found] == [own, active, Path(sys.executable)]
    assert (found[0].version, found[0].packages) == ((3, 12, 1), project / ".venv" / "site")
    assert len({python.origin for python in found}) == 3


def test_environments_of_other_tools(tmp_path):
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / ".git").mkdir()
    uv = environment(project / "sub" / ".uv-env")
    conda = environment(tmp_path / "conda")
    above = environment(project / ".venv")
    found = paths(
        project / "sub", UV_PROJECT_ENVIRONMENT=".uv-env", CONDA_PREFIX=str(tmp_path / "conda")
    )
    assert found == [uv, conda, above, Path(sys.executable)]


@pytest.mark.parametrize(("repository", "used"), [(None, False), ("project", False), (".", True)])
def test_an_environment_above_is_the_projects_in_its_repository_only(repository, used, tmp_path):
    (tmp_path / "project").mkdir()
    if repository:
        (tmp_path / repository / ".git").touch()
    above = environment(tmp_path / ".venv")
    assert (above in paths(tmp_path / "project")) is used


def test_a_folder_without_pyvenv_cfg_is_no_environment(tmp_path):
    python = environment(tmp_path / "venv")
    (tmp_path / "venv" / "pyvenv.cfg").unlink()
    assert python not in paths(tmp_path)


@pytest.mark.parametrize(
    ("version", "problem"), [("3.10.4", True), ("2.7.18", True), ("3.11.0", False)]
)
def test_old_versions_have_a_problem(version, problem, tmp_path):
    assert bool(asked(environment(tmp_path / "v", version), "").problem) is problem


def test_an_interpreter_that_does_not_answer(tmp_path):
    python = environment(tmp_path / "v")
    for answer in ("", "[]", "[1, 2]", '[["x"], 1]', "nonsense"):
        python.write_text(f"#!/bin/sh\necho '{answer}'\n")
        assert asked(python, "").problem
    python.write_text("#!/bin/sh\nexit 1\n")
    assert asked(python, "").problem
    assert asked(Path(os.devnull), "").problem
