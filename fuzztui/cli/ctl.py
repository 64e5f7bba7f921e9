"""``fuzztui ctl``: send a command to a running campaign, from a script or by hand."""

from __future__ import annotations

import argparse
import os.path
import re
import secrets
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from math import fsum
from pathlib import Path
from threading import Timer
from typing import Any

from fuzztui.cli import ctl_targeting
from fuzztui.cli.ctl_action import CtlAction, helped
from fuzztui.cli.host_lines import waits_for
from fuzztui.cli.mutants import no_mutants, selection
from fuzztui.cli.mutators import weigh_mutator
from fuzztui.cli.output import (
    DONE,
    FAILED,
    NOT_RUNNING,
    CliError,
    UsageError,
    probability,
    say,
    still_run,
)
from fuzztui.cli.properties import weigh_property
from fuzztui.cli.remote_runs import user_of
from fuzztui.cli.runs import find_run, standing, unsupervised
from fuzztui.cli.target_runs import weigh_target
from fuzztui.features.mutators.fold import MixtureSetting, changed, settings
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.model.inverses import UndoError
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.model.undo import Undo, undo
from fuzztui.kernel.remote.client import ControlClient, NotRunning, NotYet, RemoteError, sender
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.mirrored import Origin
from fuzztui.kernel.remote.protocol import APPLIED, RECORDED, TIMEOUT, CommandAnswer
from fuzztui.kernel.session import state_at_end, state_before
from fuzztui.kernel.wire.codec import CodecError, encode_command
from fuzztui.kernel.wire.commands import (
    COMMAND_NAMES,
    AddSeed,
    Command,
    CountFrames,
    EntryCommand,
    ExactPass,
    JudgeFinding,
    Minimise,
    MutantCommand,
    RestoreMutants,
    SetMixture,
    SkipFrames,
    Stop,
    TypeCommand,
    UseMutants,
    WeighMutator,
    WeighProperty,
    WeighTarget,
    names_of,
)
from fuzztui.kernel.wire.mixture import CLASSES, Mixture, completed
from fuzztui.kernel.wire.selection import KEYS, of_ids
from fuzztui.kernel.wire.verdicts import CHOICES
from fuzztui.run.campaign.rundir import SupervisorError

_ENTRY = re.compile(r"(?:(?P<instance>[^/]+)/)?(?:queue/)?(?:id:)?(?P<id>\d{1,9})(?:,.*)?")
_FINDING = re.compile(r"(?:(?:.*/)?(?P<instance>[^/]+)/)?(?P<file>(?:crashes|hangs)[^/]*/[^/]+)")

_MUTANT = re.compile(r"[^:]+:[^:]*:[^:]*:\d+:.*|.+#[0-9a-f]{10}")
_CONDITION = re.compile(rf"\s*(?:{'|'.join(KEYS)})\s*=.*")
_BRANCH = re.compile(r".+\.py:\d+(?::[^:]+)?")

_INSTEAD = {
    ("skip", "a mutant's"): "skip-mutants",
    ("promote", "a mutant's"): "promote-mutants",
    ("demote", "a mutant's"): "move-mutants --to last",
    ("reset", "a mutant's"): "requeue-mutants",
    ("skip-mutants", "a queue entry's"): "skip",
    ("promote-mutants", "a queue entry's"): "promote",
    ("requeue-mutants", "a queue entry's"): "reset",
    ("skip", "a branch's"): "ignore",
    ("promote", "a branch's"): "pin",
}
"""The action that an error suggests, by the given action and the kind of object that its ID
names. For the ID of a finding it is always ``minimise``."""


def _owner(id_: str) -> str:
    """Return which kind of object has an ID of this form; an empty string if unknown."""
    if _CONDITION.fullmatch(id_) or _MUTANT.fullmatch(id_):
        return "a mutant's"
    if _FINDING.fullmatch(id_):
        return "a finding's"
    if _ENTRY.fullmatch(id_):
        return "a queue entry's"
    return "a branch's" if _BRANCH.fullmatch(id_) else ""


