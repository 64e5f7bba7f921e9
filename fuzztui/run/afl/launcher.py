"""The launcher of AFL++: how the afl-fuzz instances of a campaign are started."""

from __future__ import annotations

import errno
import functools
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from fuzztui.engines.text.block import BLOCK
from fuzztui.engines.text.rules import UNPARSED
from fuzztui.engines.text.table import FRAGMENT, TEMPLATE
from fuzztui.kernel.base.files import read_if_regular, read_json, read_regular
from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.afl import MAX_COMMAND_LINE
from fuzztui.kernel.wire.commands import SetMixture, TypeCommand, WeighMutator, names_of
from fuzztui.kernel.wire.events import InstanceHello, Message
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.afl.build import build_target
from fuzztui.run.afl.refusal import (
    begin_log,
    finished_by_itself,
    refusal_of,
    shortage_of,
    shorten_log,
)
from fuzztui.run.afl.seeds import gather_seeds
from fuzztui.run.afl.shared_memory import remove_segments
from fuzztui.run.afl.statsd import Gauges, statsd_port
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.binaries import binaries_of, binary_at, cmplog_of, with_binary
from fuzztui.run.campaign.fleet import MOPT, Options, parse_options, split_options, spread
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.instances.launcher import Launch, Launcher, instance_names, trials_share
from fuzztui.run.observe.stats_reader import StatsSource
from fuzztui.run.process.identity import ProcessId
from fuzztui.run.process.library import pace_library, steering_library, text_library
from fuzztui.run.process.service import ServiceContext
from fuzztui.run.triage.afl import AflTriage

DEFAULTS = {
    "AFL_SKIP_CPUFREQ": "1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    "AFL_NO_AFFINITY": "1",
    "AFL_SYNC_TIME": "1",
    "AFL_IMPORT_FIRST": "1",
    "AFL_FORKSRV_INIT_TMOUT": "30000",
}
"""Variables that a campaign needs to run unattended, next to others, on a busy machine.

Variables that the user has exported, or set in ``target.env``, override these.
"""

ALWAYS = {"AFL_NO_UI": "1", "AFL_AUTORESUME": "1"}
"""Variables that users cannot override. AUTORESUME: a start from the seeds deletes no work."""

_MUTATORS = "AFL_CUSTOM_MUTATOR_LIBRARY"
_STEERED = ("skip", "promote", "reset")
_MUTATORS_STEERED = (SetMixture.name, WeighMutator.name)
_UNABLE = {
    "demote": "afl-fuzz can skip or promote an entry, nothing between",
    **dict.fromkeys(names_of(TypeCommand), "afl-fuzz knows no types: spoton does"),
}
_SIGNALLED: Mapping[str, int] = {
    "pause": signal.SIGSTOP,
    "resume": signal.SIGCONT,
    "skip-current": signal.SIGUSR1,
}
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
_SEED_RANGE = 1 << 31
_VERSION = re.compile(r"afl-fuzz(?:\+\+)?\s*([0-9][0-9A-Za-z.]*)")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The options of one instance, and whether its queue can be steered."""

    options: Options
    for_all: Options
    """The user's options for every instance."""
    env: Mapping[str, str]
    library: Path | None
    unsteered: str
    """Why the queue cannot be steered; an empty string if it can."""
    textual: bool
    """Whether the instance runs text mutators."""


