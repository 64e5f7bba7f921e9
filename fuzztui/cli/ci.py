"""``fuzztui ci``: is a change of the code good? Replay, fuzz, score what has changed, report."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzztui.cli.ci_judging import CiJudge
from fuzztui.cli.gates import Baseline, read_baseline
from fuzztui.cli.headless import wait_for_end
from fuzztui.cli.mutants import AFL, found, python_campaign
from fuzztui.cli.output import FAILED, CliError, UsageError, duration, in_ci_log, say
from fuzztui.cli.published import published
from fuzztui.cli.run import load_file, start_campaign
from fuzztui.cli.runs import standing
from fuzztui.cli.samples import campaign_or_project
from fuzztui.cli.score import ask_score, judged
from fuzztui.cli.since import code_changes, in_scopes, tree
from fuzztui.features.corpus.cover import CoverInput, greedy_cover
from fuzztui.features.verdicts.file import MutantVerdict, read_mutant_verdicts
from fuzztui.features.verdicts.judging import changes as verdict_changes
from fuzztui.kernel.base import versions
from fuzztui.kernel.base.atomic import publish_text, replace_bytes
from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.base.files import (
    files_in,
    read_if_regular,
    read_regular,
    remove,
    temporary_directory,
)
from fuzztui.kernel.base.files import status as lstat
from fuzztui.kernel.base.shards import Shard
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.selectors import ENDED, totals
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.afl import id_of
from fuzztui.kernel.wire.events import (
    Event,
    FindingDescribed,
    FindingSaved,
    Record,
    SupervisorStarted,
)
from fuzztui.kernel.wire.severity import severity_in_python
from fuzztui.run.campaign import Campaign, FrozenCampaign, load
from fuzztui.run.campaign.rundir import SupervisorError, prepare_run
from fuzztui.run.home.finding import is_run
from fuzztui.run.inprocess.replay import Replayed, replay, replayed_files
from fuzztui.tools.changes.code import CodeChanges
from fuzztui.tools.ci.annotations import github, plain
from fuzztui.tools.ci.corpus import FINDINGS, MAX_INPUT_BYTES, KeptCorpus
from fuzztui.tools.ci.outcome import CiOutcome, CodeLocation, Gate, located, named
from fuzztui.tools.ci.outcomes import KeptOutcomes
from fuzztui.tools.ci.reports import SUMMARY, write_reports

RUN = "run"
"""The run directory in the output directory; replaced by the next run of ``ci``."""
SCORE = "score.json"
"""The score of all code, which can be the next ``--baseline``."""

_LINE_EVERY_S = 10.0
_SCORE_S = 60.0
"""Seconds that the score may take if there is no budget."""
_RECORDING_SHARE = 0.5
"""Share for recording what kept inputs do, of the time that is left after the replay."""
_FUZZING_SHARE = {True: 0.5, False: 0.8}
"""Share for fuzzing, of the time left after recording: with mutants to score, and without."""
_ENDING_SHARE = 0.1
"""Share of the same time for starting the campaign, and for examining what it has found."""
_SCORE_SHARE = 0.7
"""Share for the score, of the time left after fuzzing; the rest: adding inputs to the corpus."""
_LEAST_S = 0.5
"""Seconds below which a step is left out."""
_MAX_SHOWN_BYTES = 200
"""Bytes of an input that a comment shows."""
_SPOTON = "spoton"


def ci(options: argparse.Namespace) -> int:
    """Carry out the command; return the exit code."""
    loaded = load_file(campaign_or_project(options.file), options.overrides)
    campaign = loaded.campaign
    if campaign.kind in (AFL, _SPOTON):
        raise UsageError(
            f'{loaded.origin("engine.kind")}: engine.kind = "{campaign.kind}": ci is for the '
            "engines zest, mu2 and text"
        )
    # All that may be wrong on the command line is looked at before anything runs.
    baseline = None if options.baseline is None else read_baseline(options.baseline, "--baseline")
    _default_since(options)
    code = None if options.all else code_changes(options)
    verdicts = Path(campaign.verdicts)
    mutant_verdicts = read_mutant_verdicts(verdicts)
    verdict_events = verdict_changes(State(), verdicts)
    output: Path = options.output.absolute()
    if options.corpus is not None and options.corpus.exists() and not options.corpus.is_dir():
        raise UsageError(f"--corpus {options.corpus}: is not a directory")
    corpus = KeptCorpus((options.corpus or output / "corpus").absolute())
    try:
        output.mkdir(parents=True, exist_ok=True)
        corpus.make()
        with temporary_directory() as temporary:
            command = _Ci(options, loaded, code, corpus, Path(temporary))
            command.known = verdict_events
            command.mutant_verdicts = mutant_verdicts
            command.baseline = baseline
            return command.run()
    except SupervisorError as e:
        raise CliError(f"{campaign.file}: {e}") from None


def _default_since(options: argparse.Namespace) -> None:
    """In a pull or merge request: the changes since the branch into which it would be merged."""
    if options.all or options.since is not None or options.in_diff is not None:
        return
    if branch := os.environ.get("GITHUB_BASE_REF"):
        options.since = f"origin/{branch}"
    elif commit := os.environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"):
        options.since = commit
    if options.since:
        say(f"a pull request: --since {options.since}")


@dataclass(slots=True)
class _Selected:
    """The mutants to run: ``ids``; None: all. ``fuzz`` False: nothing changed, so no campaign."""

    ids: set[str] | None
    overrides: list[str]
    fuzz: bool = True


class _Ci:
    """One run of the command."""

    def __init__(
        self,
        options: argparse.Namespace,
        loaded: FrozenCampaign,
        code: CodeChanges | None,
        corpus: KeptCorpus,
        work: Path,
    ) -> None:
        self.options, self.loaded, self.code = options, loaded, code
        self.corpus, self.work = corpus, work
        self.output: Path = options.output.absolute()
        self.known: Iterable[Event] = ()
        self.mutant_verdicts: Mapping[str, MutantVerdict] = {}
        self.baseline: Baseline | None = None
        self.run_path = self.output / RUN
        root = (code.changes.root if code else tree()).resolve()
        since = code.changes.what if code else ""
        verdicts = named(Path(loaded.campaign.verdicts), root)
        self.shard: Shard | None = options.shard
        self.outcome = CiOutcome(loaded.campaign.name, root, since, verdicts, str(self.shard or ""))
        self._kept_before = 0
        self._began = time.monotonic()
        self._until = self._began + options.budget if options.budget else float("inf")
        """When the job must end: all steps read it."""
        self._fuzzed = State()
        """The end of the fuzzing; the state of an empty log before."""
        self._inputs: dict[str, str] = {}
        """The kept input by the key of a finding."""

    def run(self) -> int:
        """Do all steps, and write the reports."""
        options, states = self.options, list[State]()
        self._kept_before = len(self.corpus.files())
        kept = [*self.corpus.files(), *files_in(self._seeds)]
        with self._step("replay"):
            replayed = self._replay(kept)
            outcomes = KeptOutcomes(self.corpus.outcomes, self._campaign([]), self.corpus.constants)
            changed = outcomes.changes(kept, self._instance, self._until)
        self._cut(replayed.cut, "not replayed")
        self._cut(outcomes.cut, "not compared with what an earlier run has recorded")
        if kept and outcomes.judged_by_tests:
            self._note("a suite: its tests judge what the inputs do, no earlier run")
        elif kept and not outcomes.known:
            self._note(
                "no earlier run has recorded what the inputs do, so that a changed value is no "
                "finding yet; this run records them"
            )
        if not outcomes.judged_by_tests:
            with self._step("recording"):  # before fuzzing uses up the budget
                until = time.monotonic() + self._left_s * _RECORDING_SHARE
                outcomes.learn(kept, (), self._instance, until)
        states.append(self._replayed_state(kept, replayed, changed))
        selected = self._select(replayed)
        if self._left_s < _LEAST_S and (selected.fuzz or 0 < len(kept) == replayed.cut):
            what = "fuzzed" if selected.fuzz else "replayed"
            self._not_judged(f"nothing was {what}: --budget was used up; give more")
        elif selected.fuzz and options.budget:
            with self._step("fuzzing"):
                states.append(self._fuzz(selected))
        if selected.fuzz and not options.budget and not kept:
            self._not_judged("no input was run: the kept corpus is empty, and --budget is 0")
        judge = CiJudge(self.outcome, self.code, self._target_line())
        judge.take_findings(states, self._keep_finding)
        result: dict[str, Any] | None = None
        if selected.fuzz and (selected.ids is None or selected.ids):
            with self._step("score"):
                result = self._score(selected)
        accepted = {f.signature for f in self.outcome.findings if not f.is_open}
        with self._step("merge"):
            self._merge(kept, replayed, result)
            new = {*files_in([self.corpus.inputs])}.difference(kept)
            outcomes.learn([*kept, *sorted(new)], accepted, self._instance, self._until)
            self._cut(outcomes.cut, "not recorded: the next run compares nothing with them")
        judge.judge_findings()
        if result is not None:
            judge.judge_mutants(
                result, self.baseline, options.fail_under, options.max_invalid, self._new_input
            )
            if self.code is None:
                inputs = os.path.relpath(self.corpus.inputs, self.output)
                more = {"corpus": [inputs], "problems": []}
                score = versions.versioned("score", {**result, **more})
                publish_text(self.output / SCORE, json.dumps(score, indent=1))
        if (over := -self._left_s) > 0:
            self._note(
                f"the job took {over:.1f} s more than --budget: imports of the target, single "
                "inputs, and the ends of processes cannot be cut"
            )
        self._report()
        return self.outcome.code

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.outcome.seconds[name] = time.monotonic() - began

    # ------------------------------------------------------------------ steps

    @property
    def _left_s(self) -> float:
        """Seconds that are left of ``--budget``; negative if it is used up."""
        return self._until - time.monotonic()

    def _cut(self, number: int, what: str) -> None:
        """Say how many inputs a step had no time for."""
        if number:
            self._note(f"at least {several(number, 'input')} {what}: --budget was used up")

    @property
    def _seeds(self) -> list[Path]:
        """The campaign's own seeds: files and directories."""
        return [Path(seed) for seed in self.loaded.campaign.engine.get("seeds", ())]

    @property
    def _instance(self) -> Path:
        """The instance whose state is used: of the run, or of a temporary one before it."""
        ran = self.run_path / "out" / "main"
        return ran if ran.is_dir() else self.work / "out" / "main"

    def _replay(self, kept: list[Path]) -> Replayed:
        self.outcome.replayed = len(kept)
        self.outcome.seeds = len(kept) - self._kept_before
        self.outcome.kept = self._kept_before
        say(f"replay: {self.outcome.inputs} ({self.corpus.path})")
        if self.corpus.constants.is_file():
            self._keep_constants(self.corpus.constants, self.work / "constants.json")
        lines = _Lines("replay", len(kept))
        campaign = self._campaign([])
        instance = self.work / "out" / "main"
        found = replay(campaign, kept, self.work, instance, lines.show, until=self._until)
        self.outcome.replayed -= found.cut
        return found

    def _replayed_state(
        self, kept: list[Path], replayed: Replayed, changed: dict[Path, dict[str, str]]
    ) -> State:
        """What the replay has shown as findings of a campaign, with the user's verdicts."""
        events = [*self.known, SupervisorStarted(0, 0.0)]
        failed = {kept[at]: failure for at, failure in sorted(replayed.failed.items())}
        for file, failure in (changed | failed).items():
            is_kept = file.is_relative_to(self.corpus.path)
            name = str(file.relative_to(self.corpus.path) if is_kept else file)
            category = failure.get("category", "crash")
            signature = failure.get("signature", "")
            described = FindingDescribed(
                "replay",
                category,
                name,
                signature=signature,
                title=failure.get("title", ""),
                detail=failure.get("detail", ""),
            )
            severity = severity_in_python(category, signature.rpartition("\0")[2])
            events += [FindingSaved("replay", category, name), severity.put_in(described)]
            self._inputs[f"replay/{name}"] = name
        state = State()
        apply(state, [Record(n, 0.0, event) for n, event in enumerate(events, 1)])
        if replayed.failed:
            say(f"replay: {several(len(replayed.failed), 'input fails', 'inputs fail')}")
        if changed:
            say(f"replay: {several(len(changed), 'input')} with another outcome than before")
        return state

    def _select(self, replayed: Replayed) -> _Selected:
        """Choose the mutants of changed code. Raises :class:`CliError`."""
        if self.code is None:
            return _Selected(None, [])
        campaign = self.loaded.campaign
        files = replayed_files(self.work)
        root = self.outcome.root
        if self.code.by_file and files and not any(f.is_relative_to(root) for f in files):
            raise UsageError(
                f"--since: the target is not imported from {root}, but from "
                f"{min(files).parent}: install it with 'pip install -e', or set target.path"
            )
        changed = [c for path, c in self.code.by_file.items() if path in files]
        self.outcome.changed = sum(len(c.functions) for c in changed)
        harness = replayed.harness or campaign.target["function"].rpartition(":")[0]
        own = {campaign.file.resolve(), Path(harness).resolve()}
        if not changed and not own & self.code.changes.files.keys():
            self._note(
                f"nothing to mutate: since {self.code.changes.what} no code of the target "
                "has changed"
            )
            return _Selected(set(), [], fuzz=False)
        if not changed:
            return _Selected(set(), [in_scopes([])])
        mutants = found(self._campaign([])).mutants.values()
        chosen = [m for m in mutants if self.code.in_changed_code(m.path, m.line)]
        if self.shard is not None:
            chosen = [m for m in chosen if self.shard.has(m.id)]
        say(
            f"{several(len(chosen), 'mutant')} in {several(self.outcome.changed, 'function')} "
            f"changed since {self.code.changes.what}"
        )
        return _Selected({m.id for m in chosen}, [in_scopes(chosen)])

    def _campaign(self, more: Iterable[str]) -> Campaign:
        """The campaign for mu2, in the work directory."""
        overrides = [*self.options.overrides, *self._shard_of_mutants(), *more]
        return python_campaign(self.loaded.campaign.file, overrides)

    def _shard_of_mutants(self) -> list[str]:
        return [f"engine.shard={self.shard}"] if self.shard is not None else []

    def _fuzz(self, selected: _Selected) -> State:
        """Run a campaign for the budget, from the kept corpus. Raises :class:`CliError`."""
        share = _FUZZING_SHARE[selected.ids != set()]
        seconds = self._left_s * share
        until = time.monotonic() + self._left_s * (share + _ENDING_SHARE)
        loaded = self._run_campaign(selected, seconds)
        run = self.run_path
        if is_run(run) and running(run):
            raise CliError(f"{run}: a campaign is running there; stop it, or use another --output")
        if run.exists() and not is_run(run):
            raise UsageError(f"{run}: exists and is not a run; use another --output")
        with suppress(FileNotFoundError):
            remove(run)
        prepare_run(run)
        if self.corpus.constants.is_file():
            self._keep_constants(self.corpus.constants, run / "constants.json")
        left, kind = duration(self._left_s), loaded.campaign.kind
        say(f"fuzzing with {kind} for {duration(seconds)} of the {left} that are left of --budget")
        start_campaign(loaded, "starting")
        wait_for_end(run, as_json=False, summary=False, until=until)
        state = self._fuzzed = standing(run).state
        self.outcome.executions = max(0, totals(state).stats.execs)
        if state.state not in ENDED or state.state == "failed":
            reason = f": {brief(state.reason)}" if state.reason else ""
            self._not_judged(f"the campaign {state.state}{reason}")
        elif why := unmeasured(state):
            self._not_judged(f"fuzzing has measured nothing: {why}")
        elif state.state == "stopped":
            self._note("the campaign was stopped before its part of --budget was used up")
        made = run / "constants.json"
        if made.is_file() and not self.corpus.constants.exists():
            self._keep_constants(made, self.corpus.constants)
        return state

    def _run_campaign(self, selected: _Selected, seconds: float) -> FrozenCampaign:
        campaign = self.loaded.campaign
        kind = "mu2" if campaign.table("mutants") else campaign.kind
        folders = [f for f in (self.corpus.inputs, self.corpus.findings) if any(files_in([f]))]
        seeds = [*map(str, self._seeds), *map(str, folders)]
        overrides = [
            *self.options.overrides,
            f"campaign.budget={seconds:.3f}s",
            f"campaign.output={_toml(str(self.run_path))}",
            f"engine.seeds={_toml(seeds)}",
        ]
        if kind == "mu2":  # the score is computed afterwards, on the merged corpus
            overrides += [*selected.overrides, *self._shard_of_mutants(), "engine.exact=false"]
        if self.shard is not None:  # other random inputs than in the other jobs
            overrides.append(f"campaign.seed={(campaign.seed + self.shard.number) % LARGEST}")
        return load(campaign.file, overrides, kind=kind if campaign.table("mutants") else "")

    def _score(self, selected: _Selected) -> dict[str, Any] | None:
        folders = [self.corpus.inputs, *self._seeds, *self._queues()]
        folders = [folder for folder in folders if any(files_in([folder]))]
        if not folders or self._left_s < _LEAST_S:
            why = "--budget was used up before" if folders else "the corpus has no input yet"
            text = f"no score: {why}"
            if self.baseline is None and self.options.fail_under is None:
                self._note(text)
            else:  # a gate that cannot be judged must not pass
                self.outcome.gates.append(Gate("score", text, FAILED))
            return None
        campaign = self._campaign(selected.overrides)
        within = self._left_s * _SCORE_SHARE if self.options.budget else _SCORE_S
        result = ask_score(
            campaign, self._instance, folders, jobs=self.options.jobs, within_s=within
        )
        verdicts = self.mutant_verdicts
        if self.shard is not None:
            verdicts = {id_: v for id_, v in verdicts.items() if self.shard.has(id_)}
        if selected.ids is not None:
            verdicts = {id_: v for id_, v in verdicts.items() if id_ in selected.ids}
            result["mutants"] = [m for m in result["mutants"] if m.get("id") in selected.ids]
        return judged(result, verdicts)

    def _queues(self) -> list[Path]:
        ran = self.options.budget and "fuzzing" in self.outcome.seconds
        return sorted((self.run_path / "out").glob("*/queue")) if ran else []

    def _merge(self, kept: list[Path], replayed: Replayed, result: dict[str, Any] | None) -> None:
        """Add what the run has found to the kept corpus: edges, kills, and failing inputs."""
        new = [*files_in(self._queues())]
        rows = result["mutants"] if result else []
        kills: dict[str, list[str]] = {}
        for row in rows:
            if row.get("state") == "killed":
                kills.setdefault(str(row.get("killer")), []).append(str(row.get("id")))
        if new:
            show = _Lines("merge", len(new)).show
            campaign, until = self._campaign([]), self._until
            covered = replay(campaign, new, self.work, self._instance, show, until=until)
            self._cut(covered.cut, "of the campaign not looked at for the kept corpus")
            # The score runs kept inputs first and names the first killer of a mutant: if that is in
            # a queue, no kept input kills the mutant.
            sound = [
                CoverInput(name, status.st_size, covered.cells[at].union(kills.get(name, ())))
                for at in sorted(covered.cells.keys() - covered.failed.keys())
                if (status := lstat(new[at])) and (name := str(new[at]))
            ]
            have = set().union(*replayed.cells.values())
            for pick in greedy_cover(sound, lambda row: row.has, have=have):
                self.corpus.add(Path(pick.row.file), self.corpus.inputs)
        self.outcome.kept = len(self.corpus.files())
        self.outcome.added = self.outcome.kept - self._kept_before

    def _keep_constants(self, source: Path, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        replace_bytes(to, read_regular(source, MAX_INPUT_BYTES))

    def _target_line(self) -> CodeLocation | None:
        """The line of the campaign file that names the target; None if it is elsewhere."""
        file, _, line = self.loaded.origin("target.function").rpartition(":")
        return located(file, int(line), self.outcome.root) if line.isdecimal() else None

    def _keep_finding(self, finding: Finding, is_open: bool) -> str:
        """Return the name of a finding's input; that of a new bug is kept, to be run again."""
        if name := self._inputs.get(finding.key, ""):
            return name
        if is_open:
            file = self.run_path / "out" / finding.instance / finding.file
            if kept := self.corpus.add(file, self.corpus.findings):
                return f"{FINDINGS}/{kept.name}"
        return f"{finding.instance}/{finding.file}"

    def _new_input(self, killer: str) -> str:
        """The text of an input that fuzzing has made; empty if it was there before, or is gone.

        The score runs kept inputs first and names the first killer.
        """
        file = Path(killer)
        if file.parent not in self._queues():
            return ""
        entry = self._fuzzed.entries.get(f"{file.parent.parent.name}/{id_of(file.name)}")
        if entry and entry.preview:  # made by a generator: the file only has its choices
            return entry.preview
        data = read_if_regular(file, _MAX_SHOWN_BYTES)
        return "" if data is None else repr(data)

    def _not_judged(self, text: str) -> None:
        """Add a gate that fails, because green would mean that something was judged."""
        self.outcome.gates.append(Gate("campaign", text, FAILED))

    def _note(self, text: str) -> None:
        say(text)
        self.outcome.notes.append(text)

    # ------------------------------------------------------------------ output

    def _report(self) -> None:
        outcome = self.outcome
        outcome.absolute = self.options.absolute
        if not outcome.absolute:
            outcome = published(outcome, outcome.root)
        write_reports(outcome, self.output, os.environ)
        on_github = os.environ.get("GITHUB_ACTIONS") == "true"
        for line in github(outcome) if on_github else plain(outcome):
            print(in_ci_log(line))
        for gate in outcome.gates:
            print(in_ci_log(f"{'FAILED' if gate.code else 'ok':<6}  {brief(gate.text, 1000)}"))
        parts = ", ".join(f"{name} {spent:.1f} s" for name, spent in outcome.seconds.items())
        took = time.monotonic() - self._began
        of = f" of {duration(self.options.budget)}" if self.options.budget else ""
        print(f"{outcome.inputs}; {parts}; {took:.1f} s{of} in all", flush=True)
        say(f"reports: {self.output}")
        if outcome.open_findings:
            say(f"{SUMMARY}: a verdict for each new finding, to be added to {outcome.verdicts}")


class _Lines:
    """Progress as plain lines with an estimate, for the log of a CI server."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._began = time.monotonic()
        self._due = self._began + _LINE_EVERY_S

    def show(self, done: int) -> None:
        now = time.monotonic()
        if now < self._due or not done:
            return
        self._due = now + _LINE_EVERY_S
        left = (now - self._began) * (self._total - done) / done
        say(f"{self._what}: {done:,} of {self._total:,}, about {duration(left)} left")


def _toml(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