def _wrong(options: argparse.Namespace, needs: str, example: str) -> CliError:
    """Return the error for an ID of the wrong kind; the message names the right action."""
    if not options.id:
        return UsageError(f"{options.action} needs {needs}; for example {example}")
    owner = _owner(options.id)
    instead = "minimise" if owner == "a finding's" else _INSTEAD.get((options.action, owner), "")
    what = f"{options.id!r}, {owner}" if owner else repr(options.id)
    message = f"{options.action} needs {needs}, not {what}; for example {example}"
    if instead:
        action, *more = instead.split()
        command = shlex.join(["fuzztui", "ctl", str(options.run), action, options.id, *more])
        message = f"{options.action} needs {needs}; {options.id!r} is {owner}: use {command}"
    return UsageError(message)


def _words(command: type[Command]) -> Callable[[argparse.Namespace], Command]:
    """Build a command whose fields are the words, in this order; a list takes all that follow."""
    types = {field.name: str(field.type) for field in fields(command)}
    has_instance = types.pop("instance", None) is not None
    of_list = any(kind.startswith("list") for kind in types.values())

    def build(options: argparse.Namespace) -> Command:
        words: list[Any] = [word.strip() for word in (options.id, *options.more) if word]
        if options.instance and not has_instance:
            raise UsageError(f"{options.action} is for all instances; remove --instance")
        if words and not types:
            raise UsageError(f"{options.action} takes no ID; remove {words[0]!r}")
        if of_list:
            words = [*words[: len(types) - 1], words[len(types) - 1 :]]
        if len(words) != len(types):
            raise UsageError(f"{options.action} needs {' and '.join(map(str.upper, types))}")
        built = command(*words, **({"instance": options.instance} if has_instance else {}))
        try:
            encode_command(built)
        except CodecError as e:  # a field of a package's command that is no text
            raise UsageError(f"{options.action}: {e}") from None
        if built.problem:
            raise UsageError(f"{options.action}: {built.problem}")
        return built

    return build


def _entry(command: Callable[..., Command]) -> Callable[[argparse.Namespace], Command]:
    def build(options: argparse.Namespace) -> Command:
        match = _ENTRY.fullmatch(options.id)
        if not match:
            raise _wrong(options, "a queue entry's ID", "12, id:000012 or main/12")
        return command(entry=int(match["id"]), instance=match["instance"] or options.instance)

    return build


def _seed(options: argparse.Namespace) -> Command:
    if not options.id:
        raise UsageError("add-seed needs a file, or a directory of files")
    if options.instance:
        raise UsageError("add-seed is for all instances; remove --instance")
    return AddSeed(os.path.abspath(options.id))  # noqa: PTH100 - symlinks stay the user's own


def _finding(command: Callable[..., Command]) -> Callable[[argparse.Namespace], Command]:
    def build(options: argparse.Namespace) -> Command:
        match = _FINDING.fullmatch(options.id)
        if not match:
            raise _wrong(options, "a finding's file", "crashes/NAME or main/crashes/NAME")
        return command(match["file"], match["instance"] or options.instance)

    return build


def _judge(options: argparse.Namespace) -> JudgeFinding:
    """Build the command of a finding's file, or of a signature, and a verdict."""
    if not options.id or len(options.more) != 1 or options.more[0] not in CHOICES:
        example = "judge main/crashes/NAME known --note 'issue 12'"
        raise UsageError(
            f"judge needs a finding and a verdict, one of {', '.join(CHOICES)}; for example "
            f"{example}"
        )
    match = _FINDING.fullmatch(options.id)
    file, instance = (match["file"], match["instance"]) if match else (options.id, "")
    command = JudgeFinding(file, options.more[0], options.note or "", instance or options.instance)
    if problem := command.problem:
        raise UsageError(problem)
    return command


