"""``fuzztui merge``: join runs of one campaign, or scores of one program."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzztui.cli import damage
from fuzztui.cli.mutants import own_campaign
from fuzztui.cli.output import (
    DAMAGED,
    DONE,
    FAILED,
    NOT_RUNNING,
    CliError,
    UsageError,
    put_text,
    say,
)
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import no_records, standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.kernel.base import versions
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_regular, temporary_directory
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import running
from fuzztui.machines.merge.merged_files import write_files
from fuzztui.machines.merge.merged_log import write_log
from fuzztui.machines.merge.parts import (
    MergedShards,
    MergeError,
    RunPart,
    check_alike,
    inner_parts,
    name_parts,
    shards_of,
    without_copies,
)
from fuzztui.machines.merge.scores import check_score, is_matrix, merge_matrices, merge_scores
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.home.finding import is_run

_MAX_BYTES: Final = 1 << 30


def merge(options: argparse.Namespace) -> int:
    """Join the runs, or the files."""
    sources: list[Path] = options.sources
    files = [path for path in sources if path.is_file() and path.suffix == ".json"]
    try:
        if files and len(files) < len(sources):
            raise UsageError("merge takes runs or files of score --json, not both")
        return _files(files, options) if files else _runs(sources, options)
    except MergeError as e:
        raise UsageError(str(e)) from None


# ------------------------------------------------------------------ files


def _files(files: Sequence[Path], options: argparse.Namespace) -> int:
    found = [(str(file), _read(file)) for file in files]
    matrices = [is_matrix(data) for _, data in found]
    if all(matrices):
        merged, shards = merge_matrices(found)
    elif any(matrices):
        raise UsageError("merge takes files of score --json or of --matrix -o, not both")
    else:
        merged, shards = merge_scores([(name, check_score(name, data)) for name, data in found])
    name = "score-matrix" if all(matrices) else "score"
    text = json.dumps(versions.versioned(name, merged), indent=1) + "\n"
    put_text(text, options.output)
    _say_missing(shards)
    if options.output is not None and "score" in merged:
        print(visible(f"{options.output}: {_score_words(merged, shards)}"))
    return DONE


def _read(file: Path) -> Any:
    try:
        return loads(read_regular(file, _MAX_BYTES))
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror or e}") from None
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{file}: is not JSON: {e}") from None


def _score_words(merged: dict[str, Any], shards: MergedShards) -> str:
    least = "" if merged["exact"] else "at least "
    score = "-" if merged["score"] is None else f"{100 * merged['score']:.1f}%"
    text = f"{several(merged['total'], 'mutant')}, {merged['killed']:,} killed; "
    return text + f"score {least}{score}" + (" of these" if shards.missing else "")


def _say_missing(shards: MergedShards) -> None:
    if missing := shards.missing:
        names = ", ".join(map(str, missing[:20])) + ("..." if len(missing) > 20 else "")
        say(
            f"{several(len(missing), 'shard is', 'shards are')} missing ({names} of {shards.of}): "
            f'of {several(shards.mutants, "mutant")} in all a part is unknown; numbers mean "at '
            'least"'
        )


# ------------------------------------------------------------------ runs


def _runs(sources: Sequence[Path], options: argparse.Namespace) -> int:
    if options.output is None:
        raise UsageError("-o OUT: is needed: the directory of the merged run")
    output: Path = options.output.absolute()
    parts = [_part(find_one_target(source)) for source in sources]
    _check_output(output, parts)
    parts, notes = without_copies(parts)
    for note in notes:
        say(note)
    check_alike(parts)
    shards = shards_of([(str(part.run.path), _shards(part.state)) for part in parts])
    parts.sort(key=lambda part: (part.state.started_wall, str(part.run.path)))
    name_parts(parts)
    for part in parts:
        if part.state.state in ("running", "paused", "starting") and running(part.run.path):
            say(f"{part.run.path}: is still running; what it does from now on is not merged")
    _write(output, parts, shards)
    _say_missing(shards)
    merged = standing(output)
    _show(output, parts, shards, merged.state)
    return DAMAGED if any(part.problems for part in parts) else DONE


def _part(run: Path) -> RunPart:
    now = standing(run)
    if not now.state.seq:
        raise no_records(run, now.problems)
    if not (run / "campaign.toml").is_file():
        raise UsageError(f"{run}: has no campaign.toml, which a run has; merge runs only")
    run_dir = RunDir(run)
    campaign = own_campaign(run / "campaign.toml")
    return RunPart(run_dir, campaign, now.state, [*now.problems], inner=inner_parts(run_dir))


def _shards(state: State) -> MergedShards:
    if not state.shard:
        return MergedShards()
    numbers = tuple(state.shard_numbers)
    return MergedShards(state.shards, numbers, state.shard_mutants, state.shard_program)


def _check_output(output: Path, parts: Sequence[RunPart]) -> None:
    """Raise :class:`CliError` if the directory cannot be replaced by the merged run."""
    real = Path(os.path.realpath(output))
    inside = next((p for p in (real, *real.parents) if is_run(p) and p != real), None)
    if inside is not None:
        raise UsageError(f"-o {output}: is in the run {inside}, which is never changed")
    if any(real == Path(os.path.realpath(p.run.path)) and not p.inner for p in parts):
        raise UsageError(f"-o {output}: is one of the runs; name a new directory")
    if not os.path.lexists(output):
        return
    if not output.is_dir():
        raise UsageError(f"-o {output}: exists and is not a directory")
    if any(output.iterdir()) and not inner_parts(RunDir(output)):
        raise UsageError(
            f"-o {output}: is not empty, and is no earlier merge; name a new directory"
        )
    if running(output):
        raise CliError(f"-o {output}: a campaign is running there; stop it first", NOT_RUNNING)


def _write(output: Path, parts: Sequence[RunPart], shards: MergedShards) -> None:
    """Write the run into a temporary directory, then rename that: it is never incomplete."""
    progress = Estimate()
    place = Path(os.path.realpath(output))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with temporary_directory(f".{place.name[:40]}-", place.parent) as temporary:
            made = RunDir(Path(temporary) / "run")
            prepare_run(made.path)
            write_log(made.log, parts, shards, lambda n, of: progress.show("merging logs", n, of))
            write_files(made, parts, output, lambda n, of: progress.show("copying", n, of))
            if place.exists():
                place.rename(Path(temporary) / "old")
            made.path.rename(place)
    except SupervisorError as e:
        raise CliError(f"-o {output}: {e}", FAILED) from None
    except LogError as e:
        raise CliError(f"{e}", FAILED) from None
    except OSError as e:
        where = f" ({e.filename})" if e.filename else ""
        raise CliError(f"-o {output}: {e.strerror or e}{where}", FAILED) from None
    finally:
        progress.clear()


def _show(output: Path, parts: Sequence[RunPart], shards: MergedShards, state: State) -> None:
    for part in parts:
        for row in part.rows():
            print(visible(f"{row['name']}: {row.get('run', '')}"))
    words = [
        several(sum(len(part.rows()) for part in parts), "run"),
        several(len(state.entries), "entry", "entries"),
        several(len(state.groups), "group of findings", "groups of findings"),
    ]
    if state.mutants:
        summary = mutants_summary(state)
        least = "at least " if shards.missing or state.lost else ""
        words.append(f"{least}{summary.killed:,} of {several(summary.total, 'mutant')} killed")
    print(visible(f"{output}: {', '.join(words)}"))
    damage.report()
