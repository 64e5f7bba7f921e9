"""``fuzztui mutants rank FILE...``: rank the mutants of source files, most different first."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from fuzztui.cli.json_output import print_rows
from fuzztui.cli.output import DONE, FAILED, CliError, UsageError, at_terminal, say
from fuzztui.cli.progress import Counter
from fuzztui.cli.since import changes
from fuzztui.kernel.base.text import different_parts, several, visible
from fuzztui.kernel.base.units import parse_ranges
from fuzztui.run.campaign.extras import missing_extra

if TYPE_CHECKING:
    from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant

ORDERS = ("fpf", "universalmutator", "random")

_AROUND = 12
"""Number of characters shown before and after a mutant's change."""


def rank_mutants(options: argparse.Namespace) -> int:
    """Rank the mutants and print them; return the exit code."""
    # Imported here, because only this command needs these modules.
    from fuzztui.features.fuzzfirst.source_mutants.check import Check
    from fuzztui.features.fuzzfirst.source_mutants.generate import (
        LANGUAGES,
        Generated,
        MutantError,
        generate,
        language_of,
    )

    if missing := missing_extra("first"):
        raise CliError(missing)
    from fuzztui.features.fuzzfirst.source_mutants.rank import rank_in_order

    files = [options.path, *map(Path, options.selections)]
    if options.language and options.language not in LANGUAGES.values():
        known = ", ".join(sorted(set(LANGUAGES.values())))
        raise UsageError(f"--language {options.language!r} is unknown; choose one of {known}")
    lines = parse_lines(options.lines)
    limited = changes(options)
    found = Generated()
    check = Check(options.check_with) if options.check or options.check_with else None
    with Counter() as counter:
        for file in files:
            counter.show(f"making mutants of {file}", len(found.mutants))
            if not options.language and language_of(file) == "none":
                counter.clear()
                say(f"{file}: unknown language, only universal rules apply; see --language")
            of_file = lines
            if limited is not None:
                changed = limited.files.get(file.resolve())
                of_file = {
                    n for a, b in (changed.lines if changed else ()) for n in range(a, b + 1)
                }
                of_file = of_file & lines if lines else of_file
                if not of_file:
                    continue
            try:
                generate(file, language=options.language, lines=of_file, into=found)
                if check is not None:
                    check.prepare(file, options.language)
            except MutantError as e:
                raise UsageError(str(e)) from None
    if options.shard is not None:
        found.mutants[:] = [mutant for mutant in found.mutants if options.shard.has(mutant.id)]
    if not found.mutants:
        where = f" in shard {options.shard}" if options.shard else ""
        where += f" in lines {options.lines}" if options.lines else ""
        where += f" in what changed since {limited.what}" if limited else ""
        say(f"there are no mutants{where}")
        return FAILED
    total = len(found.mutants) if options.limit is None else min(options.limit, len(found.mutants))
    rows: list[tuple[SourceMutant, float]] = []

    def accept(index: int) -> bool:
        if check is None:
            return True
        mutant = found.mutants[index]
        counter.show(f"ranking ({check.rejected:,} do not compile)", len(rows), total)
        return check.compiles(mutant, Path(mutant.file), options.language)

    began = time.monotonic()
    try:
        with counter:
            picks = rank_in_order(
                found.mutants, options.order, options.seed, accept=accept,
                progress=lambda done, of: counter.show("comparing lines", done, of),
            )  # fmt: skip
            for pick in islice(picks, options.limit):
                rows.append((found.mutants[pick.index], pick.distance))
                counter.show(f"ranking {several(len(found.mutants), 'mutant')}", len(rows), total)
    except MutantError as e:
        raise CliError(str(e)) from None
    except KeyboardInterrupt:
        say(f"interrupted after {several(len(rows), 'ranked mutant')}")
    if options.json:
        objects = [mutant_dict(n, m, d, check is not None) for n, (m, d) in enumerate(rows, 1)]
        print_rows("mutants-rank", "mutants", objects)
        return DONE
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    for line in table(rows, width):
        print(line)
    took = time.monotonic() - began
    notes = [f"{len(rows):,} of {several(len(found.mutants), 'mutant')} ranked in {took:.1f} s"]
    if found.blank:
        notes.append(f"{found.blank:,} left out that differ in blanks only")
    if found.messages:
        notes.append(f"{found.messages:,} left out in docstrings and messages")
    if found.excluded:
        notes.append(f"{len(found.excluded):,} excluded by pragma")
    if check is None:
        notes.append("not checked whether they compile (--check)")
    else:
        notes.append(f"{check.rejected:,} left out that do not compile")
    say("; ".join(notes))
    return DONE


def parse_lines(text: str) -> set[int]:
    """Parse line numbers such as ``12,40-60``. Raises :class:`CliError`."""
    try:
        return set(chain(*parse_ranges(text)))
    except ValueError as e:
        raise UsageError(f"--lines {text}: {e}") from None


def mutant_dict(place: int, m: SourceMutant, distance: float, checked: bool) -> dict[str, object]:
    """Return a ranked mutant as an object for ``--json``.

    The first mutant has no distance, nor any in random order. ``compiles`` is null without a check.
    """
    return {
        "rank": place,
        "id": m.id,
        "file": m.file,
        "line": m.line,
        "operator": m.operator,
        "before": m.before,
        "after": m.after,
        "distance": None if distance < 0 else round(distance, 6),
        "compiles": True if checked else None,
    }


def table(rows: Sequence[tuple[SourceMutant, float]], width: int = 0) -> Iterator[str]:
    """Yield a line for each mutant, cut to ``width`` columns (0: no limit)."""
    of_rank = len(str(len(rows)))
    places = [visible(f"{m.file}:{m.line}") for m, _ in rows]
    of_place = min(max(map(len, places), default=0), 40)
    for n, ((m, distance), place) in enumerate(zip(rows, places, strict=True), 1):
        far = "    -" if distance < 0 else f"{distance:5.2f}"
        change = shown_change(m.before, m.after)
        line = f"{n:>{of_rank}} {far}  {_end(place, of_place):<{of_place}}  {change}"
        yield line if not width or len(line) <= width else line[: width - 1] + "…"


def shown_change(before: str, after: str) -> str:
    """Format a change on one line: the different parts of both lines, with some context."""
    before, after = " ".join(before.split()), " ".join(after.split())
    return visible("  ->  ".join(different_parts(before, after, _AROUND)))


def _end(text: str, width: int) -> str:
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]
