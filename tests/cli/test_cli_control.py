"""What ``fuzztui ctl`` says of an ID that belongs to another kind of thing."""

import pytest

from fuzztui.cli.ctl import ACTIONS
from fuzztui.cli.output import USAGE, CliError
from fuzztui.cli.parser import parse

MUTANT, ENTRY, FINDING = "prog:clamp:boundary:0:>=", "main/12", "main/crashes/id:000000,sig:11"
C_MUTANT, BRANCH = "src/nested.c#0123456789", "thumbs/app.py:19:then"
SELECTION = "function=parse_*,state=alive"


def refused(*argv):
    options = parse(["ctl", "my run", *argv])
    with pytest.raises(CliError) as e:
        ACTIONS[options.action](options)
    assert e.value.code == USAGE
    return str(e.value)


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["skip", MUTANT], f"skip-mutants '{MUTANT}'"),
        (["skip", C_MUTANT], f"skip-mutants '{C_MUTANT}'"),
        (["skip", SELECTION], f"skip-mutants '{SELECTION}'"),
        (["promote", MUTANT], f"promote-mutants '{MUTANT}'"),
        (["demote", MUTANT], f"move-mutants '{MUTANT}' --to last"),
        (["reset", C_MUTANT], f"requeue-mutants '{C_MUTANT}'"),
        (["skip-mutants", ENTRY], f"skip {ENTRY}"),
        (["skip-mutants", "id:000012,src:000003,op:havoc"], "skip id:000012,src:000003,op:havoc"),
        (["promote-mutants", "12"], "promote 12"),
        (["requeue-mutants", "queue/id:000012"], "reset queue/id:000012"),
        (["skip", FINDING], f"minimise {FINDING}"),
        (["skip-mutants", FINDING], f"minimise {FINDING}"),
        (["skip", BRANCH], f"ignore {BRANCH}"),
        (["promote", BRANCH], f"pin {BRANCH}"),
    ],
)
def test_the_command_that_is_meant_is_named(argv, command):
    words = refused(*argv)
    assert words.endswith(f": use fuzztui ctl 'my run' {command}")
    # What is named is a command that takes such an ID.
    _, *rest = argv
    action, *more = command.replace("'", "").split()
    options = parse(["ctl", "my run", action, *rest, *more[1:]])
    if action not in ("ignore", "pin"):  # those look the branch up in the run
        ACTIONS[action](options)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["minimise", ENTRY], "needs a finding's file, not 'main/12', a queue entry's"),
        (["minimise", MUTANT], "a mutant's"),
        (["mark-equivalent", ENTRY], "needs a mutant's ID or a selection, not 'main/12'"),
        (
            ["skip", "../x"],
            "needs a queue entry's ID, not '../x'; for example",
        ),
        (["skip"], "skip needs a queue entry's ID; for example 12"),
        (
            ["skip-mutants"],
            "skip-mutants needs a mutant's ID or a selection; for",
        ),
        (["minimise"], "minimise needs a finding's file; for example crashes/NAME"),
    ],
)
def test_an_id_that_no_command_takes_so(argv, words):
    assert words in refused(*argv)
    assert "fuzztui ctl" not in refused(*argv)


@pytest.mark.parametrize(
    "argv",
    [
        ["skip", "12"], ["skip", "main/queue/id:000012,src:000001"], ["minimise", FINDING],
        ["skip-mutants", MUTANT], ["skip-mutants", C_MUTANT], ["skip-mutants", "operator=math"],
        ["skip-mutants", "line=400"], ["mark-equivalent", SELECTION], ["skip-mutants", "prog:x"],
    ],
)  # fmt: skip
def test_right_ids_are_taken(argv):
    options = parse(["ctl", "my run", *argv])
    assert ACTIONS[options.action](options)
