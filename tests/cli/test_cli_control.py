"""What ``fuzztui ctl`` says of an ID that belongs to another kind of thing."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hosted import HubLog, write_run

from fuzztui.cli import ctl
from fuzztui.cli.ctl import ACTIONS, action_of
from fuzztui.cli.output import DONE, FAILED, USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.kernel.remote.client import RemoteError
from fuzztui.kernel.remote.protocol import TIMEOUT, CommandAnswer
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import Command

MUTANT, ENTRY, FINDING = "prog:clamp:boundary:0:>=", "main/12", "main/crashes/id:000000,sig:11"
C_MUTANT, BRANCH = "src/nested.c#0123456789", "thumbs/app.py:19:then"
SELECTION = "function=parse_*,state=alive"


def refused(*argv):
    options = parse(["ctl", "my run", *argv])
    with pytest.raises(CliError) as e:
        ACTIONS[options.action].make(options)
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
        ACTIONS[action].make(options)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["minimise", ENTRY], "needs a finding's file, not 'main/12', a queue entry's"),
        (["minimise", MUTANT], "a mutant's"),
        (["mark-equivalent", ENTRY], "needs a mutant's ID or a selection, not 'main/12'"),
        (["skip", "../x"], "needs a queue entry's ID, not '../x'; for example"),
        (["skip"], "skip needs a queue entry's ID; for example 12"),
        (["skip-mutants"], "skip-mutants needs a mutant's ID or a selection; for"),
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
    assert ACTIONS[options.action].make(options)


@dataclass(frozen=True, slots=True)
class Remark(Command):
    """A command as CONTRIBUTING describes a new one: its fields are the words."""

    title: str
    lines: list[str]
    instance: str = ""

    @property
    def problem(self) -> str:
        """Why it is invalid."""
        return "is too long" if len(self.title) > 9 else ""


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["a", "b", " c "], Remark("a", ["b", "c"])),
        (["a", "--instance", "main"], Remark("a", [], "main")),
        ([], "needs TITLE and LINES"),
        (["a title of a book"], "is too long"),
    ],
)
def test_a_new_command_is_made_of_its_fields(words, made):
    action = action_of(Remark)
    assert (action.id, action.more) == ("TITLE", "LINES")
    options = parse(["ctl", "my run", "skip-frames", *words])
    if isinstance(made, Remark):
        assert action.make(options) == made
    else:
        with pytest.raises(CliError, match=made):
            action.make(options)


@pytest.mark.parametrize("instance", ["", "main"])
@pytest.mark.parametrize("answer", ["none in time", "a closed connection"])
@pytest.mark.parametrize(
    ("recorded", "code"),
    [
        ([], FAILED),
        ([ev.CampaignState("stopping", "stopped by me")], DONE),
        ([ev.InstanceState("main", "stopped"), ev.CampaignEnded("stopped", "")], DONE),
    ],
)
def test_a_stop_without_an_answer_has_the_result_of_the_log(
    tmp_path, monkeypatch, *, recorded, code, answer, instance
):
    class Client:
        def __init__(self, run, name):
            pass

        def send(self, command, timeout, **_about):
            if answer == "none in time":
                return CommandAnswer(TIMEOUT)
            raise RemoteError("the supervisor closed the connection")

        def close(self):
            pass

    log = HubLog().add(ev.SupervisorStarted(1, 0.0), ev.InstanceState("main", "running"))
    log.add(ev.CampaignState("running"), *recorded)
    write_run(tmp_path / "c", log)
    monkeypatch.setattr(ctl, "ControlClient", Client)
    options = parse(["ctl", str(tmp_path / "c"), "stop", "--instance", instance])
    if instance and len(recorded) == 1:  # the others stop, and this one is not said to
        code = FAILED
    try:
        got = options.command(options)
    except CliError as e:
        got = e.code
    assert got == code