class AflFuzz(Launcher):
    """The launcher of afl-fuzz: one ``-M main``, and ``-S s1``, ``-S s2``, ..."""

    says_hello = False
    signals = _SIGNALLED
    stall_s = 75.0  # fuzzer_stats is a minute old when there is nothing fresher

    def __init__(self) -> None:
        self._library: tuple[Path | None, str] | None = None
        self._text: Path | None = None
        self._pace: Path | None = None
        self._lines: dict[str, str] = {}
        """The command lines of instances, by name."""

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Build the target, gather the seeds, compile the libraries."""
        if shutil.which(_tool(campaign, "afl-fuzz")) is None:
            raise SupervisorError(_no_afl(campaign))
        _allow_descriptors()
        warnings = build_target(campaign, run_dir.path, progress)
        _check_program("target.command", campaign.target["command"][0], campaign)
        for binary in binaries_of(campaign):
            _check_program(f"target.binaries.{binary.name}", binary.command[0], campaign)
        if (cmplog := cmplog_of(campaign)) not in ("", "0"):
            _check_program("target.cmplog", cmplog, campaign)
        for key in ("run", "against"):
            if command := campaign.table("oracle").get(key):
                _check_program(f"oracle.{key}", command[0], campaign)
        gather_seeds(campaign.engine["seeds"], run_dir.seeds, progress)
        self._library = steering_library(progress)
        if reason := self._library[1]:
            progress(f"queue entries cannot be skipped or promoted: {reason}")
        if campaign.engine["max_speed"]:
            plans = (self._plan(campaign, n) for n in range(campaign.instances))
            if any(MOPT in plan.options.flags | plan.for_all.flags for plan in plans):
                raise SupervisorError(
                    f"{campaign.file}: engine.max_speed: afl-fuzz cannot combine the custom "
                    "mutator that limits its speed with -L (MOpt): remove one of the two"
                )
            self._pacer(progress)
        if campaign.table("text"):
            self._text, reason = text_library(progress)
            if reason:
                raise SupervisorError(
                    f"[text]: afl-fuzz needs the mutator as a library: {reason}. Without [text] "
                    'it mutates bytes; engine.kind = "text" needs no library'
                )
        if (read_if_regular(CORE_PATTERN, 200) or b"").startswith(b"|"):
            text = (
                f"{CORE_PATTERN} passes crashes to a program, so that they may be taken for hangs"
            )
            warnings = [
                *warnings,
                Message("warning", f"{text}: echo core | sudo tee {CORE_PATTERN}"),
            ]
        return warnings

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Return command line and environment; afl-fuzz resumes if the directory has work."""
        name = instance_names(campaign)[index]
        directory = run_dir.instance(name)
        self.clean_up(directory)  # afl-fuzz may have been killed together with its supervisor
        if resumed := has_work(directory):
            _move_torn_stats(directory)
        plan = self._plan(campaign, index)
        own = with_binary(campaign, binary_at(campaign, index))
        common = _common_options(own, index, resumed)
        options = [
            *common.without(plan.for_all.flags | plan.options.flags).arguments,
            *plan.for_all.arguments,
            *plan.options.arguments,
        ]
        argv = [
            *(_bounds() if campaign.slot else ()),
            *(_tool(campaign, "afl-fuzz"), "-i", "-" if resumed else str(run_dir.seeds)),
            *("-o", str(run_dir.out)),
            *(() if campaign.blind else ("-S" if index else "-M", name)),
            *options,
            *("--", *own.target["command"]),
        ]
        speed: int = campaign.engine["max_speed"]
        paced = self._pacer() if speed else None
        text = self._mutator() if plan.textual else None
        mutators = [*filter(None, (plan.library, text, paced))]
        cpu_given = "-b" in Options((tuple(options),)).flags
        pinned = cpu_given or bool(campaign.engine["pin"])
        env = _environment(plan, run_dir, name, mutators, pinned=pinned)
        if campaign.engine["pin"] and not cpu_given:
            env = {"AFL_TRY_AFFINITY": "1", **env}
        if speed:
            env["FUZZTUI_MAX_SPEED"] = str(speed)
        if plan.textual:
            env |= _textual(campaign, run_dir, directory, options)
        assignments = [f"{key}={value}" for key, value in env.items()]
        line = self._lines[name] = shlex.join(["env", *assignments, *argv])
        begin_log(directory, line)
        return Launch(argv, env, Path(campaign.target["cwd"]))

    def hello(self, campaign: Campaign, run_dir: RunDir, index: int) -> InstanceHello:
        """Return the hello with the capabilities of a running afl-fuzz."""
        plan = self._plan(campaign, index)
        able = [*_SIGNALLED, "stop", "add-seed", "minimise"]
        unable = dict(_UNABLE)
        unable |= dict.fromkeys(_STEERED, plan.unsteered) if plan.unsteered else {}
        able += () if plan.unsteered else _STEERED
        if plan.textual:
            able += _MUTATORS_STEERED
        elif campaign.table("text"):
            unable |= dict.fromkeys(_MUTATORS_STEERED, plan.unsteered)
        name = instance_names(campaign)[index]
        return InstanceHello(
            instance=name,
            engine="afl-fuzz",
            version=afl_version(_tool(campaign, "afl-fuzz")),
            capabilities=able,
            unable=unable,
            binary=binary.name if (binary := binary_at(campaign, index)) else "",
            options=shlex.join(plan.options.arguments).replace(f"{campaign.output}/", ""),
            command_line=self._lines.get(name, "")[:MAX_COMMAND_LINE],
        )

    def limit_reached(self, directory: Path, status: int | None) -> str:
        """Return whether it was a limit of afl-fuzz: ``-V``, ``-E``, ``AFL_EXIT_ON_TIME``, ..."""
        own = "exited at a limit in the engine's own options"
        return own if finished_by_itself(directory, status) else ""

    def refusal(self, directory: Path, status: int | None) -> str:
        """Return AFL's own reason if it can never start."""
        return refusal_of(directory, status)

    def shortage(self, directory: Path) -> str:
        """Return AFL's own last reason if it will be started again."""
        return shortage_of(directory)

    def clean_up(self, directory: Path) -> None:
        """Remove the shared memory of a killed afl-fuzz."""
        process = ProcessId.from_json(read_json(directory / "process.json"))
        if process and not process.alive():
            remove_segments(process)

    def tidy(self, directory: Path) -> None:
        """Shorten ``worker.log``: afl-fuzz prints a line per fuzzed entry, tens of MB a day."""
        shorten_log(directory)

    def stats_source(self, run_dir: RunDir, name: str, known: Instance) -> StatsSource:
        """Return the source that reads StatsD packets and ``fuzzer_stats``."""
        return Gauges(run_dir, name, known)

    def triage(self, context: ServiceContext) -> AflTriage:
        """Return the triage, because afl-fuzz does not describe its findings."""
        return AflTriage(context.campaign, context.run_dir, context.record, context.state)

    def _plan(self, campaign: Campaign, index: int) -> _Plan:
        """Return the options of an instance: the user's, or else those of the spread."""
        engine = campaign.engine
        binary = binary_at(campaign, index)
        campaign = with_binary(campaign, binary)
        own: list[str] | None = engine["options"].get(campaign.own_names[index])
        if own is None and binary is not None and binary.options:
            own = [*binary.options]
        for_all = split_options(engine["extra_args"])
        if own is None:
            chosen = spread(index, campaign.instances, cmplog_of(campaign))
            chosen = chosen.without(for_all.flags)
            env = {**chosen.env, **campaign.target["env"]}
        else:
            chosen = parse_options(own)
            # afl-fuzz rejects some options if given twice; of others it takes the last.
            for_all = for_all.without(chosen.flags)
            env = {**campaign.target["env"], **chosen.env}
        if MOPT in chosen.flags | for_all.flags:
            why = "it runs with -L (MOpt), which afl-fuzz does not combine with custom mutators"
            return _Plan(chosen, for_all, env, None, why, textual=False)
        return _Plan(chosen, for_all, env, *self._steering(), textual=bool(campaign.table("text")))

    def _steering(self) -> tuple[Path | None, str]:
        """Return the steering library, or None and why there is none.

        Compiles it if :meth:`setup` was skipped (an adopted fleet), or if the cache was emptied
        since then: afl-fuzz would fail at every restart.
        """
        if self._library is None or ((path := self._library[0]) and not path.exists()):
            self._library = steering_library()
        return self._library

    def _pacer(self, progress: Callable[[str], None] = lambda _: None) -> Path:
        """The library that limits the speed. Raises :class:`SupervisorError` if there is none."""
        if self._pace is None or not self._pace.exists():
            self._pace, reason = pace_library(progress)
            if self._pace is None:
                raise SupervisorError(f"engine.max_speed: {reason}")
        return self._pace

    def _mutator(self) -> Path:
        """The text library, compiled if necessary. Raises OSError if that fails."""
        if self._text is None or not self._text.exists():
            self._text, reason = text_library()
            if self._text is None:
                raise OSError(errno.ENOPKG, reason, "the library of text mutators")
        return self._text


