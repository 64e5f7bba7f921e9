"""``fuzztui score``: compute the exact mutation score of any corpus."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from fuzztui.cli.cluster import cluster_of
from fuzztui.cli.gates import judge, read_baseline
from fuzztui.cli.json_output import print_json
from fuzztui.cli.matrix import keep_matrix, matrix_lines, write_matrix
from fuzztui.cli.mutant_lines import percent, summary_line
from fuzztui.cli.mutants import AFL, found, own_campaign, python_campaign, survivors_table
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, UsageError, at_terminal
from fuzztui.cli.progress import PROGRESS_EVERY_S, TextLine, time_left
from fuzztui.cli.runs import standing
from fuzztui.cli.score_cluster import score_on_cluster
from fuzztui.cli.since import code_changes, in_scopes, nothing_changed
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.verdicts.file import MutantVerdict, read_mutant_verdicts
from fuzztui.features.verdicts.judging import verdicts_file
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.mutants import NOT_RUN, UNREACHED, knowledge, mutants_summary, score_of
from fuzztui.kernel.model.mutants import survivors as grouped_survivors
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.events import (
    CampaignEnded,
    Event,
    MutantRuns,
    MutantsFound,
    MutantState,
    MutationStats,
    Record,
    Stats,
    VerdictsChanged,
)
from fuzztui.kernel.wire.verdicts import ACCEPTED, EQUIVALENT
from fuzztui.machines.merge.scores import score_number
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.ask import ask


def score(options: argparse.Namespace) -> int:
    """Run every mutant on every input of the corpus that could kill it; print the score."""
    # First, because scoring may take minutes.
    if options.output is not None and not options.matrix:
        raise UsageError("-o is for the kill matrix: give --matrix too")
    baseline = None if options.fail_new is None else read_baseline(options.fail_new, "--fail-new")
    run = find_one_target(options.run)
    now = standing(run)
    # A damaged log may have lost the engine; the run's copy of the campaign file has it.
    engine = now.state.engine or own_campaign(run / "campaign.toml").kind
    if engine == AFL:
        raise UsageError(
            f"{run}: score is for Python targets, not for afl; see 'fuzztui mutants matrix {run}'"
        )
    corpus = corpus_of(run, options.corpus)
    if options.shard is not None:
        options.overrides.append(f"engine.shard={options.shard}")
    narrowed = [*options.overrides]
    campaign = python_campaign(run / "campaign.toml", narrowed)
    cluster = cluster_of(options, campaign.table("cluster"))
    if options.parts and cluster is None:
        raise UsageError("--parts is for --cluster, or a campaign with [cluster]")
    code = code_changes(options)
    if code is not None:
        every = found(campaign).mutants.values()
        wanted = [m for m in every if code.in_changed_code(m.path, m.line)]
        if not wanted:
            nothing_changed(code, "mutants to score")
            if options.json:
                folders = [*map(str, corpus)]
                print_json("score", {"mutants": [], "exact": True, "corpus": folders})
            return DONE
        narrowed.append(in_scopes(wanted))
        campaign = python_campaign(run / "campaign.toml", narrowed)
    verdicts = read_mutant_verdicts(verdicts_file(RunDir(run)))  # before minutes of scoring
    matrix = RunDir(run).matrix if options.matrix else None
    if options.shard is not None:
        verdicts = {id_: v for id_, v in verdicts.items() if options.shard.has(id_)}
        if matrix is not None:
            matrix = matrix.with_stem(f"{matrix.stem}-{options.shard.number}-{options.shard.of}")
    if cluster is not None:
        result = score_on_cluster(
            RunDir(run),
            campaign,
            cluster,
            corpus,
            overrides=narrowed,
            mutants=len(found(campaign).mutants),
            jobs=options.jobs,
            parts=options.parts,
            within_s=options.budget,
            matrix=matrix,
        )
        if matrix is not None:
            keep_matrix(matrix, result, {})
    else:
        kept, kills = matrix, "all"
        if matrix is None and narrowed == options.overrides and options.shard is None:
            kept, kills = RunDir(run).kills, "first"
            kept.unlink(missing_ok=True)  # no row is used again: a package may have changed
        result = ask_score(
            campaign,
            run / "out" / "main",
            corpus,
            jobs=options.jobs,
            within_s=options.budget,
            matrix=kept,
            kills=kills,
        )
        if matrix is None:
            result.pop("matrix", None)
    if code is not None:
        wanted_ids = {m.id for m in wanted}
        verdicts = {id_: v for id_, v in verdicts.items() if id_ in wanted_ids}
        result["mutants"] = [m for m in result["mutants"] if m.get("id") in wanted_ids]
    result = judged(result, verdicts)
    if options.output is not None:
        write_matrix(options.output, result, corpus)
    if options.json:
        folders = [str(folder) for folder in corpus]
        counts = mutants_summary(state_of(result))
        names = ("alive", "pending", "never_reached", "not_run")
        left = {name: getattr(counts, name) for name in names}
        more = {**left, "exact": counts.exact, "corpus": folders, "problems": [*now.problems]}
        print_json("score", {**result, **more})
    else:
        for line in report(result, corpus, survivors=options.survivors):
            print(line)
        for line in matrix_lines(result, options.output or matrix or RunDir(run).matrix):
            print(line)
    return judge(state_of(result), options, baseline)


def corpus_of(run: Path, given: Iterable[Path]) -> list[Path]:
    """Return the given directories, or the queues of the run. Raises :class:`CliError`."""
    folders = [folder.absolute() for folder in given]
    for folder in folders:
        if not folder.exists():
            raise UsageError(f"--corpus {folder}: there is no such directory")
    folders = folders or sorted((run / "out").glob("*/queue"))
    if not folders:
        raise CliError(
            f"{run}: has no queue yet; start the campaign, or give --corpus DIR", NOT_RUNNING
        )
    return folders


def ask_score(
    campaign: Campaign,
    directory: Path,
    corpus: Iterable[Path],
    *,
    jobs: int,
    within_s: float,
    matrix: Path | None = None,
    kills: str = "all",
    keep: Path | None = None,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Have an engine score a corpus; show progress on stderr. Raises :class:`CliError`.

    Returns the engine's result. ``directory``: the instance's. ``within_s``: the time limit in
    seconds; 0: none. ``matrix``: the file of an earlier kill matrix, which is used again and
    replaced; None: the result has no matrix. ``kills``: which kills the matrix has (``all``,
    ``first``, ``cover``). ``keep``: write the new matrix to this file, not to ``matrix``.
    ``names``: if the corpus consists of copies, the names of the originals by those of the copies.
    """
    progress = _Progress()
    limits = ["--jobs", str(jobs), "--within", str(within_s)]
    if matrix is not None:
        limits += ["--matrix", str(matrix), "--kills", kills]
    question = [*limits, "--score", *map(str, corpus)]
    try:
        with closing(ask(campaign, question, directory)) as answers:
            for answer in answers:
                if isinstance(answer.get("progress"), dict):
                    progress.show(answer["progress"])
                elif isinstance(answer.get("result"), dict):
                    if matrix is not None:
                        keep_matrix(keep or matrix, answer["result"], names or {})
                    return dict(answer["result"])
    except SupervisorError as e:
        raise CliError(str(e)) from None
    finally:
        progress.clear()
    raise CliError("the engine ended without a score")