def _mutants(
    command: Callable[..., Command], named: Iterable[str]
) -> Callable[[argparse.Namespace], Command]:
    """Return a function that builds a command about a mutant's ID or a selection of mutants.

    ``named``: fields of the command that are set by the options of the same names.
    """

    def build(options: argparse.Namespace) -> Command:
        if _owner(options.id) in ("", "a mutant's") and options.id:
            selection(options.id)
        else:
            raise _wrong(
                options,
                "a mutant's ID or a selection",
                "operator=math, file=_parser.py or function=parse_*,state=alive",
            )
        more = {name: value for name in named if (value := getattr(options, name))}
        return command(select=options.id.strip(), instance=options.instance, **more)

    return build


def _mixture(options: argparse.Namespace) -> list[SetMixture]:
    """Build the commands for a mixture: given probabilities, or only ``--adaptive``/``--fixed``.

    Missing probabilities follow from each instance's present mixture. If the mixtures of the
    instances differ, each instance gets a separate command.
    """
    given: dict[str, float] = {}
    for text in (part for word in (options.id, *options.more) for part in word.split(",") if part):
        name, equals, value = (part.strip() for part in text.partition("="))
        if name not in CLASSES or not equals:
            raise UsageError(f"{text!r} is not a part of a mixture; {_PARTS}")
        if name in given:
            raise UsageError(f"{name} is given twice")
        given[name] = probability(name, value)
    if options.adaptive and options.fixed:
        raise UsageError("--adaptive and --fixed exclude each other; remove one of them")
    if not given and not options.adaptive and not options.fixed:
        raise UsageError(f"mixture needs probabilities; {_PARTS}; or --adaptive, or --fixed")
    if (whole := fsum(given.values())) > 1 + 1e-6:
        raise UsageError(f"{' and '.join(given)} add to {whole:g}; the sum must be 1")
    if len(given) < len(CLASSES):
        commands = changed(
            _settings(options), lambda now: completed(given, now), adaptive=options.adaptive
        )
    else:
        mixture = Mixture(**given)
        if wrong := mixture.problem:
            raise UsageError(wrong)
        commands = [SetMixture(*mixture, adaptive=options.adaptive)]
    if options.instance:
        commands = [replace(command, instance=options.instance) for command in commands]
    return commands


def _settings(options: argparse.Namespace) -> dict[str, MixtureSetting]:
    """Return each instance's present mixture. Raises :class:`CliError` if none has reported one."""
    run = options.run = find_run(options.run)  # once: find_run may print the choice
    state = standing(run).state
    if each := settings(state, options.instance):
        return each
    if options.instance and options.instance not in state.instances:
        known = ", ".join(state.instances)
        known = f"choose from {known}" if known else "the campaign has no instances yet"
        raise CliError(f"{run}: there is no instance {options.instance!r}; {known}")
    subject = f"{options.instance} has not" if options.instance else "no instance has"
    raise CliError(f"{run}: {subject} reported a mixture of mutators")


_PARTS = "write for example havoc=0.2 text=0.7 splice=0.1 (or 20%, 70%, 10%), with the sum 1"


def action_of(command: type[Command]) -> CtlAction:
    """Return the action that makes a command; its words and options follow from the fields."""
    names = [field.name for field in fields(command) if field.name != "instance"]
    if "entry" in names:
        return CtlAction(_entry(command), "a queue entry, 12, id:000012 or INSTANCE/12")
    if "select" in names:
        return CtlAction(_mutants(command, names[1:]), _MUTANTS)
    if "file" in names:
        return CtlAction(_finding(command), _A_FINDING)
    return CtlAction(_words(command), *(name.upper() for name in names[:2]))


def _no_commands(options: argparse.Namespace) -> Sequence[Command]:
    """Return no commands: those of an undo are made later, from the log (:func:`_undo`)."""
    return ()


_A_FINDING = "a finding, INSTANCE/crashes/NAME"
_MUTANTS = (
    "an ID, or a selection by file=, function=, operator=, line=, state= (a comma means and, * "
    "matches anything)"
)
_RULES = ("rules, FUNCTION or FILE in FUNCTION, with * and ?", "more rules")

