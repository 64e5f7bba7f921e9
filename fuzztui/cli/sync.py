"""``fuzztui sync RUN DIR``: exchange queue entries with other runs through a directory."""

from __future__ import annotations

import argparse
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from fuzztui.cli.corpus_running import KILLS, Care, disk
from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutants import AFL, own_campaign
from fuzztui.cli.output import DONE, FAILED, NOT_RUNNING, USAGE, CliError, UsageError, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import fold_all, no_records, open_session
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.corpus.choose import choose, missing_again
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.machines.sync.exchange import DirectoryExchange, PassResult, SyncError, only_one
from fuzztui.machines.sync.names import check_own, default_name, digest, tag_of
from fuzztui.machines.sync.peers import About
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.home.finding import is_run
from fuzztui.run.inprocess.constants import constants_of

_SHOWN = 5


def sync(options: argparse.Namespace) -> int:
    """Push and pull once, or every ``--every`` until a signal comes."""
    run = RunDir(find_one_target(options.run))
    directory = _directory(options.directory, run)
    session = open_session(run.path)
    state = fold_all(session)
    if not state.seq:
        raise no_records(run.path, session.problems)
    if not state.instances and not session.problems:
        raise CliError(f"{run.path}: the campaign was never started", NOT_RUNNING)
    tag = tag_of(run.path, state.started_wall)
    name = options.name or default_name(tag)
    if why := check_own(name):
        raise UsageError(f"--name {name}: {why}")
    progress = Estimate()
    about = _about(run, tag, options.overrides)
    exchange = DirectoryExchange(run, directory, name, about, progress.show)

    first = True

    def one_pass(*, pull: bool = True) -> None:
        nonlocal first
        try:
            result = exchange.sync(fold_all(session), pull=pull)
        finally:
            progress.clear()
        result.at_least = bool(session.problems) or state.lost > 0
        dropped = None
        if options.prune and pull and (first or result.pushed):
            dropped = _prune(run, exchange, options)
        first = False
        _show(result, exchange, dropped, options)

    with _explained(), only_one(run):
        if not options.every:
            one_pass()
            return DONE
        return loop(options.every, one_pass, lambda: one_pass(pull=False))


def _directory(given: Path, run: RunDir) -> Path:
    """The directory; made if it is missing. Raises :class:`CliError`."""
    directory = given.absolute()
    with disk():
        inside, own = directory.resolve(), run.path.resolve()
        if inside == own or own in inside.parents:
            raise UsageError(f"{given}: is in the run; name a directory that the runs share")
        if is_run(directory):
            raise UsageError(f"{given}: is a run; name a directory that the runs share")
        if not directory.is_dir():
            if directory.exists():
                raise UsageError(f"{given}: is not a directory")
            if not directory.parent.is_dir():
                raise UsageError(f"{given}: there is no directory {directory.parent}")
            directory.mkdir()
    return directory


def _about(run: RunDir, tag: str, overrides: list[str]) -> About:
    campaign = own_campaign(run.campaign, overrides)
    constants = constants_of(run)
    return About(
        engine=campaign.kind,
        # A program's inputs are bytes, wherever and however it was built.
        target="" if campaign.kind == AFL else campaign.subject[:300],
        constants="" if constants is None else digest(constants),
        host=socket.gethostname(),
        run=tag,
    )


@contextmanager
def _explained() -> Iterator[None]:
    """Context manager: raises :class:`CliError` for errors of the exchange and of the disk."""
    try:
        with disk():
            yield
    except SyncError as e:
        raise CliError(str(e), USAGE if e.usage else FAILED) from None


# ------------------------------------------------------------------ every


def loop(every_s: float, one_pass: Callable[[], object], last: Callable[[], object]) -> int:
    """Run a pass now and every ``every_s`` seconds; on a signal the last one. Returns its code."""
    ended = threading.Event()

    def end(_signum: int, _frame: FrameType | None) -> None:
        if ended.is_set():
            raise KeyboardInterrupt  # a second one: at once
        ended.set()

    before = {n: signal.signal(n, end) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not ended.is_set():
            _tried(one_pass)
            ended.wait(every_s)
        say("ending: pushing what is new")
        return _tried(last)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tried(one_pass: Callable[[], object]) -> int:
    """Run a pass; report its error, because the next one may succeed."""
    try:
        with _explained():
            one_pass()
    except UserError as e:
        say(str(e))
        return e.code
    return DONE


# ------------------------------------------------------------------ prune


def _prune(
    run: RunDir, exchange: DirectoryExchange, options: argparse.Namespace
) -> tuple[int, int]:
    """Drop entries of this run that cover only what its other entries cover, too.

    Entries of other runs do not count: two runs that rely on each other could both drop theirs.
    Returns how many entries were dropped, and how many there were.
    """
    with Care(run, options) as care:
        inputs = care.of_directory(exchange.mine / "queue")
        inputs.entries = [entry for entry in inputs.entries if entry.size]
        if not inputs.entries:
            return 0, 0
        measured = care.measured([inputs])
        kills = care.kills([inputs])
        choice = choose(inputs.entries, measured, kills)
        stay = {*(one.at for one in choice.chosen), *choice.failing}
        if care.by != KILLS:
            again = care.again([inputs.entries[one.at] for one in choice.chosen], measured)
            stay |= {*missing_again(measured, choice, again)}
        unneeded = {_sum(entry.copy) for at, entry in enumerate(inputs.entries) if at not in stay}
    return exchange.drop(unneeded), len(inputs.entries)


def _sum(file: Path) -> str:
    with disk():
        return digest(file.read_bytes())


# ------------------------------------------------------------------ output


def _show(
    result: PassResult,
    exchange: DirectoryExchange,
    dropped: tuple[int, int] | None,
    options: argparse.Namespace,
) -> None:
    if options.json:
        whole = {"name": exchange.name, **asdict(result)}
        whole["dropped"] = None if dropped is None else dropped[0]
        print_json("sync", whole, indent=None)
        return
    pulled = sum(result.pulled.values())
    words = [f"pushed {several(result.pushed, 'entry', 'entries')}"]
    if result.crashes:
        words.append(several(result.crashes, "crash", "crashes"))
    if result.unsafe:
        words.append(f"{result.unsafe:,} marked as unsafe")
    if dropped is not None:
        words.append(f"dropped {dropped[0]:,} of {dropped[1]:,}")
    of = several(result.peers, "peer")
    words.append(f"pulled {several(pulled, 'entry', 'entries')} ({of})")
    print(visible(f"{exchange.name}: {', '.join(words)}"), flush=True)
    _say_some([f"{brief(peer)}: not imported: {why}" for peer, why in result.others.items()])
    _say_some(
        [
            f"{brief(peer)}: {several(n, 'file')} not read: {why}"
            for peer, reasons in result.skipped.items()
            for why, n in reasons.items()
        ]
    )


def _say_some(lines: list[str]) -> None:
    for line in lines[:_SHOWN]:
        say(line)
    if len(lines) > _SHOWN:
        say(f"and {len(lines) - _SHOWN} more")
