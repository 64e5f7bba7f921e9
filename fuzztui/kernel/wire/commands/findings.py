"""Commands about findings: minimising, verdicts, frames that count for signatures."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.kernel.wire.commands.base import Command
from fuzztui.kernel.wire.frames import MAX_RULES, rule_problem
from fuzztui.kernel.wire.verdicts import CHOICES, MAX_NOTE


class FindingCommand(Command):
    """Base class of commands about a finding. ``file``: ``crashes/NAME``."""

    __slots__ = ()
    file: str
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.instance}/{self.file}".replace(" /", " ")


@dataclass(frozen=True, slots=True)
class Minimise(FindingCommand, name="minimise"):
    """Find a smaller input with the same signature as ``file``."""

    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class CancelMinimise(FindingCommand, name="cancel-minimise"):
    """End the minimisation of this file; the smallest input until then is kept."""

    file: str
    instance: str = ""


@dataclass(frozen=True, slots=True)
class JudgeFinding(FindingCommand, name="judge"):
    """Write the user's verdict about the group of ``file`` into the campaign's verdicts file.

    ``verdict``: one of :data:`~fuzztui.kernel.wire.verdicts.CHOICES`; ``note``: the user's reason.
    """

    file: str
    verdict: str
    note: str = ""
    instance: str = ""

    @property
    def problem(self) -> str:
        if self.verdict not in CHOICES:
            return f"a verdict is {', '.join(CHOICES)}, not {self.verdict[:20]!r}"
        if len(self.note) > MAX_NOTE:
            return f"a note has at most {MAX_NOTE:,} characters, not {len(self.note):,}"
        return ""

    @property
    def summary(self) -> str:
        finding = f"{self.instance}/{self.file}".removeprefix("/")
        return f"{self.name} {finding} {self.verdict}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True)
class FramesCommand(Command):
    """Base class of commands about the frames that count for signatures.

    ``rules``: as in the verdicts file, ``FUNCTION`` or ``FILE in FUNCTION``.
    """

    ordered = True
    rules: list[str]

    @property
    def problem(self) -> str:
        if not self.rules or len(self.rules) > MAX_RULES:
            return f"write from 1 to {MAX_RULES} rules, for example 'checks.py in require'"
        return next(filter(None, map(rule_problem, self.rules)), "")

    @property
    def summary(self) -> str:
        more = f" and {len(self.rules) - 1:,} more" if len(self.rules) > 1 else ""
        return f"{self.name} {self.rules[0] if self.rules else ''}{more}"


@dataclass(frozen=True, slots=True)
class SkipFrames(FramesCommand, name="skip-frames"):
    """Write rules into the verdicts file: frames of these functions do not count."""


@dataclass(frozen=True, slots=True)
class CountFrames(FramesCommand, name="count-frames"):
    """Remove rules from the verdicts file: frames of these functions count again."""
