"""The campaigns that chaos runs: shipped samples that need nothing but ``.[samples]``."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

PYTHON_FAULTS = ("supervisor", "monitor", "worker")
AFL_FAULTS = ("supervisor", "afl-fuzz", "forkserver")
ALWAYS = (
    "any", "all", "start", "screen-int", "screen-term", "screen-hup", "screen-kill", "terminal",
    "sleep", "nap", "disk", "disk-supervisor",
)  # fmt: skip
"""Faults that every campaign can have."""


@dataclass(frozen=True)
class Subject:
    """One campaign and the faults it can have.

    ``slots``: instances come and go (fuzz-first), so not all of them need to run.
    ``needs``: a program without which the subject is skipped.
    """

    sample: str
    faults: tuple[str, ...]
    overrides: tuple[str, ...] = ()
    slots: bool = False
    needs: str = ""
    clock: bool = True
    """The clock can be moved: no sanitizer, which has to be the first library that is loaded."""

    def missing(self) -> str:
        """The program that is not installed; an empty string if the subject can run."""
        return self.needs if self.needs and shutil.which(self.needs) is None else ""


# Small shares, so that a series of some minutes sees both stages.
_FIRST = ("mutants.share=0.0006", "mutants.per_mutant=4s", "stop.crashes=0")

SUBJECTS = {
    "zest": Subject("tomllib-zest.toml", PYTHON_FAULTS),
    "mu2": Subject("tomllib-mu2.toml", (*PYTHON_FAULTS, "isolated")),
    "spoton": Subject("hypothesis-spoton.toml", (*PYTHON_FAULTS, "helper")),
    "text": Subject("pycparser-text.toml", PYTHON_FAULTS),
    "afl": Subject("crashy-afl.toml", AFL_FAULTS, needs="afl-fuzz", clock=False),
    "text-afl": Subject(
        "calc-oracle.toml",
        (*AFL_FAULTS, "helper"),
        ("text.text=0.5", "text.splice=0.25", "text.language=c"),
        needs="afl-fuzz",
    ),
    "oracle": Subject("calc-oracle.toml", (*AFL_FAULTS, "helper"), needs="afl-fuzz"),
    "first-python": Subject("slips-fuzzfirst.toml", (*PYTHON_FAULTS, "helper"), _FIRST, slots=True),
    "first-afl": Subject(
        "nested-fuzzfirst.toml", (*AFL_FAULTS, "helper"), _FIRST[:2], slots=True, needs="afl-fuzz"
    ),
}
"""Every engine of ``--engine``, by its name there."""

GROUPS = {
    "all": tuple(SUBJECTS),
    "fuzz-first": ("first-python", "first-afl"),
    "text-all": ("text", "text-afl"),
}
"""Names of ``--engine`` that mean several."""