_STATS_START = re.compile(rb"\s*start_time\s*:\s*\d+\s+last_update\s*:\s*\d+")
"""The start of a ``fuzzer_stats`` that afl-fuzz can resume; else it ends with "Malformed data"."""


def _move_torn_stats(directory: Path) -> None:
    """Rename a bad ``fuzzer_stats``: 4.04c leaves an empty one if killed in its first moments."""
    stats = directory / "fuzzer_stats"
    try:
        if stats.exists() and not _STATS_START.match(read_regular(stats, 4096)):
            stats.replace(directory / "fuzzer_stats.torn")
    except OSError:
        return  # afl-fuzz will report the problem


def has_work(directory: Path) -> bool:
    """Whether a start from the seeds would delete results of an earlier afl-fuzz.

    Copies of seeds are not results: if all seeds were rejected, the user must be able to replace
    them.
    """
    if any((directory / name).exists() for name in ("fuzzer_stats", "_resume")):
        return True
    if any(_names(directory / part) for part in FOLDERS):
        return True
    queue = (name for name in _names(directory / "queue") if name != ".state")
    return any(",orig:" not in name or "src:" in name for name in queue)


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except FileNotFoundError:  # other errors are raised: the directory may contain results
        return []


def _common_options(campaign: Campaign, index: int, resumed: bool) -> Options:
    """The options of every instance, which a user can override."""
    target = campaign.target
    memory: int = target["memory_bytes"]
    args = [
        ("-t", f"{max(1, round(1000 * target['timeout_s']))}+"),
        ("-m", str(max(1, memory >> 20)) if memory else "none"),
        *(("-x", file) for file in campaign.engine["dictionary"]),
    ]
    if share := trials_share(campaign, index):
        args += [("-E", str(share))]
    if not resumed:  # with the same random seed a resumed instance would repeat its mutations
        args += [("-s", str((campaign.seed + index) % _SEED_RANGE))]
    return Options(tuple(args))