_NOT_TYPED = (TypeCommand, RestoreMutants)
"""Commands that have no action of their own name: other actions send them."""

ACTIONS: dict[str, CtlAction] = {
    **{
        name: action_of(command)
        for name, command in COMMAND_NAMES.items()
        if not issubclass(command, _NOT_TYPED)
    },
    AddSeed.name: CtlAction(_seed, "a file or a directory"),
    JudgeFinding.name: CtlAction(_judge, f"{_A_FINDING}, or a signature", ", ".join(CHOICES)),
    SkipFrames.name: CtlAction(_words(SkipFrames), *_RULES),
    CountFrames.name: CtlAction(_words(CountFrames), *_RULES),
    SetMixture.name: CtlAction(_mixture, "probabilities, havoc=0.2 text=0.8", "more probabilities"),
    **ctl_targeting.ACTIONS,
    WeighMutator.name: CtlAction(weigh_mutator, "a mutator", "3, x2 or x0.5"),
    WeighProperty.name: CtlAction(weigh_property, "a property", "3, x2 or x0.5"),
    WeighTarget.name: CtlAction(weigh_target, "a target", "3, x2 or x0.5"),
    "undo": CtlAction(_no_commands, "nothing (your last command), or a command, c17"),
}
"""All actions by name. Those with a row of their own are not made by :func:`action_of`, because the
fields of their commands do not say all."""

ID_HELP = helped({name: action.id for name, action in ACTIONS.items()})
MORE_HELP = helped({name: action.more for name, action in ACTIONS.items()})

_OPTIONS = {
    option: [
        name
        for name, command in COMMAND_NAMES.items()
        if name in ACTIONS and option in {field.name for field in fields(command)}
    ]
    for option in ("to", "because", "note", "adaptive")
} | {"fixed": [SetMixture.name]}
"""The actions that accept an option, by the option; their commands have a field of that name."""

_OF_ENTRIES = names_of(EntryCommand)

_ANSWER_S = 10.0
_PATIENCE_S = {**dict.fromkeys(_OF_ENTRIES, 40.0), Minimise.name: 900.0, Stop.name: 60.0}
"""Seconds to wait for the answer to an action; the default is :data:`_ANSWER_S`. afl-fuzz executes
commands between two entries only, and waits up to 30 seconds for a promoted entry. A stop is
answered once the end of the campaign is in the log."""

_MUTE_S = 3.0
"""Seconds without an answer after which a message says what the command waits for."""

_SILENT_S, _AGAIN_S = 1.0, 0.05
"""Seconds without a listening supervisor after which a message says so; seconds between attempts to
connect."""

_AT_ENTRY = (
    "no answer yet: engines execute commands between two queue entries; "
    "skip-current ends the current entry"
)
_WAITING = {
    **dict.fromkeys(_OF_ENTRIES, _AT_ENTRY),
    Minimise.name: "minimising; 'fuzztui status' and the screen keep working meanwhile",
    Stop.name: "stopping; waiting until all engines have ended, and the end is in the log",
}
_NOT_YET = "waiting for the answer"
_UNANSWERED = "no instance has answered yet"


def ctl(options: argparse.Namespace) -> int:
    """Send a command, or one for each instance, wait for the answer, and print it."""
    done = True
    for answer in answers(options):
        print(_answer(answer))
        done = done and answer.ok
    return DONE if done else FAILED


