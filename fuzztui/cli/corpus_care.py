"""``fuzztui corpus minimise`` and ``merge``: the inputs that are enough, and those that are new."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from fuzztui.cli.corpus_running import KILLS, Care, why_out
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, UsageError, say
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.corpus.choose import Choice, Kills, choose, covered_by, missing_again
from fuzztui.features.corpus.entries import CorpusInput, CorpusInputs
from fuzztui.features.corpus.measure import Measured
from fuzztui.kernel.base.files import real_path, temporary_directory
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.home.finding import is_run, runs_in
from fuzztui.tools.export.corpus import name_of

_SHOWN = 5


# ------------------------------------------------------------------ minimise


def minimise(options: argparse.Namespace) -> int:
    """Write the fewest entries of a run that keep all edges, and kills."""
    run = RunDir(find_one_target(options.run))
    output: Path = options.output.absolute()
    _check_new(output, run.path)
    with Care(run, options) as care:
        inputs = care.of_run(run)
        if not inputs.entries:
            raise CliError(f"{run.path}: has no queue entry yet; start the campaign", NOT_RUNNING)
        measured = care.measured([inputs])
        kills = care.kills([inputs])
        choice = choose(inputs.entries, measured, kills)
        kept = [one.at for one in choice.chosen]
        more: list[int] = []
        if care.by != KILLS:
            again = care.again([inputs.entries[at] for at in kept], measured)
            more = missing_again(measured, choice, again)
        _write_new(output, [inputs.entries[at] for at in (*kept, *more)])
    _explain(inputs, measured, choice)
    if more:
        say(
            f"{several(len(more), 'entry is', 'entries are')} kept too: when the others ran again "
            "without them, edges were missing"
        )
    print(
        f"{len(kept) + len(more):,} of {several(inputs.files, 'entry', 'entries')}"
        f"{_counted(measured, choice.everything, kills, before='all ')}"
    )
    say(f"written to {output}")
    return DONE


def _check_new(output: Path, run: Path) -> None:
    """Raise :class:`CliError` if the output directory cannot be made."""
    _refuse_run(f"-o {output}", output)
    try:
        filled = output.exists() and any(output.iterdir())
    except OSError as e:
        raise UsageError(f"-o {output}: {e.strerror or e}") from None
    if filled:
        raise UsageError(
            f"-o {output}: is not empty; name a new directory, or add to this one with "
            f"'fuzztui corpus merge {output} {run}'"
        )


def _refuse_run(what: str, directory: Path) -> None:
    """Raise :class:`CliError` if a directory to write to is in a run."""
    real = real_path(directory)
    if run := next((path for path in (real, *real.parents) if is_run(path)), None):
        raise UsageError(f"{what}: is in the run {run}, which is never changed")


def _write_new(output: Path, entries: Sequence[CorpusInput]) -> None:
    """Write the directory as a whole: in a temporary one, which is then renamed."""
    place = real_path(output)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with temporary_directory(f".{place.name[:40]}-", place.parent) as temporary:
            made = Path(temporary) / "corpus"
            made.mkdir()
            for entry in entries:
                data = entry.copy.read_bytes()
                (made / name_of(data, "libfuzzer")).write_bytes(data)
            os.replace(made, place)  # noqa: PTH105 - also over an empty directory
    except OSError as e:
        raise CliError(f"-o {output}: {e.strerror or e}") from None


# ------------------------------------------------------------------ merge


def merge(options: argparse.Namespace) -> int:
    """Add to a directory the inputs that have something new; say what each source brought."""
    target: Path = options.directory
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target}: is not a directory")
    _refuse_run(str(target), target)
    sources = [(given, _run_of(given)) for given in options.sources]
    runs = [run for _, run in sources if run is not None]
    if options.run is not None:
        runs = [RunDir(find_one_target(options.run)), *runs]
    if not runs:
        raise UsageError(
            "--run RUN: is needed, because no source is a run: its target runs the inputs"
        )
    with Care(runs[0], options) as care:
        for run in runs[1:]:
            care.check_alike(run)
        have = care.of_directory(target) if target.is_dir() else CorpusInputs()
        found = [(given, care.of(given, run)) for given, run in sources]
        fresh = _fresh(have, [inputs for _, inputs in found])
        new = CorpusInputs([entry for _, entry in fresh])
        measured = care.measured([have, new])
        kills = care.kills([have, new])
        base = len(have.entries)
        known = Measured(measured.numbers, measured.inputs[:base], measured.places)
        rest = Measured(measured.numbers, measured.inputs[base:], measured.places)
        mask = covered_by(have.entries, known, kills)
        choice = choose(new.entries, rest, kills, mask)
        care.add([new.entries[one.at] for one in choice.chosen], target)
    for inputs in (have, *(inputs for _, inputs in found)):
        _say_left_out(inputs)
    _explain(new, rest, choice)
    for number, (given, inputs) in enumerate(found):
        ours = [one for one in choice.chosen if fresh[one.at][0] == number]
        brought = 0
        for one in ours:
            brought |= one.new
        text = _counted(measured, brought, kills, word="new ")
        entries = several(inputs.files, "input")
        print(visible(f"{given}: {len(ours):,} of {entries}{text if ours else ': nothing new'}"))
    print(
        visible(f"{target}: {several(base + len(choice.chosen), 'input')} ")
        + f"(+{len(choice.chosen):,})"
        + _counted(measured, mask | choice.everything, kills)
    )
    return DONE


def _run_of(given: Path) -> RunDir | None:
    """The run that the user has named; None if it is another directory. Raises CliError."""
    if given.is_dir() and not is_run(given):
        if run := min(runs_in(given), default=None):
            raise UsageError(f"{given}: has runs in it; name one, such as {run}")
        return None
    return RunDir(find_one_target(given))


def _fresh(have: CorpusInputs, found: Sequence[CorpusInputs]) -> list[tuple[int, CorpusInput]]:
    """The inputs that are not in the directory, each once, with the number of their source."""
    known = {entry.sha256 for entry in have.entries}
    fresh: list[tuple[int, CorpusInput]] = []
    for number, inputs in enumerate(found):
        for entry in inputs.entries:
            if entry.sha256 not in known:
                known.add(entry.sha256)
                fresh.append((number, entry))
    return fresh


# ------------------------------------------------------------------ output


def _counted(
    measured: Measured, mask: int, kills: Kills | None, *, before: str = "", word: str = ""
) -> str:
    """Format the edges and kills in a mask: ``, all 1,204 edges, all 643 kills``.

    ``before``: text in front of each number (``all ``). ``word``: text in front of each noun.
    """
    edges = len(measured.edges(mask))
    text = f", {before}{several(edges, f'{word}edge')}" if edges or kills is None else ""
    if kills is not None:
        killed = sum(isinstance(item, str) for item in measured.numbers.things(mask))
        least = "" if kills.exact else "at least "
        text += f", {least}{before}{several(killed, f'{word}kill')}"
    return text


def _explain(inputs: CorpusInputs, measured: Measured, choice: Choice) -> None:
    """Print what is left out, and the entries that are kept for another reason than coverage."""
    _say_left_out(inputs)
    failing = [(inputs.entries[at].name, why_out(measured.inputs[at])) for at in choice.failing]
    _say_some("left out", failing)
    if edges := measured.edges(choice.flickering):
        say(
            f"{several(len(edges), 'edge is', 'edges are')} covered in one run and not in another: "
            "all entries that cover them are kept"
        )
    _say_some("kept", [(inputs.entries[one.at].name, one.why) for one in choice.chosen if one.why])


def _say_left_out(inputs: CorpusInputs) -> None:
    _say_some("left out", inputs.left_out)


def _say_some(what: str, names: Sequence[tuple[str, str]]) -> None:
    for name, why in names[:_SHOWN]:
        say(f"{what}: {brief(name)}: {why}")
    if len(names) > _SHOWN:
        say(f"{what}: {several(len(names) - _SHOWN, 'more entry', 'more entries')}")
