"""``fuzztui mutators``: tables of mutators; and ``ctl weigh-mutator``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fuzztui.cli.ctl_action import one_of, weighed
from fuzztui.cli.json_output import print_rows
from fuzztui.cli.mutant_lines import percent
from fuzztui.cli.output import DONE, CliError, UsageError
from fuzztui.cli.runs import none_left, standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.mutators import fold
from fuzztui.features.mutators.fold import FEW, FEW_USES, MutatorRow, arms, mutators_dict
from fuzztui.features.mutators.status import mixture_rows
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.yields import KINDS, Yields, campaign_yields, rate_number, yields_dict
from fuzztui.kernel.wire.commands import WeighMutator

_ORDER: dict[str, Callable[[MutatorRow], Any]] = {
    "pays": lambda a: a.order,
    "found": lambda a: a.found,
    "crashes": lambda a: a.crashes,
    "applied": lambda a: a.applied,
    "tried": lambda a: a.tried,
    "weight": lambda a: a.share,
}

COLUMNS = ("pays", "found", "crashes", "applied", "tried", "weight", "name", "class")
"""Columns by which the table can be sorted; ``name`` and ``class`` alphabetically."""


def mutators(options: argparse.Namespace) -> int:
    """Print the table, or a list of JSON objects in the same order."""
    run = find_one_target(options.run)
    now = standing(run)
    state = now.state
    rows = ordered(arms(state).values(), options.sort)
    yields = campaign_yields(state)
    named = dict(sorted(yields.mutators.items(), key=lambda item: item[1].order, reverse=True))
    if options.json:
        objects = {row["name"]: row for row in mutators_dict(state)}
        answer = [objects[mutator.name] for mutator in rows]
        answer += [{"name": name} for name in named if name not in objects]
        for row in answer:
            row["yield"] = yields_dict(named.get(row["name"]) or yields.without_finds)
        print_rows("mutators", "mutators", answer, now.problems)
    if not rows and now.is_lower_bound:
        raise none_left(run, now, "text mutators")
    if options.json:
        return DONE
    if not rows and not named:
        raise CliError(f"{run}: no engine of the campaign has reported text mutators")
    for line in table(rows) if rows else ():
        print(line)
    if any(_uncertain(mutator) for mutator in rows):
        print(f"(in brackets: uncertain, fewer than {FEW} saved inputs or {FEW_USES} uses)")
    for name, text in mixture_rows(state, run):
        print(f"{name:<8} {brief(text)}")
    if rows:
        print()
    for line in yields_table(yields.campaign, named):
        print(line)
    return DONE


def yields_table(campaign: Yields, mutators: Mapping[str, Yields]) -> Iterator[str]:
    """Yield a table of finds per CPU hour of the campaign, by mutator."""
    whole, late = campaign.whole, campaign.late
    if whole.cpu_s < 0:
        yield "per CPU hour: unknown, because the log has no CPU times"
        return
    cpu = f"{several(round(whole.cpu_s), 'second')} of CPU time"
    if not whole.known:
        yield f"per CPU hour: unknown, only {cpu} yet"
        return
    yield f"new per CPU hour, over {cpu}; lately, over {several(round(late.cpu_s), 'second')}"
    rows = [(brief(name), yields) for name, yields in mutators.items()]
    wide = max(len("mutator"), *(len(name) for name, _ in rows)) if rows else len("mutator")
    kinds = [kind for kind in KINDS if kind != "kills" or whole.kills >= 0]
    heads = "".join(f"{kind:>11} {'lately':>8}" for kind in kinds)
    yield f"{'mutator':<{wide}}{heads}"
    for name, yields in [*rows, ("all", campaign)]:
        numbers = "".join(
            f"{rate_number(yields.whole.per_hour(kind)):>11} "
            f"{rate_number(yields.late.per_hour(kind)):>8}"
            for kind in kinds
        )
        yield f"{name:<{wide}}{numbers}"


def ordered(rows: Any, column: str) -> list[MutatorRow]:
    """Sort rows by a column; rows with equal values keep their order."""
    if column == "name":
        return sorted(rows, key=lambda a: a.name)
    if column == "class":
        return sorted(rows, key=lambda a: a.cls)
    return sorted(rows, key=_ORDER[column], reverse=True)


def table(rows: list[MutatorRow]) -> Iterator[str]:
    """Yield a title line, and a line for each mutator."""
    wide = max(len(brief(a.name)) for a in rows)
    yield (
        f"{'mutator':<{wide}}  class  {'tried':>13}  {'applied':>13}  {'hits':>6}  {'found':>7}  "
        f"{'crashes':>7}  {'per million':>11}  {'weight':>6}"
    )
    for a in rows:
        hits = percent(a.applied / a.tried if a.tried else None)
        pays = f"{a.pays:,.1f}" if a.pays >= 0 else "-"
        pays = f"({pays})" if _uncertain(a) else pays
        yield (
            f"{brief(a.name):<{wide}}  {a.cls:<6} {a.tried:>13,}  {a.applied:>13,}  {hits:>6}  "
            f"{a.found:>7,}  {a.crashes:>7,}  {pays:>11}  {percent(a.share):>6}"
            + (f"  set to {a.wish:g}" if a.wish != 1 else "")
        )


def weigh_mutator(options: argparse.Namespace) -> list[WeighMutator]:
    """``weigh-mutator NAME 3``; ``x2`` and ``x0.5`` multiply each instance's present weight."""
    if not options.id or len(options.more) != 1:
        raise UsageError("weigh-mutator needs a mutator and a weight: swap-args 3, or x2, or 0")
    run = options.run = find_one_target(options.run)  # once: find_run may print the choice
    state = standing(run).state
    if not (rows := arms(state)):
        raise UsageError("weigh-mutator is for text mutators; no engine has reported any")
    name = one_of(str(options.id), rows, "there is no mutator", "-")
    return weighed(options, WeighMutator, name, fold.mutator_wishes(state, name, options.instance))


def _uncertain(mutator: MutatorRow) -> bool:
    return mutator.found > 0 and not mutator.significant
