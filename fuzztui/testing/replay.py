"""Run inputs of a corpus with a campaign's target, in this process and without instrumentation."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from pathlib import Path

from fuzztui.base.text import visible
from fuzztui.campaign import CampaignError, load
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.loading import form_of
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.inprocess.spec import write_spec


class CannotReplay(Exception):
    """The campaign's target cannot be called here; the message says why."""


class Replay:
    """The loaded target of one campaign."""

    def __init__(self, target: Target, form: InputForm, random_: random.Random) -> None:
        self._target, self._form, self._random = target, form, random_
        self._expected: tuple[type[BaseException], ...] = (Rejected, *target.expected)

    @classmethod
    def of(cls, file: Path, directory: Path) -> Replay:
        """Load the target of a campaign file. Raises :class:`CannotReplay`.

        ``directory``: the corpus; if it is a queue in a run, constants that a generator draws are
        those of the run.
        """
        try:
            campaign = load(file).campaign
        except CampaignError as e:
            raise CannotReplay(str(e)) from None
        if campaign.kind == "afl":
            raise CannotReplay(f"{file}: the target of engine afl is a program, not Python code")
        rng = random.Random(0)
        with tempfile.TemporaryDirectory() as folder:
            spec_file = Path(folder) / "spec.json"
            write_spec(spec_file, campaign, directory.parent)
            spec = read_spec(spec_file)
            try:
                os.environ.update(spec.target.env)
                target = load_target(spec.target, None)
                form = form_of(target, spec.engine, rng.randbytes)
            except CannotStart as e:
                raise CannotReplay(f"{file}: {e}") from None
        return cls(target, form, rng)

    def run(self, file: Path) -> None:
        """Call the target with an input. Raises what it raises, unless that is expected."""
        self._random.seed(0)
        with contextlib.suppress(*self._expected):
            self._target.function(self._form.build(file.read_bytes()))

    def shown(self, file: Path) -> str:
        """The argument, escaped for terminals."""
        self._random.seed(0)
        try:
            return visible(repr(self._form.build(file.read_bytes())))
        except Exception as e:
            return f"cannot be made: {type(e).__name__}"