class _Progress:
    """One progress line, from the engine's reports."""

    def __init__(self) -> None:
        self._line = TextLine(PROGRESS_EVERY_S)
        self._began: dict[str, tuple[float, int]] = {}
        """Time and steps done at the first report of each part."""

    def show(self, report: dict[str, Any]) -> None:
        """Show the engine's progress. ``report``: the keys what, done, total and killed."""
        part = f"{report.get('what')}: {report.get('done')} of {report.get('total')}"
        done, total = score_number(report, "done"), score_number(report, "total")
        now = time.monotonic()
        began, first = self._began.setdefault(str(report.get("what")), (now, done))
        left = time_left(now - began, done - first, total - done)
        part += f"{left} for these {report.get('what')}" if left else ""  # other parts may follow
        self._line.show(f"{part}, {several(report.get('killed', 0), 'mutant')} killed")

    def clear(self) -> None:
        """Clear the line."""
        self._line.clear()


# ------------------------------------------------------------------ the report


def judged(result: dict[str, Any], verdicts: Mapping[str, MutantVerdict]) -> dict[str, Any]:
    """Return the engine's result with the user's verdicts about mutants.

    Survivors that are marked as equivalent get that state; accepted ones stay survivors, with
    ``accepted`` set. A verdict about no mutant, or about a killed one, is a warning.
    """
    if not verdicts:
        return result
    rows: list[Any] = []
    left = dict(verdicts)
    warnings = [*result["warnings"]] if isinstance(result.get("warnings"), list) else []
    for row in result["mutants"] if isinstance(result.get("mutants"), list) else []:
        verdict = left.get(str(row.get("id"))) if isinstance(row, dict) else None
        if verdict and verdict.is_about(str(row.get("before", "")), str(row.get("after", ""))):
            del left[verdict.id]
            if row.get("state") in ("alive", "pending"):
                equivalent = verdict.verdict == EQUIVALENT
                more = {"state": EQUIVALENT} if equivalent else {"accepted": True}
                rows.append({**row, "because": verdict.because, **more})
                continue
            if row.get("state") == "killed":
                warnings.append(
                    f"the mutant {verdict.id} is killed, so it is not {verdict.verdict}"
                )
        rows.append(row)
    warnings += [
        f"stale verdict: there is no mutant {v.id} {v.change}".rstrip() for v in left.values()
    ]
    return {**result, "mutants": rows, "warnings": warnings}


