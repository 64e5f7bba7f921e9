"""The kill matrix of ``fuzztui score --matrix``: keep it in the run, write it, summarise it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fuzztui.cli.output import CliError, say
from fuzztui.features.corpus.cover import greedy_cover
from fuzztui.features.corpus.matrix import CorpusMatrix, MatrixError
from fuzztui.kernel.base import versions
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.base.text import brief, several
from fuzztui.run.campaign.rundir import RunDir

_MAX_BYTES = 1 << 30
_SHOWN = (1, 3, 5, 10, 20, 50)
"""Numbers of inputs for which the summary lists how many mutants they kill."""


def keep_matrix(file: Path, result: dict[str, Any], names: Mapping[str, str]) -> None:
    """Write the matrix of the engine's result, if it has one, to the run.

    ``names``: the names of the original inputs by those of the copies that were scored; empty if
    the inputs themselves were scored.
    """
    if isinstance(matrix := result.get("matrix"), dict):
        for row in matrix.get("rows", ()) if names else ():
            row["file"] = names.get(row.get("file"), row.get("file"))
        try:
            replace_text(file, json.dumps(matrix))
        except OSError as e:
            say(f"{file}: {e.strerror or e}; the matrix is not kept for the next time")


def kept_matrix(run: RunDir) -> CorpusMatrix | None:
    """Return the matrix that a command has kept in the run; None if there is none, or damaged."""
    if (data := read_if_regular(run.matrix, _MAX_BYTES)) is None:
        return None
    try:
        return CorpusMatrix.of(loads(data))
    except (ValueError, RecursionError, MatrixError):
        say(f"{run.matrix}: is damaged; 'fuzztui score {run.path} --matrix' makes it again")
        return None


def matrix_of(result: dict[str, Any]) -> CorpusMatrix:
    """Return the matrix of the engine's result. Raises :class:`CliError`."""
    try:
        return CorpusMatrix.of(result.get("matrix"))
    except MatrixError as e:
        raise CliError(f"the engine's kill matrix is damaged: {e}") from None


def write_matrix(file: Path, result: dict[str, Any], corpus: list[Path]) -> None:
    """Write the matrix to a file, as JSON or CSV. Raises :class:`CliError`."""
    matrix = matrix_of(result)
    if file.suffix == ".csv":
        text = _csv(matrix)
    else:
        data = {
            "exact": result.get("exact") is True,
            "corpus": [str(folder) for folder in corpus],
            "program": result.get("program"),
            "shard": result.get("shard"),
            "first_only": sorted(matrix.first_only),
            "entries": [
                {
                    "file": row.file,
                    "sha256": row.sha256,
                    "size": row.size,
                    "outcome": row.outcome,
                    "edges": len(row.edges),
                    "kills": row.kills,
                }
                for row in matrix.rows
            ],
        }
        text = json.dumps(versions.versioned("score-matrix", data), indent=1) + "\n"
    try:
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as e:
        raise CliError(f"-o {file}: {e.strerror or e}") from None


def _csv(matrix: CorpusMatrix) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("file", "mutant", "oracle"))
    for row in matrix.rows:
        writer.writerows((row.file, mutant, oracle) for mutant, oracle in row.kills.items())
    return out.getvalue()


def matrix_lines(result: dict[str, Any], file: Path) -> Iterator[str]:
    """Yield a summary of the matrix in the engine's result; nothing if it has none."""
    if "matrix" not in result:
        return
    matrix = matrix_of(result)
    killed = matrix.killed
    least = "" if result.get("exact") is True else "at least "
    pairs = sum(len(row.kills) for row in matrix.rows)
    yield ""
    yield (
        f"matrix  {least}{pairs:,} kills of {several(len(killed), 'mutant')} "
        f"by {several(sum(bool(row.kills) for row in matrix.rows), 'input')}"
    )
    if matrix.first_only:
        yield (
            f"        {several(len(matrix.first_only), 'mutant')} in separate processes: "
            "only the first input that kills is known"
        )
    picks = greedy_cover(matrix.rows, lambda row: row.kills.keys())
    total = 0
    sums = [total := total + len(pick.new) for pick in picks]
    for n in sorted({n for n in _SHOWN if n < len(sums)} | {len(sums)} - {0}):
        share = 100 * sums[n - 1] / len(killed)
        yield f"        the best {several(n, 'input')}: {sums[n - 1]:,} killed ({share:.0f}%)"
    yield f"        {brief(str(file))}"
