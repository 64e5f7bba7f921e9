"""What a run of ``fuzztui ci`` means: new findings, survivors in changed code, gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.cli.gates import Baseline, new_survivors
from fuzztui.cli.output import BELOW_THRESHOLD, FAILED, FINDINGS
from fuzztui.cli.score import state_of
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.finding_tallies import severity_text
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.state import Finding, Mutant, State
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire.finding_kinds import kind_of
from fuzztui.kernel.wire.verdicts import OPEN, REGRESSION, label
from fuzztui.tools.changes.code import CodeChanges
from fuzztui.tools.ci.outcome import (
    CiOutcome,
    CodeLocation,
    Gate,
    LocatedFrame,
    ReportedFinding,
    ReportedKill,
    ReportedSurvivor,
    located,
    stack_frames,
)


class CiJudge:
    """Adds findings, survivors and gates to an outcome.

    ``code``: what has changed; None: all code is judged. ``otherwise``: the place of findings that
    have none in the repository, because CI servers show no finding without a place.
    """

    def __init__(
        self, outcome: CiOutcome, code: CodeChanges | None, otherwise: CodeLocation | None
    ) -> None:
        self._outcome, self._code, self._otherwise = outcome, code, otherwise

    def take_findings(self, states: Iterable[State], keep: Callable[[Finding, bool], str]) -> None:
        """Add the groups of findings. ``keep(finding, is_open)`` returns the input's name."""
        groups: dict[str, tuple[State, Finding]] = {}
        for state in states:
            for finding in state.findings.values():
                groups.setdefault(finding.signature or finding.key, (state, finding))
        for state, finding in groups.values():
            verdict = verdict_of(state, finding.signature)
            frames = stack_frames(finding.detail, self._outcome.root)
            self._outcome.findings.append(
                ReportedFinding(
                    signature=finding.signature,
                    category=kind_of(finding.category).category,
                    title=finding.title,
                    detail=finding.detail,
                    verdict=label(verdict),
                    is_open=verdict in OPEN,
                    input=keep(finding, verdict in OPEN),
                    frames=frames,
                    location=self._location(frames),
                    severity=finding.severity,
                    severity_text=severity_text(finding),
                )
            )

    def _location(self, frames: tuple[LocatedFrame, ...]) -> CodeLocation | None:
        own = [frame for frame in reversed(frames) if frame.location]
        code = self._code
        changed = [f for f in own if code and code.on_changed_line(f.path, f.line)]
        first = next(iter([*changed, *own]), None)
        return first.location if first else self._otherwise

    def judge_findings(self) -> None:
        """Add the gate for findings."""
        number = len(self._outcome.open_findings)
        others = len(self._outcome.findings) - number
        known = f" ({several(others, 'known one')})" if others else ""
        text = several(number, "new finding") if number else "no new findings"
        back = sum(f.verdict == label(REGRESSION) for f in self._outcome.open_findings)
        if back:
            text += (
                f", {several(back, 'regression')} among them"
                if back < number
                else (f": {several(back, 'regression')}")
            )
        self._gate("findings", text + known, FINDINGS if number else 0)

    def judge_mutants(
        self,
        result: dict[str, Any],
        baseline: Baseline | None,
        fail_under: float | None,
        max_invalid: float,
        new_input: Callable[[str], str],
    ) -> None:
        """Add the survivors, the kills by new inputs, and the gates for mutants.

        ``result``: the score. ``new_input``: returns the text of an input by its file; an empty
        string if the input was in the kept corpus before.
        """
        not_run = self._take_mutants(result, baseline, new_input)
        outcome = self._outcome
        left = f"; {several(not_run, 'mutant')} not run on every input" if not_run else ""
        if outcome.invalid * 100 > max_invalid * outcome.mutants:
            text = (
                f"{outcome.invalid:,} of {several(outcome.mutants, 'mutant')} could not be run, "
                f"more than {max_invalid:g}%"
            )
            is_gate = baseline is not None or fail_under is not None
            self._gate("mutants", text, FAILED if is_gate else 0)
        new = len(outcome.new_survivors)
        where = "in changed code" if self._code else "in all code"
        where += f", in shard {outcome.shard}" if outcome.shard else ""
        if baseline is not None:
            text = several(new, "new survivor") if new else "no new survivors"
            self._gate("survivors", f"{text} {where}{left}", BELOW_THRESHOLD if new else 0)
        elif outcome.mutants:
            noted = len(outcome.noted_survivors)
            few = f", {noted:,} of them on changed lines" if noted < new else ""
            text = f"every mutant {where} is killed"
            if new:
                text = f"{several(new, 'mutant')} {where} not killed{few} (no gate)"
            elif not outcome.exact:
                text = f"no survivor {where} is known"
            self._gate("survivors", text + left)
        if fail_under is not None:
            valid = outcome.mutants - outcome.invalid
            low = outcome.killed * 100 < fail_under * valid
            text = f"{outcome.killed:,} of {several(valid, 'mutant')} killed"
            text += f", less than {fail_under:g}%" if low else ""
            self._gate("score", text, BELOW_THRESHOLD if low else 0)

    def _take_mutants(
        self,
        result: dict[str, Any],
        baseline: Baseline | None,
        new_input: Callable[[str], str],
    ) -> int:
        """Add the survivors; return the number of mutants that did not run on every input."""
        outcome, state = self._outcome, state_of(result)
        mutants = state.mutants.values()
        outcome.exact = result.get("exact") is True
        outcome.mutants = len(mutants)
        outcome.killed = state.mutant_counts.get("killed", 0)
        outcome.invalid = state.mutant_counts.get("invalid", 0)
        left = [m for m in new_survivors(mutants, Baseline()) if not m.accepted]
        if not outcome.exact:  # mutants in other states may not have run on all inputs
            left = [m for m in left if m.state == "alive"]
        new = {m.id for m in new_survivors(mutants, baseline or Baseline())}
        for m in left:
            outcome.survivors.append(
                ReportedSurvivor(
                    id=m.id,
                    location=_location(m, outcome.root),
                    function=m.function,
                    change=_change(m),
                    is_noted=self._is_noted(m, baseline),
                    is_new=m.id in new,
                )
            )
        for m in mutants:
            on_changed_line = self._code and self._code.on_changed_line(m.path, m.line)
            if m.state == "killed" and on_changed_line and (text := new_input(m.killer)):
                place = _location(m, outcome.root)
                outcome.kills.append(ReportedKill(place, m.function, _change(m), text))
        return 0 if outcome.exact else mutants_summary(state).not_run

    def _is_noted(self, mutant: Mutant, baseline: Baseline | None) -> bool:
        """Whether a survivor gets an annotation: on a changed line, or new against a baseline."""
        if self._code is None:
            return baseline is not None
        return self._code.on_changed_line(mutant.path, mutant.line)

    def _gate(self, name: str, text: str, code: int = 0) -> None:
        self._outcome.gates.append(Gate(name, text, code))


def _change(m: Mutant) -> str:
    """The code before and after the mutation."""
    return f"{m.before.strip()} -> {m.after.strip()}"


def _location(m: Mutant, root: Path) -> CodeLocation | None:
    """The place of a mutated expression in the repository, with its columns if known."""
    found = located(m.path, m.line, root) if m.path else None
    if found is None or m.column < 1 or m.end_line < m.line or m.end_column < 1:
        return found
    return replace(found, column=m.column, end_line=m.end_line, end_column=m.end_column)
