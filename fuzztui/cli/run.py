"""``fuzztui CAMPAIGN.toml``: start, rejoin or resume a campaign."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.cli.attach import screen
from fuzztui.cli.changed_sources import changed_sources
from fuzztui.cli.directories import no_campaign_file, show_run
from fuzztui.cli.headless import exit_code, wait_for_end
from fuzztui.cli.json_output import print_json
from fuzztui.cli.made_campaign import MadeCampaign, load_made
from fuzztui.cli.origins import another, has_begun, newest, refuse_other_run, remember
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, UsageError, at_terminal, duration, say
from fuzztui.cli.progress import Waiting
from fuzztui.cli.runs import RunStatus, standing, with_output
from fuzztui.cli.samples import campaign_or_project, installation, missing, named
from fuzztui.cli.status import status_object, status_text
from fuzztui.features.verdicts.file import read_verdicts
from fuzztui.kernel.base.shards import Shard
from fuzztui.kernel.model.measured import executed
from fuzztui.kernel.model.selectors import ENDED, exact_words, running_time
from fuzztui.kernel.remote.lock import running
from fuzztui.machines.merge.parts import inner_parts
from fuzztui.run.campaign import Campaign, CampaignError, FrozenCampaign, load, refuse_idle_keys
from fuzztui.run.campaign.extras import refuse_missing_extras
from fuzztui.run.campaign.model import FROZEN, Tables, toml_of
from fuzztui.run.campaign.rundir import AlreadyRunning, RunDir, SupervisorError, Unfit, prepare_run
from fuzztui.run.campaign.schema import AFL, HOSTS, TARGETS, table_names
from fuzztui.run.campaign.targets import all_parts
from fuzztui.run.home.finding import is_run
from fuzztui.run.inprocess.ask import Ready, ready
from fuzztui.run.supervise.daemon import start
from fuzztui.run.supervise.ending import counted_crashes, spent

SETTLED_S = 5.0
"""Seconds for which ``--detach`` waits for the instances to start or to fail."""

EXIT_S = 10.0
"""Seconds for which a start waits for a supervisor whose campaign has ended."""


def run(options: argparse.Namespace) -> int:
    """Start, rejoin or resume the campaign of a file, and show it; show a run directory."""
    file = campaign_or_project(options.file)
    return show_run(options, file) if is_run(file) else run_file(file, options)


def run_file(file: Path, options: argparse.Namespace, made: MadeCampaign | None = None) -> int:
    """Start, rejoin or resume a campaign. ``made``: the campaign, if there is no such file."""
    loaded = load_file(file, options.overrides, options.hosts, made)
    if options.shard is not None:
        options.overrides.append(_shard_key(loaded.campaign, options.shard))
        loaded = load_file(file, options.overrides, options.hosts, made)
    if (limits := changed_sources(loaded, options)) is None:
        say("nothing to mutate: no line of mutants.sources has changed")
        return DONE
    if limits:
        loaded = load_file(file, [*options.overrides, *limits], options.hosts, made)
    if options.new:
        return show(options, _start_another(loaded), over=False)
    where = _where(loaded, options)
    if inner_parts(RunDir(where)):
        raise UsageError(
            f"{where}: is a merged run, which cannot be continued; continue the runs that it is "
            "made of, and merge them again"
        )
    new, loaded = loaded, with_output(loaded, where)
    if is_run(where) and (where / "campaign.toml").exists():
        loaded = _same_binaries(_same_hosts(loaded, where), where)
        _same_campaign(loaded, where)
        if _is_supervised(where):
            say(f"the campaign is already running: rejoining {where}")
        elif not _is_place_given(options) and _is_vain(loaded.campaign, where):
            say(f"{where} has used up its budget without executing an input: starting another run")
            return show(options, _start_another(new), over=False)
        elif _finished(loaded.campaign, where):
            larger = " ".join(f"--set {k}={v}" for k, v in _larger(loaded.campaign, where))
            say(f"{where} has finished; to continue: {larger}; to start another run: --new")
            return show(options, where, over=True)
        else:
            start_campaign(loaded, "resuming")
    else:
        refuse_idle_keys(loaded)
        start_campaign(loaded, "starting")
    return show(options, where, over=False)


def _is_supervised(where: Path) -> bool:
    """Whether a supervisor runs the campaign. One that has logged the end is waited for.

    Raises :class:`CliError` if that one does not exit.
    """
    end = time.monotonic() + EXIT_S
    while pid := running(where):
        if standing(where).state.state not in ENDED:
            return True
        if time.monotonic() > end:
            raise CliError(
                f"{where}: the campaign has ended, but its supervisor (process {pid}) has not"
                " exited; wait for the process to exit, or kill it, and try again"
            )
        time.sleep(0.05)
    return False


def _shard_key(campaign: Campaign, shard: Shard) -> str:
    """The override that limits a campaign to a part of its mutants. Raises :class:`CliError`."""
    if campaign.table("mutants"):
        return f"mutants.shard={shard}"
    if campaign.kind == "mu2":
        return f"engine.shard={shard}"
    raise UsageError(
        f"--shard {shard}: is for campaigns with mutants (mu2, or with a table [mutants]), not for "
        f"{campaign.kind}; 'fuzztui sync' lets several machines fuzz one target"
    )


def _start_another(loaded: FrozenCampaign) -> Path:
    """Start a new run in its own directory, also if another process starts one simultaneously."""
    refuse_idle_keys(loaded)
    while True:
        own = with_output(loaded, another(loaded.campaign))
        if start_campaign(own, "starting", rejoin=False):
            return own.campaign.output


def _where(loaded: FrozenCampaign, options: argparse.Namespace) -> Path:
    """Return the newest run of the file, or the directory for the first one."""
    output = loaded.campaign.output
    if _is_output_given(options):
        return output
    if options.shard is not None:  # else the next shard would resume the run of another one
        output = output.with_name(f"{output.name}-{options.shard.number}-of-{options.shard.of}")
        refuse_other_run(output, loaded)
        return output
    if run := newest(loaded, "; --new starts another run here"):
        return run
    refuse_other_run(output, loaded)
    return output


def _is_output_given(options: argparse.Namespace) -> bool:
    return any(o.partition("=")[0].strip() == "campaign.output" for o in options.overrides)


def _is_place_given(options: argparse.Namespace) -> bool:
    """Whether the options say where the run is, so that it is not the newest of the file."""
    return options.shard is not None or _is_output_given(options)


def show(options: argparse.Namespace, where: Path, *, over: bool) -> int:
    """Show a run. ``over``: the run had ended before this command, which has not continued it."""
    with _left_behind(where):
        return _shown(options, where, over=over)


@contextmanager
def _left_behind(where: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Say after Ctrl-C what is left: the campaign may run already.

    ``wait_s``: seconds within which a supervisor notices that no client waits for its start.
    """
    try:
        yield
    except KeyboardInterrupt:
        end = time.monotonic() + wait_s
        while running(where) and time.monotonic() < end:
            time.sleep(0.1)
        if running(where):
            say(f"the campaign continues: fuzztui attach {where}; fuzztui ctl {where} stop ends it")
        else:
            say(f"interrupted; no campaign runs in {where}, and the same command starts it")
        raise


