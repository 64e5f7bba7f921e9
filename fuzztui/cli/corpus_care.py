"""``fuzztui corpus minimise`` and ``merge``: the inputs that are enough, and those that are new."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fuzztui.base.atomic import replace_bytes
from fuzztui.base.files import read_if_regular, temporary_directory
from fuzztui.base.text import brief, several, visible
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.ci.corpus import KeptCorpus
from fuzztui.cli.matrix import matrix_of
from fuzztui.cli.mutants import AFL, own_campaign, python_campaign
from fuzztui.cli.origins import is_run
from fuzztui.cli.output import DONE, NOT_RUNNING, USAGE, CliError, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import find_run
from fuzztui.cli.score import ask_score
from fuzztui.corpus.choose import Choice, Kills, choose, covered_by, missing_again
from fuzztui.corpus.entries import CorpusInput, CorpusInputs, directory_inputs, run_inputs
from fuzztui.corpus.measure import OK, UNFIT, Covered, Measured, Measurer
from fuzztui.export.corpus import name_of

EDGES, KILLS, BOTH = "edges", "kills", "both"
BY = (EDGES, KILLS, BOTH)
_MU2 = "mu2"
_SHOWN = 5
_WELL = ("success", "invalid")
_FLAKY = "flaky"


# ------------------------------------------------------------------ minimise


def minimise(options: argparse.Namespace) -> int:
    """Write the fewest entries of a run that keep all edges, and kills."""
    run = RunDir(find_run(options.run))
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
        raise CliError(f"-o {output}: {e.strerror or e}", USAGE) from None
    if filled:
        raise CliError(
            f"-o {output}: is not empty; name a new directory, or add to this one with "
            f"'fuzztui corpus merge {output} {run}'",
            USAGE,
        )


def _refuse_run(what: str, directory: Path) -> None:
    """Raise :class:`CliError` if a directory to write to is in a run."""
    real = directory.resolve()
    if run := next((path for path in (real, *real.parents) if is_run(path)), None):
        raise CliError(f"{what}: is in the run {run}, which is never changed", USAGE)


def _write_new(output: Path, entries: Sequence[CorpusInput]) -> None:
    """Write the directory as a whole: in a temporary one, which is then renamed."""
    place = output.resolve()
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
        raise CliError(f"{target}: is not a directory", USAGE)
    _refuse_run(str(target), target)
    sources = [(given, _run_of(given)) for given in options.sources]
    runs = [run for _, run in sources if run is not None]
    if options.run is not None:
        runs = [RunDir(find_run(options.run)), *runs]
    if not runs:
        raise CliError(
            "--run RUN: is needed, because no source is a run: its target runs the inputs", USAGE
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
    """The run that the user has named; None if it is another directory."""
    if given.is_dir() and not is_run(given):
        return None
    return RunDir(find_run(given))


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


# ------------------------------------------------------------------ both


class Care:
    """Context manager: one command that runs inputs on the target of a run."""

    def __init__(self, run: RunDir, options: argparse.Namespace, by: str = "") -> None:
        self.run, self._options = run, options
        self.campaign = own_campaign(run.campaign, options.overrides)
        is_afl = self.campaign.kind == AFL
        self.by: str = by or options.by or (BOTH if self.campaign.kind == _MU2 else EDGES)
        if is_afl and self.by != EDGES:
            raise CliError(
                f"--by {self.by}: {run.path} is a run of afl, whose inputs kill no mutants; "
                "use --by edges",
                USAGE,
            )
        self._folders = 0
        self._progress = Estimate()

    def __enter__(self) -> Care:
        self._temporary = temporary_directory()
        self._work = Path(self._temporary.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()

    def _folder(self, name: str) -> Path:
        self._folders += 1
        folder = self._work / f"{name}{self._folders}"
        folder.mkdir()
        return folder

    # ------------------------------------------------------------------ inputs

    def of(self, given: Path, run: RunDir | None) -> CorpusInputs:
        """Return the inputs of a source."""
        return self.of_directory(given) if run is None else self.of_run(run)

    def of_run(self, run: RunDir) -> CorpusInputs:
        """Return the queue entries of a run. Raises :class:`CliError`."""
        with _disk():
            return run_inputs(run.path, self._folder("in"))

    def of_directory(self, directory: Path) -> CorpusInputs:
        """Return the inputs of a directory. Raises :class:`CliError`."""
        kept = _kept(directory)
        folder = directory if kept is None else kept.inputs
        with _disk():
            found = directory_inputs(folder, self._folder("in"))
        if kept is not None and found.entries:
            self._check_constants(directory, kept.constants)
        return found

    def add(self, entries: Iterable[CorpusInput], directory: Path) -> None:
        """Write inputs to a directory, each file as a whole. Raises :class:`CliError`."""
        kept = _kept(directory)
        with _disk():
            directory.mkdir(parents=True, exist_ok=True)
            mine = _read(self.run.constants) if self.campaign.draws_constants else None
            if kept is not None and mine is not None:
                replace_bytes(kept.constants, mine)
            for entry in entries:
                if kept is not None:
                    kept.add(entry.copy, kept.inputs)
                else:
                    data = entry.copy.read_bytes()
                    file = directory / name_of(data, "libfuzzer")
                    replace_bytes(file, data)
                    file.chmod(0o644)

    def check_alike(self, run: RunDir) -> None:
        """Report another run whose inputs may mean something else to the target.

        Raises :class:`CliError` if they do.
        """
        other = own_campaign(run.campaign)
        mine, theirs = self.campaign.target, other.target
        key = "command" if self.campaign.kind == AFL else "function"
        if (self.campaign.kind == AFL) != (other.kind == AFL) or mine[key] != theirs.get(key):
            say(f"{run.path}: has another target; its inputs run on the one of {self.run.path}")
        self._check_constants(run.path, run.constants)

    def _check_constants(self, path: Path, constants: Path) -> None:
        """Raise :class:`CliError` if choices in the inputs there mean something else."""
        if self.campaign.draws_constants and _read(constants) != _read(self.run.constants):
            raise CliError(
                f"{path}: the choices in its inputs select other constants than those of "
                f"{self.run.path}: inputs of a generator can be merged only if these are the same",
                USAGE,
            )

    # ------------------------------------------------------------------ running them

    def _measurer(self) -> Measurer:
        def show(done: int, total: int) -> None:
            self._progress.show("running inputs", done, total)

        return Measurer(
            self.campaign,
            self.run.instance("main"),
            self._folder("work"),
            self._options.jobs,
            show,
        )

    def measured(self, sources: Sequence[CorpusInputs]) -> Measured:
        """Run the inputs. Raises :class:`CliError`."""
        entries = [entry for inputs in sources for entry in inputs.entries]
        if self.by == KILLS:  # whether they fail is in the matrix
            return Measured(inputs=[Covered(outcomes={OK}) for _ in entries])
        return self._run([entry.copy for entry in entries])

    def once(self, inputs: CorpusInputs) -> Measured:
        """Run the inputs once. Raises :class:`CliError`."""
        return self._run([entry.copy for entry in inputs.entries], passes=1)

    def again(self, entries: Sequence[CorpusInput], measured: Measured) -> Measured:
        """Run inputs once more, without the others. Raises :class:`CliError`."""
        return self._run([entry.copy for entry in entries], passes=1, into=measured)

    def _run(
        self, files: Sequence[Path], *, passes: int = 2, into: Measured | None = None
    ) -> Measured:
        try:
            with _disk():
                return self._measurer().measure(files, passes, into)
        except SupervisorError as e:
            raise CliError(str(e)) from None
        finally:
            self._progress.clear()

    def kills(self, sources: Sequence[CorpusInputs]) -> Kills | None:
        """Return which inputs kill which mutants; None without ``--by``. Raises CliError."""
        if self.by == EDGES:
            return None
        names = {str(e.copy): str(e.path) for inputs in sources for e in inputs.entries}
        folders = sorted({Path(copy).parent for copy in names})
        if not folders:
            return Kills({})
        result = ask_score(
            python_campaign(self.run.campaign, self._options.overrides),
            self.run.instance("main"),
            folders,
            jobs=self._options.jobs,
            within_s=0,
            matrix=self.run.matrix,
            names=names,
        )
        rows = matrix_of(result).rows
        return Kills(
            {row.sha256: frozenset(row.kills) for row in rows if row.outcome in _WELL},
            frozenset(row.sha256 for row in rows if row.outcome == _FLAKY),
            result.get("exact") is True,
        )


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise CliError(f"{e.filename or 'temporary files'}: {e.strerror or e}") from None


def _kept(directory: Path) -> KeptCorpus | None:
    """The kept corpus of ``fuzztui ci`` in a directory, if it is one."""
    kept = KeptCorpus(directory)
    return kept if kept.inputs.is_dir() and kept.findings.is_dir() else None


def _read(file: Path) -> bytes | None:
    return read_if_regular(file, 1 << 30)


# ------------------------------------------------------------------ telling


def _counted(
    measured: Measured, mask: int, kills: Kills | None, *, before: str = "", word: str = ""
) -> str:
    """Format what is in a mask: ``, all 1,204 edges, all 643 kills``; ``before``: ``all ``."""
    edges = len(measured.edges(mask))
    text = f", {before}{several(edges, f'{word}edge')}" if edges or kills is None else ""
    if kills is not None:
        killed = sum(isinstance(item, str) for item in measured.numbers.things(mask))
        least = "" if kills.exact else "at least "
        text += f", {least}{before}{several(killed, f'{word}kill')}"
    return text


def why_out(covered: Covered) -> str:
    """Return why an input is left out."""
    if covered.fails == UNFIT:
        return "was not run: it is empty, or too large for an input"
    return f"fails now ({covered.fails})"


def _explain(inputs: CorpusInputs, measured: Measured, choice: Choice) -> None:
    """Say what is left out, and what is kept for another reason than what it covers."""
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