def answers(options: argparse.Namespace) -> Iterator[CommandAnswer]:
    """Send a command, or one for each instance, and yield the answer of each.

    ``detail`` of a pending one: what it waits for. Raises :class:`CliError`.
    """
    for option, actions in _OPTIONS.items():
        if getattr(options, option) and options.action not in actions:
            raise UsageError(f"--{option} is for {' and '.join(actions)}, not for {options.action}")
    if options.more and not ACTIONS[options.action].more:
        raise UsageError(
            f"{options.action} takes one ID, or one text in quotes; remove {options.more[0]!r}"
        )
    asked = ACTIONS[options.action].make(options)
    run = find_run(options.run)
    mirror = getattr(options, "mirror", None)
    if mirror is not None:
        _check_remote(options, mirror.origin)
    by = sender() if mirror is None else user_of(run, mirror).by
    undoing = _undo(run, options.id, by) if options.action == "undo" else None
    none: tuple[str, ...] = ()
    commands = [(asked, none)] if isinstance(asked, Command) else [(one, none) for one in asked]
    commands = commands if undoing is None else list(undoing.commands)
    patience = _PATIENCE_S.get(options.action, _ANSWER_S)
    patience = patience if options.timeout is None else options.timeout
    try:
        client = _connect(run, min(patience, _ANSWER_S))
    except NotRunning:
        if (recorded := _judge_ended(run, commands)) is None:
            raise CliError(f"{run}: {_why_not_running(run)}", NOT_RUNNING) from None
        yield from recorded
        return
    except RemoteError as e:
        raise CliError(str(e), NOT_RUNNING) from None
    if isinstance(asked, ExactPass) and (engine := standing(run).state.engine) != "mu2":
        client.close()
        raise UsageError(f"exact-pass is for engine mu2; the campaign's engine is {engine}")
    if isinstance(asked, UseMutants) and not standing(run).state.stage:
        client.close()
        raise UsageError("use-mutants is for campaigns with a table [mutants]")
    if isinstance(asked, MutantCommand):
        resolved = _resolved(asked, _report_selection(run, asked.select))
        commands = [(command, none) for command in resolved]
    mute = Timer(_MUTE_S, say_waiting, [run, options.action, [c for c, _ in commands]])
    mute.daemon = True
    mute.start()
    try:
        # Parts of one command are undone together.
        step = secrets.token_hex(4) if len(commands) > 1 and undoing is None else ""
        for command, undoes in commands:
            result = _sent(run, client, command, patience, undoes=undoes, step=step)
            waits = visible(waits_for(run, command)) if result.pending else ""
            yield replace(result, detail=waits or _UNANSWERED) if result.pending else result
    except RemoteError as e:
        raise CliError(str(e)) from None
    finally:
        mute.cancel()
        client.close()


def _sent(
    run: Path, client: ControlClient, command: Command, patience: float, **about: Any
) -> CommandAnswer:
    """Send a command; return its result. Raises :class:`RemoteError`.

    Without an answer the log decides whether a stop was accepted: nothing takes one back.
    """
    lost: RemoteError | None = None
    result = CommandAnswer(TIMEOUT)
    try:
        result = client.send(command, patience, **about)
    except RemoteError as e:
        lost = e
    if (lost or result.pending) and isinstance(command, Stop):
        state = standing(run).state
        about_it = state.instances.get(command.instance) if command.instance else state
        now = about_it.state if about_it else ""
        if now in ENDED:
            return CommandAnswer(APPLIED, now)
        if now == "stopping":
            return CommandAnswer(APPLIED, f"stopping; its end is shown by: fuzztui status {run}")
    if lost:
        raise lost
    return result


def say_waiting(run: Path, action: str, commands: Sequence[Command]) -> None:
    """Say why there is no answer yet."""
    hosts = next(filter(None, (waits_for(run, command) for command in commands)), "")
    say(hosts or _WAITING.get(action, _NOT_YET))


def _check_remote(options: argparse.Namespace, origin: Origin) -> None:
    """Raise :class:`CliError` for what cannot be done to a run on another machine."""
    if options.action == AddSeed.name and not Path(options.id).is_absolute():
        raise UsageError(f"add-seed: name an absolute path of a file on {origin.address}")
    if running(options.run) is None:
        raise CliError(f"{origin.spec}: no campaign is running there", NOT_RUNNING)


