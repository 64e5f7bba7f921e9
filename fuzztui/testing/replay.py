"""Run inputs of a corpus with a campaign's target, in this process and without instrumentation."""

from __future__ import annotations

import os
import random
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import tomli

from fuzztui.engines.base.clock import FixedClock
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.features.verdicts.file import VerdictsError
from fuzztui.features.verdicts.judging import verdicts_file
from fuzztui.kernel.base.files import files_in, temporary_directory
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.files import CAMPAIGN_FILE, PYPROJECT, tables_of
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.testing.known import KnownFailures
from fuzztui.tools.ci.corpus import KeptCorpus


class CannotReplay(Exception):
    """The campaign's target cannot be called here; the message says why."""


class Replay:
    """The loaded target of one campaign, and one corpus."""

    def __init__(
        self, target: Target, form: InputForm, random_: random.Random, corpus: Path
    ) -> None:
        self._target, self._form, self._random = target, form, random_
        self.clock: AbstractContextManager[object] = nullcontext()
        """What the target sees as the present, while it is used."""
        self._corpus = corpus
        self._expected: tuple[type[BaseException], ...] = (Rejected, *target.expected)
        self.known: KnownFailures | None = None
        """The user's verdicts and the failures until now; None: there are no verdicts."""
        self._all_failed = False
        """Whether :attr:`known` was given all failures of the corpus, which groups depend on."""

    @classmethod
    def of(cls, file: Path, directory: Path) -> Replay:
        """Load the target of a campaign file. Raises :class:`CannotReplay`.

        ``directory``: the corpus; if it is a queue in a run, or the kept corpus of ``fuzztui ci``,
        constants that a generator draws are those of the run or of the kept corpus.
        """
        try:
            campaign = load(file).campaign
        except CampaignError as e:
            raise CannotReplay(str(e)) from None
        if campaign.kind == "afl":
            raise CannotReplay(f"{file}: the target of engine afl is a program, not Python code")
        rng = random.Random(0)
        instance = instance_of(directory)
        with temporary_directory() as folder:
            spec_file = Path(folder) / "spec.json"
            try:
                write_spec(spec_file, campaign, instance)
                spec = read_spec(spec_file)
                os.environ.update(spec.target.env)
                at = spec.target.clock
                with (clock := FixedClock(at) if at else nullcontext()):
                    target = load_target(spec.target, None)
                form = form_of(target, spec.engine, rng.randbytes)
            except (CannotStart, SupervisorError) as e:
                raise CannotReplay(f"{file}: {e}") from None
        replay = cls(target, form, rng, directory)
        replay.clock = clock
        try:
            verdicts = verdicts_file(RunDir(instance.parent.parent), campaign.verdicts)
            known = KnownFailures(verdicts, spec.target)
        except VerdictsError as e:
            raise CannotReplay(str(e)) from None
        replay.known = known if known.has_verdicts else None
        return replay

    def failure(self, file: Path) -> BaseException | None:
        """Call the target with an input. Return its exception; None if it raises none.

        Exceptions that the campaign expects (``target.expected``) count as none. A failure with a
        verdict of the user is returned too: :meth:`excuse` has the reason to accept it.
        """
        error, unmade = self._failure(file)
        if error is not None and self.known is not None:
            self.known.add(self._name(file), error, unmade=unmade)
        return error

    def excuse(self, file: Path) -> str:
        """Return the user's reason to expect the failure of an input; empty if there is none."""
        known, name = self.known, self._name(file)
        if known is None:
            return ""
        if not self._all_failed and not known.is_exact(name):
            # Whether a verdict about another line holds depends on the groups of all failures.
            self._all_failed = True
            kept = KeptCorpus(self._corpus).findings
            for other in files_in([kept if kept.is_dir() else self._corpus]):
                self.failure(other)
        return known.reason(name)

    def _name(self, file: Path) -> str:
        return os.path.relpath(file, self._corpus)

    def _failure(self, file: Path) -> tuple[BaseException | None, bool]:
        """The exception that an input raises, and whether the input was not even made.

        The traceback begins behind this module's frame.
        """
        unmade = True
        self._random.seed(0)
        try:
            with self.clock:
                argument = self._form.build(file.read_bytes())
                unmade = False
                self._target.function(argument)
        except self._expected:
            return None, unmade
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            own = e.__traceback__
            return e.with_traceback(own.tb_next if own else None), unmade
        return None, unmade

    def shown(self, file: Path) -> str:
        """The argument, escaped for terminals."""
        self._random.seed(0)
        try:
            with self.clock:
                return visible(repr(self._form.build(file.read_bytes())))
        except Exception as e:
            return f"cannot be made: {type(e).__name__}"


def is_constants(file: Path, directory: Path) -> bool:
    """Whether a file of a corpus is the constants of the kept corpus of ``fuzztui ci``."""
    kept = KeptCorpus(directory)
    return file == kept.constants and (kept.inputs.is_dir() or kept.findings.is_dir())


def instance_of(directory: Path) -> Path:
    """The instance directory whose run, or kept corpus, has the constants for a corpus.

    It need not exist.
    """
    for kept in (directory, directory.parent):
        constants = KeptCorpus(kept).constants
        if constants.is_file() and is_constants(constants, kept):
            return kept / "out" / "main"
    return directory.parent


def campaign_file(directory: Path) -> Path | None:
    """Return the nearest campaign file in a directory or above it; None if there is none.

    It is called ``campaign.toml``, as in a run, or is a ``pyproject.toml`` with a campaign.
    """
    for path in (directory, *directory.parents):
        if (file := path / CAMPAIGN_FILE).is_file():
            return file
        if _has_campaign(file := path / PYPROJECT):
            return file
    return None


def _has_campaign(file: Path) -> bool:
    try:
        return tables_of(tomli.loads(file.read_text(encoding="utf-8"))) is not None
    except (OSError, ValueError, RecursionError):
        return False