def _shown(options: argparse.Namespace, where: Path, *, over: bool) -> int:
    if options.detach and over:
        say(f"fuzztui attach {where} shows it")
        return NOT_RUNNING  # scripts must not wait for it
    if options.detach:
        now = _await_start(where)
        if now.state_name == "failed":
            raise CliError(f"{where}: the campaign has failed: {now.state.reason}")
        ends = "" if now.state.state in ENDED else f"; fuzztui ctl {where} stop ends it"
        say(f"fuzztui attach {where} shows it{ends}")
        return DONE
    if options.headless or options.json or not (at_terminal() and sys.stdin and sys.stdin.isatty()):
        if over:
            now = standing(where)
            if options.json:
                print_json("status", status_object(where, now), indent=None)
            else:
                print(status_text(where, now))
            return exit_code(now)
        return wait_for_end(where, as_json=options.json)
    code = screen(where, options.theme)
    now = standing(where)
    return code or (exit_code(now) if now.state.state in ENDED else DONE)


def _await_start(where: Path) -> RunStatus:
    """Return the status once the instances run or have failed, or after ``SETTLED_S``."""
    end = time.monotonic() + SETTLED_S
    while (now := standing(where)).state.state in ("empty", "starting"):
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    return now


def load_file(
    file: Path,
    overrides: list[str],
    hosts: Sequence[str] = (),
    made: MadeCampaign | None = None,
) -> FrozenCampaign:
    """Load a campaign file, or a sample by its name. Raises :class:`UserError`.

    ``hosts``: more hosts than those of the file, as ``--host`` names them. ``made``: the campaign,
    if there is no such file.
    """
    if made is not None:
        return load_made(file, made, overrides, hosts)
    file, implied = named(file)
    if not file.exists():
        raise missing(file)
    if file.is_dir():
        raise no_campaign_file(file)
    if ".." in file.parts:  # the frozen copy must not depend on the current directory
        file = file.parent.resolve() / file.name
    loaded = load(file, [*implied, *overrides], hosts=hosts)
    for name in loaded.frozen.keys() - {*table_names(), TARGETS}:  # only a run's copy may have them
        say(f"{file}: [{name}] has no effect: no installed package adds that table")
    return loaded