def state_of(result: dict[str, Any]) -> State:
    """Return the engine's result as the state of a campaign."""
    events: list[Event] = []
    reached: dict[str, list[int]] = {}
    accepted: list[dict[str, str]] = []
    items = result.get("mutants")
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            continue

        def text(key: str, item: dict[str, Any] = item) -> str:
            return str(item.get(key, ""))

        events.append(MutantsFound("", "", text("file"), text("path"), [item]))
        events.append(
            MutantState(
                "",
                text("id"),
                text("state"),
                killer=text("killer"),
                oracle=text("oracle"),
                detail=text("detail"),
                reason=text("because"),
            )
        )
        if item.get("accepted") is True:
            accepted.append({"id": text("id"), "verdict": ACCEPTED, "because": text("because")})
        reached[text("id")] = [int(item.get("reached") is True), 0, 0]
    events += [VerdictsChanged([], accepted), MutantRuns("score", reached)]
    events.append(Stats("score", corpus=score_number(result, "inputs")))
    unsettled = int(result.get("exact") is False)
    events.append(MutationStats("score", unsettled=unsettled, flaky=score_number(result, "flaky")))
    events.append(CampaignEnded("finished"))
    state = State()
    apply(state, [Record(n, 0.0, event) for n, event in enumerate(events, 1)])
    return state


def report(result: dict[str, Any], corpus: list[Path], *, survivors: bool) -> Iterator[str]:
    """Format the result as lines."""
    state = state_of(result)
    mutants = list(state.mutants.values())
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    for folder in corpus:
        yield visible(f"corpus  {folder}")
    yield f"inputs  {result.get('inputs', 0):,}" + _flaky(result)
    counts = mutants_summary(state)
    match result.get("shard"):
        case {"number": int(number), "of": int(of), "mutants": int(whole)}:
            yield f"shard   {number} of {of}, of {several(whole, 'mutant')} in all"
    yield summary_line(counts)
    warnings = result.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        yield visible(f"warning: {warning}")
    head = counts.at_least.strip() or "score"
    yield from _by("operator", head, mutants, lambda m: m.operator)
    yield from _by("file", head, mutants, lambda m: m.file)
    if survivors:
        known = knowledge(state)
        yield from survivors_table(grouped_survivors(mutants, known), width, known)
    elif counts.left:
        yield ""
        words = ("alive", NOT_RUN, UNREACHED)
        parts = ", ".join(f"{n:,} {word}" for word in words if (n := counts.count(word)))
        parts += f"; {counts.accepted:,} accepted" if counts.accepted else ""
        yield f"{counts.left:,} not killed ({parts}): --survivors lists them"
    if counts.not_run:
        yield "not run: a larger --budget, or none, settles them"


def _flaky(result: dict[str, Any]) -> str:
    flaky = result.get("flaky")
    return f"  ({flaky} flaky, not used)" if flaky else ""


def _by(what: str, head: str, mutants: list[Mutant], key: Callable[[Mutant], str]) -> Iterator[str]:
    """Yield a table with the number of mutants, killed mutants and score by ``key``."""
    groups: dict[str, list[Mutant]] = {}
    for m in mutants:
        groups.setdefault(key(m), []).append(m)
    if not groups:
        return
    names = {name: visible(name or "?") for name in sorted(groups)}
    widest = max(len(what), *map(len, names.values()))
    yield ""
    yield f"{what:<{widest}} {'mutants':>8} {'killed':>8} {head:>8}"
    for name, shown in names.items():
        valid = [m for m in groups[name] if m.state != "invalid"]
        killed = sum(m.state == "killed" for m in valid)
        part = percent(score_of(killed, len(valid)))
        yield f"{shown:<{widest}} {len(groups[name]):>8,} {killed:>8,} {part:>8}"