def _environment(
    plan: _Plan, run_dir: RunDir, name: str, mutators: list[Path], *, pinned: bool
) -> dict[str, str]:
    """Environment variables of one instance, in addition to those of the supervisor."""
    given = {**os.environ, **plan.env}
    env = {key: value for key, value in DEFAULTS.items() if key not in given}
    if pinned or "AFL_TRY_AFFINITY" in given:
        env.pop("AFL_NO_AFFINITY", None)
    env |= {**plan.env, **ALWAYS}
    if port := statsd_port(run_dir, name):
        env |= {
            "AFL_STATSD": "1",
            "AFL_STATSD_HOST": "127.0.0.1",
            "AFL_STATSD_PORT": str(port),
        }
    if mutators:
        directory = run_dir.instance(name)
        others = filter(None, (given.get(_MUTATORS),))
        env[_MUTATORS] = ";".join([*map(str, mutators), *others])
        env["FUZZTUI_CONTROL"] = str(directory / "control.jsonl")
        env["FUZZTUI_EVENTS"] = str(directory / "events.jsonl")
    return env


def _textual(
    campaign: Campaign, run_dir: RunDir, directory: Path, options: list[str]
) -> dict[str, str]:
    """The environment variables of ``text.c``, including the dictionaries of ``options``."""
    text = campaign.table("text")
    parts = (f"{text[name]:.9g}" for name in ("havoc", "text", "splice"))
    flags = split_options(options).args
    tokens = (arg[1] if len(arg) > 1 else arg[0][2:] for arg in flags if arg[0].startswith("-x"))
    without = [*text["without"]]
    edits = text["templates"] or text["rules"]
    without += [] if edits else [TEMPLATE]
    without += [] if text["language"] not in ("", *UNPARSED) else [FRAGMENT]
    return {
        "AFL_CUSTOM_MUTATOR_ONLY": "1",
        "FUZZTUI_TEXT": ",".join([*parts, str(int(text["adaptive"]))]),
        "FUZZTUI_TEXT_ROLL": text["roll"],
        "FUZZTUI_TEXT_BLOCK": str(directory / BLOCK),
        "FUZZTUI_TEXT_POOL": str(run_dir.pool) if text["language"] or edits else "",
        "FUZZTUI_TEXT_WITHOUT": ",".join(without),
        "FUZZTUI_TEXT_TOKENS": "\n".join(str(Path(campaign.target["cwd"]) / t) for t in tokens),
    }