def refuse_verdicts(loaded: FrozenCampaign) -> None:
    """Raise :class:`VerdictsError` if the file with the user's verdicts is wrong."""
    if named := loaded.campaign.verdicts:
        read_verdicts(Path(named))


def start_campaign(loaded: FrozenCampaign, word: str, *, rejoin: bool = True) -> bool:
    """Start a supervisor. Returns False if another process started one at the same time."""
    with _left_behind(loaded.campaign.output, SETTLED_S):
        return _started(loaded, word, rejoin=rejoin)


def _started(loaded: FrozenCampaign, word: str, *, rejoin: bool) -> bool:
    for _, part in all_parts(loaded):
        refuse_missing_extras(part)
    refuse_verdicts(loaded)
    where = loaded.campaign.output
    _refuse_empty_suite(loaded)
    campaign = loaded.campaign
    budget = f": {duration(campaign.budget_s)}" if campaign.budget_s else ""
    budget += exact_words(campaign.exact_s, duration) if budget else ""
    say(f"{word} {campaign.name} in {where}{budget}")
    try:
        prepare_run(where)
        if not has_begun(where):  # an existing run keeps its campaign file until it is resumed
            remember(where, loaded.campaign)
        with Waiting() as waiting:
            # A hub, because a supervisor is for one machine; a module, because it is a process.
            module = "fuzztui.machines.hosts" if loaded.campaign.hosts else "fuzztui.run.supervise"
            start(where, loaded.toml(), progress=waiting, module=module)
        remember(where, loaded.campaign)
    except Unfit as e:
        raise unfit(loaded, e) from None
    except AlreadyRunning:
        if rejoin:
            say(f"another process has started the campaign at the same time: rejoining {where}")
        return False
    except SupervisorError as e:
        raise CliError(str(e)) from None
    except OSError as e:
        raise CliError(f"{where}: cannot write the run directory: {e.strerror}") from None
    return True


def _refuse_empty_suite(loaded: FrozenCampaign) -> None:
    """Raise :class:`CliError` if no test of a suite can be run, before it has a run.

    Not for hosts, which may have other packages, and not if the run has executed tests.
    """
    campaign, where = loaded.campaign, loaded.campaign.output
    if not campaign.target.get("suite") or campaign.hosts:
        return
    if has_begun(where) and _has_executed(where):
        return
    say("collecting the tests")
    import_target(loaded)


_LONGEST_VALUE = 40
"""Characters of a key's value that a message shows."""

_IDENTITY = (
    ("engine", "kind"),
    ("target", "function"),
    ("target", "command"),
    ("target", "generator"),
)


def _same_hosts(loaded: FrozenCampaign, where: Path) -> FrozenCampaign:
    """Return the campaign with the hosts of its run, if none are named now.

    Raises :class:`CliError` if the run has instances of this machine, which a hub cannot continue.
    """
    try:
        before = load(where / "campaign.toml")
    except CampaignError:
        return loaded  # reported by _same_campaign
    if loaded.campaign.hosts:
        if not before.campaign.hosts and _has_executed(where):
            raise UsageError(
                f"{where} was started without hosts, and its instances cannot move to others; "
                "use --new to start a run on hosts"
            )
        return loaded
    if not (hosts := before.campaign.hosts):
        return loaded
    say(f"the run continues on its hosts: {', '.join(place.name for place in hosts)}")
    campaign = replace(loaded.campaign, hosts=hosts)
    return replace(loaded, campaign=campaign, frozen={**loaded.frozen, HOSTS: before.frozen[HOSTS]})


