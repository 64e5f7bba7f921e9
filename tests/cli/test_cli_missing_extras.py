"""Commands that need an extra that is not installed name the command that installs it."""

import shlex

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE
from fuzztui.run.campaign import extras

COMMANDS = {
    "targets tomllib-zest.toml": "spoton",
    "targets thumbnails-spoton.toml --no-run": "spoton",
    "check thumbnails-spoton.toml": "spoton",
    "run thumbnails-spoton.toml --detach": "spoton",
    "thumbnails-spoton.toml --headless": "spoton",
    "mutants rank a.c": "first",
    "slips-fuzzfirst.toml --detach": "first",
    "check slips-fuzzfirst.toml": "first",
    "cluster scheduler tls://127.0.0.1:1": "cluster",
    "cluster worker tls://127.0.0.1:1": "cluster",
    "serve": "web",
    "cluster check --cluster tls://127.0.0.1:1": "cluster",
}


@pytest.mark.parametrize("line", COMMANDS)
def test_the_pip_command_is_named(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    try:
        code = main(shlex.split(line))
    except SystemExit as e:
        code = e.code
    assert code not in (DONE, None)
    printed = "".join(capsys.readouterr())
    wanted = extras.MODULES[COMMANDS[line]].values()
    assert f"install {' '.join(map(repr, wanted))}" in printed
    assert not (tmp_path / "runs").exists()
