"""Looking at a run: the screen, a page of text, a replay."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fuzztui.cli.figures import status_rows
from fuzztui.cli.runs import Standing, find_run, fold_all, is_run, open_session, standing
from fuzztui.cli.words import DONE, FAILED, duration, say
from fuzztui.model.selectors import ENDED, running_time, status_dict, throughput, totals
from fuzztui.wire.text import visible


def attach(options: argparse.Namespace) -> int:
    """The screen of a run."""
    return screen(find_run(options.run), options.theme)


def screen(run: Path, theme: str | None) -> int:
    """Open the live screen; returns its exit code."""
    from fuzztui.tui import run_app  # Textual takes a moment: only where it draws

    return run_app(run, run, mode="live", speed=1.0, at=None, theme=theme, control=True)


def replay(options: argparse.Namespace) -> int:
    """The screen over a log with a replay clock, or the status at one time."""
    run = options.path if is_run(options.path) else None
    if options.json:
        state = fold_all(open_session(options.path, at=options.at))
        print(json.dumps(status_dict(state), indent=2))
        return DONE
    open_session(options.path)  # what is wrong with the path is said here, not on a screen
    from fuzztui.tui import run_app

    return run_app(
        run,
        options.path,
        mode="replay",
        speed=options.speed,
        at=options.at,
        theme=options.theme,
        control=False,
    )


def status(options: argparse.Namespace) -> int:
    """One page of text, or one JSON object."""
    run = find_run(options.run)
    now = standing(run)
    if options.json:
        print(json.dumps(status_object(run, now), indent=2))
    else:
        print(status_text(run, now))
    return DONE


def status_object(run: Path, now: Standing) -> dict[str, object]:
    """The object of ``status --json``."""
    return {**status_dict(now.state), "state": now.word, "run": str(run), "pid": now.pid}


def status_text(run: Path, now: Standing) -> str:
    """What ``status`` prints: a few aligned lines, then a line an instance."""
    state, t = now.state, totals(now.state)
    reason = f" ({state.reason})" if state.reason else ""
    budget = ""
    if state.budget_s:
        budget = f" of {duration(state.budget_s)}"
    elif state.budget_trials:
        budget = f", {t.execs * 100 // state.budget_trials}% of {state.budget_trials:,} trials"
    average = " on average" if state.state in ENDED else ""
    cover = "-" if t.edges < 0 else f"{t.edges:,} of {t.edges_total:,} edges"
    if t.edges > 0 and t.edges_total > 0:
        cover += f" ({t.edges / t.edges_total:.1%})"
    rows = [
        ("campaign", f"{state.name}  [{state.engine}]  {state.target}"),
        ("state", f"{now.word}{reason}"),
        ("elapsed", duration(running_time(state)) + budget),
        ("execs", f"{t.execs:,}  at {throughput(state):,.0f}/s{average}"),
        ("corpus", f"{t.corpus:,}"),
        ("coverage", cover),
        *status_rows(state),
        ("crashes", f"{t.crashes:,}  ({len(state.groups)} distinct findings, {t.hangs:,} hangs)"),
        ("run", str(run)),
    ]
    lines = [f"{name:<9} {visible(text)}" for name, text in rows]
    for i in state.instances.values():
        lines.append(
            f"  {visible(i.id):<9} {visible(i.state):<10} {i.execs:>12,} execs "
            f"{i.execs_per_sec:>8,.0f}/s {i.corpus:>7,} corpus {i.crashes:>4,} crashes"
        )
        if i.reason and i.reason != state.reason:
            lines.append(f"    {visible(i.reason)}")
    for keys in state.groups.values():
        finding = state.findings[keys[0]]
        lines.append(visible(f"  {finding.category}: {finding.title} at {finding.place}"))
    if now.word == "interrupted":
        lines.append("the supervisor is gone; the command that started the campaign resumes it")
    return "\n".join(lines)


def themes(options: argparse.Namespace) -> int:
    """List the themes."""
    from fuzztui.tui.themes import load_themes

    found, problems = load_themes()
    for name, theme in found.items():
        print(f"{name:<14} {visible(theme.title)}")
    for problem in problems:
        say(problem)
    return FAILED if problems else DONE
