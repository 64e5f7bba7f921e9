"""``fuzztui coverage``: which lines the inputs of a run execute, for the usual tools."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.base.bounds import loads
from fuzztui.base.files import files_in
from fuzztui.base.text import several, visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.cli.mutants import AFL, own_campaign
from fuzztui.cli.output import DONE, USAGE, CliError, duration
from fuzztui.cli.progress import Estimate
from fuzztui.cli.repro import finding_file
from fuzztui.cli.runs import find_run, standing
from fuzztui.cli.score import corpus_of
from fuzztui.export.coverage import Coverage, Growth, coverage_of, formatted, ranges
from fuzztui.inprocess.ask import ask
from fuzztui.model.state import State


def coverage(options: argparse.Namespace) -> int:
    """Run the inputs of a run again, with each line traced, and report the lines."""
    if options.over_time and options.format not in (None, "json"):
        raise CliError("--over-time is for the table and --format json", USAGE)
    run = RunDir(find_run(options.run))
    state = standing(run.path).state  # damage of the log is reported also if the campaign is gone
    campaign = own_campaign(run.campaign, options.overrides)
    if campaign.kind == AFL:
        raise CliError(f"{run.path}: coverage is for Python targets, not for afl", USAGE)
    found = _measured(campaign, run, _inputs(run, state, options), options)
    text = formatted(found, options.format) if options.format else None
    if text is None:
        text = "\n".join(map(visible, _table(found))) + "\n"
    if options.output is None:
        print(text, end="")
        return DONE
    try:
        options.output.write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as e:
        raise CliError(f"-o {options.output}: {e.strerror or e}") from None
    total = found.total
    print(visible(f"{options.output}: {len(total.executed):,} of "
                  f"{several(len(total.statements), 'line')} ({total.percent:.1f}%)"))  # fmt: skip
    return DONE


_Input = tuple[Path, str, float]
"""A file, the name of its entry, and the campaign time when it was found; -1: unknown."""


def _inputs(run: RunDir, state: State, options: argparse.Namespace) -> list[_Input]:
    """Return the inputs, the one that was found first at the start."""
    if options.entry:
        return [(_entry(run, options.entry), options.entry, -1.0)]
    times = {f"{e.instance}/{e.file.rpartition('/')[2]}": e.t for e in state.entries.values()}
    found = []
    for file in files_in(corpus_of(run.path, [])):
        instance = file.parent.parent.name
        t = times.get(f"{instance}/{file.name}", -1.0)
        found.append((file.absolute(), f"{instance}/{file.name.partition(',')[0]}", t))
    return sorted(found, key=lambda item: (item[2], item[1]))


def _entry(run: RunDir, given: str) -> Path:
    """The file of ``12``, ``id:12``, ``INSTANCE/12``, or a path. Raises :class:`CliError`."""
    match = re.fullmatch(r"(?:([\w.-]+)/)?(?:id:)?(\d+)", given)
    if match is None:
        return finding_file(run, given)
    names = run.out.glob(f"{match[1] or '*'}/queue/id:*")
    ids = [f for f in sorted(names) if _id_of(f.name) == int(match[2])]
    if not ids:
        raise CliError(f"--entry {given}: there is no such queue entry in {run.path}", USAGE)
    return next((f for f in ids if f.parent.parent.name == "main"), ids[0]).absolute()


def _id_of(name: str) -> int:
    match = re.match(r"id:(\d+)", name)
    return int(match[1]) if match else -1


def _application(run: RunDir) -> list[str]:
    """The files that the engines have instrumented. Raises :class:`CliError`."""
    files: set[str] = set()
    for table in run.out.glob("*/edges.json"):
        try:
            files |= {str(module["file"]) for module in loads(table.read_bytes())["modules"]}
        except (OSError, ValueError, LookupError, TypeError):
            continue
    found = sorted(f for f in files if Path(f).is_file())
    if not found:
        raise CliError(f"{run.path}: no engine has instrumented a file yet; start the campaign")
    return found


def _measured(
    campaign: Campaign,
    run: RunDir,
    inputs: Sequence[_Input],
    options: argparse.Namespace,
) -> Coverage:
    """Run the inputs, and return the coverage; with its growth for ``--over-time``."""
    files = _application(run)
    request = {
        "inputs": [str(file) for file, _, _ in inputs],
        "edges": "", "modules": [], "words": False, "answers": False, "lines": files,
    }  # fmt: skip
    executed: dict[str, set[int]] = {}
    new: dict[str, set[int]] = {}
    by_input: list[dict[str, set[int]]] = [{} for _ in inputs]
    progress = Estimate()
    directory = run.instance("main")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        try:
            with closing(ask(campaign, ["--batch", str(file)], directory)) as answers:
                for answer in answers:
                    # The lines of an input are reported before its verdict.
                    for name, lines in _lines(answer.get("lines")):
                        executed.setdefault(name, set()).update(lines)
                        new.setdefault(name, set()).update(lines)
                    if isinstance(verdict := answer.get("verdict"), list):
                        by_input[int(verdict[0])], new = new, {}
                        progress.show("inputs", int(verdict[0]) + 1, len(inputs))
            statements, first = _statements(campaign, directory, files)
        except SupervisorError as e:
            raise CliError(str(e)) from None
        except (ValueError, TypeError, LookupError, AttributeError) as e:
            raise CliError(f"the engine's answer is damaged: {type(e).__name__}: {e}") from None
        finally:
            progress.clear()
    root = (options.root or Path()).absolute()
    found = coverage_of(executed, statements, first, root)
    if not options.over_time:
        return found
    growth: list[Growth] = []
    until: dict[str, set[int]] = {}
    before = -1
    for (_, entry, t), lines_of in zip(inputs, by_input, strict=True):
        for name, lines in lines_of.items():
            until.setdefault(name, set()).update(lines)
        total = sum(len(f.executed) for f in coverage_of(until, statements, first, root).files)
        if total != before:
            growth.append(Growth(t, entry, total))
            before = total
    return replace(found, growth=growth)


def _lines(lines: Any) -> Iterator[tuple[str, set[int]]]:
    for file, numbers in lines.items() if isinstance(lines, dict) else ():
        yield str(file), set(map(int, numbers))


def _statements(
    campaign: Campaign, directory: Path, files: list[str]
) -> tuple[dict[str, list[int]], dict[str, dict[int, int]]]:
    with closing(ask(campaign, ["--statements", *files], directory)) as answers:
        answer = next((a for a in answers if "statements" in a), {})
    statements = {str(f): [int(n) for n in lines] for f, lines in answer["statements"].items()}
    first = {
        str(f): {int(line): int(start) for line, start in pairs}
        for f, pairs in answer["first"].items()
    }
    return statements, first


def _table(coverage: Coverage) -> Iterator[str]:
    """Yield a table of files, and the growth if it was asked for."""
    rows = [*coverage.files, coverage.total]
    width = max(len("file"), *(len(f.name) for f in rows))
    yield f"{'file':<{width}} {'lines':>7} {'missed':>7} {'cover':>7}  missing"
    for file in rows:
        missing = "" if file is rows[-1] else ranges(file.missing, file.statements)
        numbers = f"{len(file.statements):>7,} {len(file.missing):>7,} {file.percent:>6.1f}%"
        yield f"{file.name:<{width}} {numbers}  {missing}".rstrip()
    if coverage.growth:
        yield ""
        yield f"{'time':>8} {'lines':>7}  entry"
        for g in coverage.growth:
            yield f"{duration(g.t) if g.t >= 0 else '?':>8} {g.lines:>7,}  {g.entry}"
