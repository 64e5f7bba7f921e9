"""The gates of ``fuzztui score``: a score that is too low, and survivors that are new."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fuzztui.cli.output import BELOW_THRESHOLD, DONE, FAILED, UsageError, say
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.state import Mutant, State

MAX_BASELINE_BYTES = 256 << 20
"""Size of a baseline that is still read."""

_LISTED = 20
"""New survivors that are printed."""

_SURVIVORS = ("alive", "pending")

_Change = tuple[str, str, str, str, str]
"""File, function, operator, code before and after: equal for a mutant in two versions of a
program. Its id is not: it contains a number, which an edit of the function changes."""

Baseline = Counter[_Change]
"""How many mutants with each change were not killed."""


def read_baseline(file: Path, option: str) -> Baseline:
    """Read the survivors in a file of ``score --json``, given by ``option``.

    Raises :class:`CliError`.
    """
    try:
        raw = read_regular(file, MAX_BASELINE_BYTES + 1)
        if len(raw) > MAX_BASELINE_BYTES:
            raise ValueError(f"the file is larger than {MAX_BASELINE_BYTES >> 20} MiB")
        rows = loads(raw)["mutants"]
        return Counter(_change(row) for row in rows if row["state"] in _SURVIVORS)
    except OSError as e:
        why = e.strerror or str(e)
    except (ValueError, KeyError, TypeError) as e:
        why = f"{type(e).__name__}: {e}"
    raise UsageError(
        f"{option} {file}: is not a baseline ({brief(why)}); "
        "make one with 'fuzztui score RUN --json > FILE', or take score.json of 'fuzztui ci'"
    )


def _change(row: dict[str, object]) -> _Change:
    """Raises KeyError, TypeError."""
    words = [row[key] for key in ("file", "function", "operator", "before", "after")]
    if not all(isinstance(word, str) for word in words):
        raise TypeError("a field of a mutant is not a text")
    file, function, operator, before, after = map(str, words)
    return file, function, operator, before, after


def new_survivors(mutants: Iterable[Mutant], baseline: Baseline) -> list[Mutant]:
    """Return the mutants that are not killed, and are not in the baseline.

    If several mutants have the same change in one function, and the baseline has N of these, the
    first N are left out.
    """
    left = Counter(baseline)
    new: list[Mutant] = []
    for m in mutants:
        if m.state not in _SURVIVORS:
            continue
        change = m.file, m.function, m.operator, m.before, m.after
        if left[change] > 0:
            left[change] -= 1
        else:
            new.append(m)
    return new


def judge(
    state: State,
    options: argparse.Namespace,
    baseline: Baseline | None,
) -> int:
    """Return the exit code of a score for the gates of the command line; report what is wrong."""
    if options.fail_under is None and baseline is None:
        return DONE
    sys.stdout.flush()
    codes = [_can_judge(state, options.max_invalid)]
    if options.fail_under is not None:
        codes.append(_threshold(state, options.fail_under))
    if baseline is not None:
        codes.append(_new(state, baseline))
    return next((code for code in codes if code != DONE), DONE)


def _can_judge(state: State, most: float) -> int:
    """Return FAILED if more than ``most`` percent of the mutants cannot run, else DONE.

    The score leaves these mutants out, so that it would be too high.
    """
    s = mutants_summary(state)
    if s.invalid * 100 <= most * s.total:
        return DONE
    say(
        f"{s.invalid:,} of {several(s.total, 'mutant')} could not be run, more than "
        f"--max-invalid {most:g}%: the score says little. Mend the harness; "
        "'fuzztui mutants list RUN state=invalid' lists them"
    )
    return FAILED


def _threshold(state: State, least: float) -> int:
    """Return DONE if at least ``least`` percent of the valid mutants are killed."""
    s = mutants_summary(state)
    valid = s.total - s.invalid
    if s.killed * 100 >= least * valid and (valid or not least):
        return DONE
    say(
        f"score {s.at_least}{100 * (s.score or 0):.2f}% is below --fail-under {least:g}%: "
        f"{s.killed:,} of {several(valid, 'mutant')} killed"
    )
    return BELOW_THRESHOLD


def _new(state: State, baseline: Baseline) -> int:
    """Return DONE if all survivors are in the baseline or accepted, else BELOW_THRESHOLD."""
    new = [m for m in new_survivors(state.mutants.values(), baseline) if not m.accepted]
    if not new:
        return DONE
    say(f"--fail-new: {several(len(new), 'new survivor')}")
    for m in new[:_LISTED]:
        line = f"{m.file}:{m.line}  {m.function}  {m.before} -> {m.after}  ({m.state}, {m.id})"
        print(visible(f"  {line}"), file=sys.stderr)
    if len(new) > _LISTED:
        print(f"  and {len(new) - _LISTED:,} more", file=sys.stderr)
    return BELOW_THRESHOLD