def _undo(run: Path, wanted: str, by: str) -> Undo:
    """Return what undoes the user's last step; say what that was. Raises :class:`CliError`."""
    try:
        found = undo(state_at_end(run), by, partial(state_before, run), wanted)
    except UndoError as e:
        raise CliError(f"{run}: {visible(str(e))}") from None
    say(f"undo of {visible(found.what)}")
    if found.note:
        say(visible(found.note))
    return found


def _judge_ended(
    run: Path, commands: Sequence[tuple[Command, Sequence[str]]]
) -> list[CommandAnswer] | None:
    """Record verdicts about a campaign that has ended, or undo some. None: that is impossible.

    ``commands``: each with the ids of the commands that it undoes.
    """
    from fuzztui.features.verdicts.after_end import Judgement, can_judge, judge  # slow to import

    judgements = [(c, undoes) for c, undoes in commands if isinstance(c, Judgement)]
    if len(judgements) < len(commands) or unsupervised(run):
        return None
    state = standing(run).state
    if not all(can_judge(state, command) for command, _ in judgements):
        return None
    recorded = []
    for command, undoes in judgements:
        if isinstance(command, MutantCommand) and not undoes:
            _report_selection(run, command.select)
        try:
            detail = judge(run, command, sender(), undoes)
        except SupervisorError as e:
            raise CliError(str(e)) from None
        recorded.append(CommandAnswer(RECORDED, detail))
    return recorded


def _connect(run: Path, patience: float) -> ControlClient:
    """Connect, after waiting up to ``patience`` seconds for a supervisor that is still starting.

    Raises RemoteError.
    """
    began, reported = time.monotonic(), False
    while True:
        try:
            return ControlClient(run, "ctl")
        except NotYet as e:
            waited = time.monotonic() - began
            if waited >= patience:
                raise NotYet(f"{e}; a starting supervisor accepts no commands") from None
            if waited >= _SILENT_S and not reported:
                say("the supervisor is still starting; waiting until it accepts commands")
                reported = True
            time.sleep(_AGAIN_S)


def _answer(result: CommandAnswer) -> str:
    if result.pending:
        return f"pending: {result.detail}; the answer will be in the log"
    where = f" by {result.instance}" if result.instance else ""
    where += f" at trial {result.trial}" if result.trial >= 0 else ""
    detail = f": {visible(result.detail)}" if result.detail else ""
    word = result.result if result.result == RECORDED else "applied" if result.ok else "rejected"
    return f"{word}{where}{detail}"


def _why_not_running(run: Path) -> str:
    """Why no command can be sent; what to do if engines have outlived their supervisor."""
    again = f"fuzztui {run / 'campaign.toml'}"
    if living := unsupervised(run):
        return f"the supervisor has ended, but {still_run(living)}; {again} takes over"
    now = standing(run)
    if now.state_name != "interrupted":
        return "no campaign is running there"
    if now.problems:
        return f"the log is damaged, and its end is missing; {again} repairs it and resumes"
    if now.state.hosts:
        return f"the hub has ended; the hosts continue without it; {again} starts another hub"
    return f"the supervisor ended before the campaign; {again} resumes it"


def _resolved(command: MutantCommand, selected: Sequence[Mutant]) -> list[Command]:
    """Return commands that engines can execute: conditions that need the log become ids."""
    if not selection(command.select).of_log:
        return [command]
    changes: list[dict[str, Any]] = [{"select": s} for s in of_ids(m.id for m in selected)]
    return [replace(command, **change) for change in changes]


def _report_selection(run: Path, select: str) -> list[Mutant]:
    """Print how many mutants are selected, and return them. Raises :class:`CliError` if none is."""
    state = standing(run).state
    wanted = selection(select)
    selected = wanted.of(state.mutants.values())
    if not selected:
        raise no_mutants(select, state)
    text = f"{select} selects {len(selected):,} of {several(len(state.mutants), 'mutant')}"
    if len(state.mutation) > 1 and any(c.key == "state" for c in wanted.conditions):
        text += "; an instance may select more, because another may have killed a mutant"
    say(text)
    return selected