MORE_PROCESSES = 1000
"""Processes that a mutant's afl-fuzz may start in addition to those of the user at its start."""

LARGEST_FILE = 1 << 30
"""Bytes that a mutant may write into one file: it writes into the run, on the user's disk."""


def _bounds() -> tuple[str, ...]:
    """Return the command prefix that limits a mutant's afl-fuzz; empty without ``prlimit``."""
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        return ()
    # The limit counts all processes of the user; it has no effect for root.
    owners = (p.info["uids"] for p in psutil.process_iter(["uids"]))
    ours = sum(uids is not None and uids.real == os.getuid() for uids in owners)
    bounds = (f"--fsize={LARGEST_FILE}", "--core=0", f"--nproc={ours + MORE_PROCESSES}")
    return (prlimit, *bounds, "--")


def _tool(campaign: Campaign, name: str) -> str:
    other: str | None = campaign.engine["afl_path"]
    return str(Path(other) / name) if other else name


MIN_FILES = 256
"""Open files that are needed: afl-fuzz and its fork server use descriptors 198 and 199."""


def _allow_descriptors() -> None:
    """Raise a low soft limit of open files. Raises :class:`SupervisorError` if it stays too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= MIN_FILES:
        return
    if hard != resource.RLIM_INFINITY and hard < MIN_FILES:
        raise SupervisorError(
            f"ulimit -n: {hard} open files are too few, afl-fuzz needs {MIN_FILES} (its descriptors"
            " 198 and 199): raise the limit in the shell that starts fuzztui (ulimit -n 1024)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (MIN_FILES, hard))


def _no_afl(campaign: Campaign) -> str:
    if other := campaign.engine["afl_path"]:
        return f"engine.afl_path: there is no afl-fuzz in {other}"
    return (
        "afl-fuzz is not installed: install AFL++ (Debian: apt install afl++), or name its "
        "directory in engine.afl_path"
    )


def _check_program(key: str, path: str, campaign: Campaign) -> None:
    """Raise :class:`SupervisorError` if a program does not exist or is not executable."""
    program = Path(path)
    if not program.exists():
        built = campaign.target["build"] and program.is_relative_to(campaign.output)
        why = "the build did not make it" if built else "there is no such file"
    elif program.is_dir() or not os.access(program, os.X_OK):
        why = "is not an executable file"
    else:
        return
    raise SupervisorError(f"{key}: {program}: {why}")


@functools.cache
def afl_version(fuzzer: str) -> str:
    """afl-fuzz's version, from its help text; an empty string if unknown."""
    try:
        done = subprocess.run(
            [fuzzer, "-h"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    match = _VERSION.search(done.stdout + done.stderr)
    return match[1] if match else ""