def _same_binaries(loaded: FrozenCampaign, where: Path) -> FrozenCampaign:
    """Return the campaign with the binaries of its run, if it names none itself.

    Which ones a campaign has by default depends on its instances, which may be others now.
    """
    try:
        before = load(where / FROZEN).frozen.get("target", {}).get("binaries", {})
    except CampaignError:
        return loaded  # reported by _same_campaign
    own = loaded.frozen.get("target", {})
    names_them = "target.binaries" in loaded.given
    if loaded.campaign.kind != AFL or names_them or before == own.get("binaries", {}):
        return loaded
    frozen = {**loaded.frozen, "target": {**own, "binaries": before}}
    campaign = load(where / FROZEN, text=toml_of(frozen)).campaign
    return replace(loaded, campaign=replace(campaign, file=loaded.campaign.file), frozen=frozen)


def _same_campaign(loaded: FrozenCampaign, where: Path) -> None:
    """Report the keys that changed. Raises :class:`CliError` if the run is another campaign's."""
    try:
        before = load(where / "campaign.toml").frozen
    except CampaignError as e:
        say(f"changed keys are unknown, because the run's copy of the file is invalid: {e}")
        return
    for table, key in _IDENTITY if _has_executed(where) else ():
        old, new = (frozen.get(table, {}).get(key) for frozen in (before, loaded.frozen))
        if old != new:
            raise UsageError(
                f"{where} is of another campaign: {table}.{key} is {old!r} there, {new!r} now; "
                "use --new, or --set campaign.output=DIR"
            )
    changed = sorted(_changed(before, loaded.frozen))
    if changed and running(where):
        say(f"changed keys, without effect until the campaign is resumed: {', '.join(changed)}")
    elif changed:
        say(f"changed keys: {', '.join(changed)}")


def _changed(before: Tables, now: Tables) -> Iterator[str]:
    """Yield each key that has a new value, with the old and the new value."""
    for table in {**before, **now}:
        keys, old = now.get(table, {}), before.get(table, {})
        for key in keys.keys() | old.keys():
            if (was := old.get(key)) == (is_ := keys.get(key)):
                continue
            if table == TARGETS and was and is_:
                changed = _changed(_tables_of(was), _tables_of(is_))
                yield from (f"{table}.{key}.{one}" for one in changed)
            elif table == TARGETS:
                yield f"{table}.{key} ({'was added' if is_ else 'was removed'})"
            else:
                yield f"{table}.{key} ({_value(was)} -> {_value(is_)})"


def _tables_of(target: Mapping[str, Any]) -> Tables:
    """The tables of a target; its weight, too, as if it were in one."""
    tables = {name: table for name, table in target.items() if isinstance(table, dict)}
    return {**tables, "turns": {"weight": target.get("weight", 1)}}


def _value(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _has_executed(where: Path) -> bool:
    """Whether the run has executed anything; otherwise the campaign's identity may still change."""
    return executed(standing(where).state)


def _finished(campaign: Campaign, where: Path) -> bool:
    state = standing(where).state
    return state.state == "finished" and bool(spent(campaign, state, running_time(state)))


def _is_vain(campaign: Campaign, where: Path) -> bool:
    """Whether the budget is used up although nothing was executed: the target could not start."""
    state = standing(where).state
    return bool(spent(campaign, state, running_time(state))) and not executed(state)


def _larger(campaign: Campaign, where: Path) -> Iterator[tuple[str, object]]:
    """Yield the keys of the limits that have ended the campaign, with values for ``--set``."""
    state = standing(where).state
    if spent(replace(campaign, stop_crashes=0), state, running_time(state)):
        yield "campaign.budget", "LARGER"
    if spent(replace(campaign, budget_s=0.0, budget_trials=0), state, 0.0):
        yield "stop.crashes", counted_crashes(campaign, state) + 1


def import_target(loaded: FrozenCampaign) -> Ready:
    """Import the target in a separate process, and make some inputs. Raises :class:`CliError`."""
    try:
        with Waiting() as waiting:
            return ready(loaded.campaign, waiting)
    except Unfit as e:
        raise unfit(loaded, e) from None


def unfit(loaded: FrozenCampaign, error: Unfit) -> CliError:
    """Return the error for an engine that cannot start: the place in the file, and the reason."""
    message = f"{loaded.origin(error.key)}: {error}"
    if "No module named" in message and (command := installation(loaded.campaign)):
        message += f". Install the sample's packages with: {command}"
    return UsageError(message)
