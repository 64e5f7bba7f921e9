"""One command that runs inputs on the target of a run: what they cover, what they kill."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fuzztui.cli.matrix import matrix_of
from fuzztui.cli.mutants import AFL, own_campaign, python_campaign
from fuzztui.cli.output import CliError, UsageError, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.score import ask_score
from fuzztui.features.corpus.choose import Kills
from fuzztui.features.corpus.entries import CorpusInput, CorpusInputs, directory_inputs, run_inputs
from fuzztui.features.corpus.measure import OK, UNFIT, Covered, Measured, Measurer
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import read_if_regular, temporary_directory
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.constants import constants_of
from fuzztui.tools.ci.corpus import KeptCorpus
from fuzztui.tools.export.corpus import name_of

EDGES, KILLS, BOTH = "edges", "kills", "both"
BY = (EDGES, KILLS, BOTH)
_MU2 = "mu2"
_WELL = ("success", "invalid")
_FLAKY = "flaky"


class Care:
    """Context manager for one command: reads corpora, and runs their inputs on a run's target."""

    def __init__(self, run: RunDir, options: argparse.Namespace, by: str = "") -> None:
        self.run, self._options = run, options
        self.campaign = own_campaign(run.campaign, options.overrides)
        is_afl = self.campaign.kind == AFL
        self.by: str = by or options.by or (BOTH if self.campaign.kind == _MU2 else EDGES)
        if is_afl and self.by != EDGES:
            raise UsageError(
                f"--by {self.by}: {run.path} is a run of afl, whose inputs kill no mutants; "
                "use --by edges"
            )
        self._folders = 0
        self._progress = Estimate()

    def __enter__(self) -> Care:
        with disk():
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
        """Return the inputs of ``run``; if it is None, those of the directory ``given``."""
        return self.of_directory(given) if run is None else self.of_run(run)

    def of_run(self, run: RunDir) -> CorpusInputs:
        """Return the queue entries of a run. Raises :class:`CliError`."""
        with disk():
            return run_inputs(run.path, self._folder("in"))

    def of_directory(self, directory: Path) -> CorpusInputs:
        """Return the inputs of a directory. Raises :class:`CliError`."""
        kept = _kept(directory)
        folder = directory if kept is None else kept.inputs
        with disk():
            found = directory_inputs(folder, self._folder("in"))
        if kept is not None and kept.files():
            self._check_constants(directory, read_if_regular(kept.constants, 1 << 30))
        return found

    def add(self, entries: Iterable[CorpusInput], directory: Path) -> None:
        """Write inputs to a directory, each file as a whole. Raises :class:`CliError`."""
        kept = _kept(directory)
        with disk():
            directory.mkdir(parents=True, exist_ok=True)
            mine = constants_of(self.run)
            if kept is not None:
                kept.make()
                if mine is not None and not kept.constants.exists():
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
        self._check_constants(run.path, constants_of(run))

    def _check_constants(self, path: Path, constants: bytes | None) -> None:
        """Raise :class:`CliError` if the inputs in ``path`` have other ``constants`` than the run.

        Choices of a generator select constants, so that such inputs would be other values here.
        """
        if constants != constants_of(self.run):
            raise UsageError(
                f"{path}: the choices in its inputs select other constants than those of "
                f"{self.run.path}: inputs of a generator can be merged only if these are the same"
            )

    # ------------------------------------------------------------------ running them

    def measured(self, sources: Sequence[CorpusInputs]) -> Measured:
        """Run the inputs. Raises :class:`CliError`."""
        entries = [entry for inputs in sources for entry in inputs.entries]
        if self.by == KILLS:  # not run here: the kill matrix has their outcomes
            return Measured(inputs=[Covered(outcomes={OK}) for _ in entries])
        return self.run_inputs(entries)

    def again(self, entries: Sequence[CorpusInput], measured: Measured) -> Measured:
        """Run only these inputs once more, and add the results to ``measured``. Raises CliError."""
        return self.run_inputs(entries, passes=1, into=measured)

    def run_inputs(
        self, entries: Sequence[CorpusInput], *, passes: int = 2, into: Measured | None = None
    ) -> Measured:
        """Run inputs ``passes`` times; add results to ``into`` if it is given. Raises CliError."""
        with disk(), self._progress:
            measurer = Measurer(
                self.campaign,
                self.run.instance("main"),
                self._folder("work"),
                self._options.jobs,
                partial(self._progress.show, "running inputs"),
            )
            return measurer.measure([entry.copy for entry in entries], passes, into)

    def kills(self, sources: Sequence[CorpusInputs]) -> Kills | None:
        """Return which inputs kill which mutants; None if only edges count. Raises CliError."""
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
def disk() -> Iterator[None]:
    """Context manager: raises :class:`CliError` with the file for an OSError."""
    try:
        yield
    except OSError as e:
        raise CliError(f"{e.filename or 'temporary files'}: {e.strerror or e}") from None


def _kept(directory: Path) -> KeptCorpus | None:
    """The kept corpus of ``fuzztui ci`` in a directory, if it is one.

    One that was committed may be without ``findings``: git keeps no empty directory.
    """
    kept = KeptCorpus(directory)
    if not kept.inputs.is_dir():
        return None
    is_one = kept.findings.is_dir() or kept.constants.is_file()
    return kept if is_one or [*directory.iterdir()] == [kept.inputs] else None


def why_out(covered: Covered) -> str:
    """Return why an input is left out."""
    if covered.fails == UNFIT:
        return "was not run: it is empty, or too large for an input"
    return f"fails now ({covered.fails})"
