"""``--help``: every command in one group, examples that are commands, lines of 80 columns."""

import re
import shlex
from collections import Counter

import pytest

from fuzztui.cli.ctl import ACTIONS
from fuzztui.cli.help import CAMPAIGN, GROUPS
from fuzztui.cli.parser import _COMMANDS, parse

COMMANDS = [command for commands in GROUPS.values() for command in commands]


def shown(capsys, monkeypatch, *words: str) -> str:
    """What a command prints in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        parse([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_every_command_is_in_one_group():
    grouped = Counter(command.name for command in COMMANDS)
    assert grouped == Counter([CAMPAIGN, *_COMMANDS])


def test_the_help_of_ctl_lists_every_command_to_a_run(capsys, monkeypatch):
    text = re.sub(r"-\s+", "-", shown(capsys, monkeypatch, "ctl"))  # lines end behind hyphens
    assert [a for a in ACTIONS if not re.search(rf"(?<![\w-]){a}(?![\w-])", text)] == []


def test_the_first_help_fits_and_has_an_example_in_each_group(capsys, monkeypatch):
    text = shown(capsys, monkeypatch)
    assert max(map(len, text.splitlines())) <= 80
    for title, commands in GROUPS.items():
        group = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert "fuzztui " in group
        for command in commands:
            assert f"\n  {command.name}" in f"\n{group}"


@pytest.mark.parametrize("name", _COMMANDS)
def test_the_help_of_a_command_fits_and_ends_with_its_examples(name, capsys, monkeypatch):
    text = shown(capsys, monkeypatch, name)
    assert max(map(len, text.splitlines())) <= 80
    (command,) = (command for command in COMMANDS if command.name == name)
    last = text.splitlines()[-len(command.examples) :]
    assert last == [f"  fuzztui {example}" for example in command.examples]


@pytest.mark.parametrize("name", ["", *_COMMANDS])
def test_a_command_and_its_summary_do_not_touch(name, capsys, monkeypatch):
    text = shown(capsys, monkeypatch, *([name] if name else []))
    for command in COMMANDS:
        if name not in ("", command.name):
            continue
        for number, (arguments, summary) in enumerate(command.forms):
            form = f"  {command.name} {arguments}".rstrip() if arguments or not number else ""
            assert re.search(rf"(?m)^{re.escape(form)}(  +|\n {{4,}}){re.escape(summary)}$", text)


@pytest.mark.parametrize("example", [e for command in COMMANDS for e in command.examples])
def test_examples_are_commands(example):
    parse(shlex.split(example))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_examples_are_of_their_command(command):
    for example in command.examples:
        first = example.split()[0]
        assert first == command.name or (command.name == CAMPAIGN and first.endswith(".toml"))
