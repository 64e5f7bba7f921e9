"""Completion: what a line can become, and that the real shells insert it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from on_terminal import OnTerminal

from fuzztui.cli import completing
from fuzztui.cli.completing import complete
from fuzztui.cli.completion import INSTALLING, SCRIPTS
from fuzztui.cli.help import GROUPS
from fuzztui.cli.parser import _COMMANDS, _WORDS

BREAKS = " \t\n\"'><=;|&(:"
MUTANTS = ["m:parse:negate:0:!=", "m:parse:math:1:+", "other:f:returns:0:none"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def here(tmp_path, monkeypatch, cache) -> Path:
    """A directory with a campaign, another TOML file, and a run of the campaign."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (tmp_path / "mine.toml").write_text('[engine]\nkind = "zest"\n')
    (tmp_path / "other.toml").write_text("[project]\n")
    run = tmp_path / "runs" / "mine"
    for folder in ("log", "supervisor", "out/main/queue", "out/main/crashes", "out/s1/queue"):
        (run / folder).mkdir(parents=True)
    (run / "out/main/mutants.json").write_text(json.dumps([[m, "hash"] for m in MUTANTS]))
    (run / "out/main/queue/id:000012,src:000001").touch()
    (run / "out/main/crashes/id:000000,sig:06").touch()
    (run / "out/main/crashes/README.txt").touch()
    (tmp_path / "runs" / "no-run").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_main.py").touch()
    return tmp_path


def words(capsys, *line: str) -> list[str]:
    assert complete(["fish", *line]) == 0
    return [row.partition("\t")[0] for row in capsys.readouterr().out.splitlines()[1:]]


def flags(capsys, *line: str) -> set[str]:
    complete(["fish", *line])
    return set(capsys.readouterr().out.splitlines()[0].split())


def bash(capsys, line: str) -> list[str]:
    complete(["bash", line, BREAKS])
    return capsys.readouterr().out.splitlines()[1:]


def test_the_first_word_is_a_command_or_a_campaign(here, capsys):
    found = words(capsys, "")
    assert set(_COMMANDS) <= set(found)
    assert "mine.toml" in found
    assert "tomllib-mu2.toml" in found
    assert "other.toml" not in found
    assert words(capsys, "mi") == ["minimise", "mine.toml"]
    assert "--headless" in words(capsys, "--")


def test_a_fifo_or_a_device_does_not_stop_the_shell(here, capsys):
    os.mkfifo(here / "never.toml")
    (here / "endless.toml").symlink_to("/dev/zero")
    (here / "runs/mine/out/main/mutants.json").unlink()
    os.mkfifo(here / "runs/mine/out/main/mutants.json")
    assert words(capsys, "mi") == ["minimise", "mine.toml"]
    assert words(capsys, "ctl", "runs/mine", "skip-mutant", "") == []


def test_names_of_files_are_no_commands_of_the_terminal(here, capsys):
    name = "id:000013,\x1b[2J\tx\ny"
    (here / "runs/mine/out/main/queue" / name).touch()
    (here / "runs/mine/out/main/queue" / "id:\u0660\u00b2\u00b2\u00b2\u00b2\u00b2").touch()
    complete(["zsh", "ctl", "runs/mine", "skip", "main/1"])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "main/12\tid:000012,src:000001", "main/13\tid:000013,?[2J?x?y"
    ]  # fmt: skip


def test_the_shell_expands_a_tilde(here, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    assert bash(capsys, "fuzztui ~/mi") == ["~/mine.toml"]
    (here / "~x").mkdir()
    assert bash(capsys, "fuzztui check \\~") == ["\\~x/"]


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_offers_its_options(name, here, capsys):
    inner = next(iter(_WORDS.get(name, {})), None)
    assert "--help" in words(capsys, name, *([inner] if inner else []), "--")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (("status", ""), ["runs/mine", "mine.toml"]),
        (("ctl", "runs/mine", "skip-m"), ["skip-mutants"]),
        (("ctl", "runs/mine", "skip-mutants", "m:"), MUTANTS[:2]),
        (("ctl", "mine.toml", "skip-mutants", "other"), MUTANTS[2:]),
        (("ctl", "mine", "promote", ""), ["main/12"]),
        (("ctl", "runs/mine", "judge", ""), ["main/crashes/id:000000,sig:06"]),
        (("ctl", "runs/mine", "pause", "--instance", ""), ["main", "s1"]),
        (("mutants", "show", "runs/mine", "m:parse:m"), MUTANTS[1:2]),
        (("mutants", "list", "mine.toml", "state=alive", "other"), MUTANTS[2:]),
        (("repro", "runs/mine", "runs/mine/out/main/c"),
         ["runs/mine/out/main/crashes/id:000000,sig:06"]),
        (("corpus", "w"), ["why"]),
        (("corpus", "why", "runs/mine", "m"), ["main/12"]),
        (("help", "corpus", "w"), ["why"]),
        (("help", "sco"), ["score"]),
        (("mine.toml", "--set", "campaign.bud"), ["campaign.budget="]),
        (("mine.toml", "--set", "engine.kind=z"), ["engine.kind=zest"]),
        (("mine.toml", "--set", "engine.kind=zest", "--head"), ["--headless"]),
        (("report", "--format=h"), ["--format=html"]),
        (("report", "--format", "h"), ["html"]),
        (("attach", "--theme", "day"), ["daylight"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("runs/m",), ["runs/mine"]),
        (("test", "tests/", "--wr"), ["--write-examples"]),
        (("attach", "runs/mine", ""), ["--help", "--read-only", "--theme"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_what_a_line_can_become(line, expected, here, capsys):
    assert words(capsys, *line) == expected


def test_names_of_files(here, capsys):
    assert "files" in flags(capsys, "report", "-o", "")
    assert "files" in flags(capsys, "ctl", "runs/mine", "add-seed", "")
    assert "nospace" in flags(capsys, "mine.toml", "--set", "")
    for line in (["te"], ["tests/test_ma"], ["tests/test_a.py", "te"], ["--new", "tests/"]):
        assert flags(capsys, "test", *line) == {"files"}
    assert words(capsys, "check", "run") == ["runs/"]
    assert flags(capsys, "check", "run") == {"nospace"}


def test_bash_gets_what_follows_its_last_break_and_with_escapes(here, capsys):
    line = "fuzztui ctl runs/mine skip-mutants "
    assert bash(capsys, line + "m:parse:n") == [r"negate:0:\!="]
    assert bash(capsys, line + "'m:parse:n") == ["m:parse:negate:0:!="]
    assert bash(capsys, "fuzztui mine.toml --set engine.kind=ze") == ["zest"]
    assert bash(capsys, "env=1 fuzztui") == []  # the shell does not ask for that


@pytest.mark.parametrize("argv", [[], ["bash"], ["bash", "x"], ["fish"], ["zsh", "ctl", "\udc80"]])
def test_it_never_fails(argv, here, capsys):
    assert complete(argv) == 0
    assert "Traceback" not in "".join(capsys.readouterr())


def test_the_table_is_made_again_when_fuzztui_changes(here, cache, capsys, monkeypatch):
    words(capsys, "")
    file = cache / "fuzztui" / "completion.json"
    kept = json.loads(file.read_text())
    kept["table"]["commands"] = {"": kept["table"]["commands"][""], "from-cache": {"summary": ""}}
    file.write_text(json.dumps(kept))
    assert "from-cache" in words(capsys, "fr")
    monkeypatch.setattr(completing.fuzztui, "__version__", "9.9")
    assert words(capsys, "fr") == []
    file.write_text("{")
    assert words(capsys, "sta") == ["status"]
    before = file.stat().st_mtime_ns
    os.utime(Path(completing.__file__).with_name("__pycache__"))  # as the first import of a module
    assert words(capsys, "sta") == ["status"]
    assert file.stat().st_mtime_ns == before
    assert [command.name for group in GROUPS.values() for command in group if
            command.name not in json.loads(file.read_text())["table"]["commands"]] == [
        "CAMPAIGN.toml"
    ]  # fmt: skip


IMPORTED = """
import sys
before = set(sys.modules)
from fuzztui.cli import main
main(["complete-words", "fish", "status", ""])
print(len(set(sys.modules) - before), *sorted(sys.modules), file=sys.stderr)
"""


def test_a_tab_imports_next_to_nothing(here, capsys):
    words(capsys, "")  # the table is in the cache
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True
    )
    assert "runs/mine" in done.stdout
    count, *modules = done.stderr.split()
    assert int(count) < 40
    assert {"argparse", "textual", "psutil", "fuzztui.cli.parser"} & set(modules) == set()


@pytest.fixture
def shell_env(here, monkeypatch, capsys) -> dict[str, str]:
    words(capsys, "")  # the first Tab makes the table
    programs = here / "bin"
    programs.mkdir()
    command = programs / "fuzztui"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m fuzztui "$@"\n')
    command.chmod(0o755)
    return {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(here),
        "TERM": "xterm", "PS1": "$ ", "ZDOTDIR": str(here), "INPUTRC": "/dev/null",
    }  # fmt: skip


ARGV = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
START = {
    "bash": "bind 'set bell-style none'; source <(fuzztui completion bash); echo rea''dy\n",
    "zsh": "autoload -U compinit; compinit -D; source <(fuzztui completion zsh); echo rea''dy\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", [
    "bash",
    pytest.param("zsh", marks=pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is missing")),
])  # fmt: skip
def test_an_interactive_shell_inserts_the_word(shell, shell_env):
    inner = OnTerminal(ARGV[shell], env=shell_env)
    try:
        inner.send(START[shell])
        inner.until("ready")
        # Echo shows the words as the shell has understood them, after it has inserted them.
        for typed, inserted in (
            ("fuzztui stat\t", "fuzztui status"),
            ("fuzztui attach ru\t", "fuzztui attach runs/mine"),
            ("fuzztui ctl runs/mine skip-mutants m:parse:n\t", MUTANTS[0]),
            ("fuzztui mine.toml --set engine.kind=ze\t", "engine.kind=zest"),
            ("fuzztui mine.toml --set campaign.bud\t", "campaign.budget="),
            ("fuzztui test te\t", "fuzztui test tests/"),
            ("fuzztui test tests/test_ma\t", "fuzztui test tests/test_main.py"),
        ):
            inner.send(typed)
            inner.send("\x01printf '<%s>' \n")
            expected = "".join(f"<{word}>" for word in inserted.split())
            expected = expected.removesuffix("/>")  # zsh removes the slash when a space follows
            inner.until(expected if " " in inserted else f"<{inserted}>")
    finally:
        inner.close()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("fish"), reason="fish is missing")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fuzztui stat", ["status"]),
        ("fuzztui attach ru", ["runs/mine"]),
        ("fuzztui attach runs/mine --re", ["--read-only"]),
        ("fuzztui ctl runs/mine skip-mutants m:parse:n", [MUTANTS[0]]),
        ("fuzztui mine.toml --set engine.kind=ze", ["engine.kind=zest"]),
        ("fuzztui report -o oth", ["other.toml"]),
        ("fuzztui test te", ["tests/"]),
        ("fuzztui test tests/test_ma", ["tests/test_main.py"]),
    ],
)
def test_fish(line, expected, shell_env):
    script = f"fuzztui completion fish | source; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        env=shell_env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [row.partition("\t")[0] for row in done.stdout.splitlines()] == expected, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_scripts_are_scripts(shell, cli):
    text = cli("completion", shell).out
    assert text == SCRIPTS[shell]
    head = [line for line in text.splitlines() if line.startswith("# ")]
    assert f"# {INSTALLING}".replace("\n", "\n# ") in "\n".join(head)
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_the_help_says_where_the_scripts_are_put(cli):
    assert INSTALLING in cli("completion", "--help").out
    for shell in SCRIPTS:
        assert f"fuzztui completion {shell}" in INSTALLING
