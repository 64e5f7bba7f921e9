"""Merge the results of parts of a score into what one process would have answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fuzztui.kernel.base.bounds import whole

Result = dict[str, Any]

STATES: Final = ("killed", "alive", "pending", "skipped", "equivalent", "invalid")
_SPOILED: Final = ("flaky", "died")
_ORACLES: Final = ("value", "exception", "timeout", "died")
"""Kinds of kills, in the order of an engine's rows."""


def damage_of(result: Result) -> str:
    """What is wrong with the result of a part, which comes from another process; "": nothing."""
    rows, indices = result.get("mutants"), result.get("indices")
    if not isinstance(rows, list) or not isinstance(indices, list):
        return "it has no mutants"
    if len(rows) != len(indices) or not all(type(n) is int and n >= 0 for n in indices):
        return "its mutants have no numbers"
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            return "one of its mutants has no id"
        if row.get("state") not in STATES:
            return f"{row['id']} has the state {row.get('state')!r}"[:200]
    if not isinstance(result.get("digest"), str) or whole(result.get("total")) < 0:
        return "it does not say what was scored"
    flaky = result.get("flaky")
    if not isinstance(flaky, list) or not all(isinstance(name, str) for name in flaky):
        return "its flaky inputs have no names"
    if "matrix" in result and not _is_matrix(result["matrix"]):
        return "its matrix is damaged"
    return ""


def _is_matrix(matrix: Any) -> bool:
    if not isinstance(matrix, dict) or not isinstance(matrix.get("rows"), list):
        return False
    return isinstance(matrix.get("first_only"), list) and all(
        isinstance(row, dict)
        and isinstance(row.get("sha256"), str)
        and isinstance(row.get("outcome"), str)
        and isinstance(row.get("kills"), dict)
        and all(isinstance(found, list) for found in row["kills"].values())
        and _bits(row.get("reached")) is not None
        and _bits(row.get("infected")) is not None
        for row in matrix["rows"]
    )


def _bits(text: Any) -> int | None:
    try:
        return int(text, 16)
    except (ValueError, TypeError):
        return None


def flaky_of(parts: Sequence[Result]) -> list[str]:
    """Names of all inputs that any part has found to be flaky."""
    return sorted({name for part in parts for name in part["flaky"]})


def doubtful_of(parts: Sequence[Result]) -> list[int]:
    """Mutants whose kill is revoked: another part has found its input to be flaky.

    They must run again without the flaky inputs.
    """
    flaky = {*flaky_of(parts)}
    return [
        n
        for n, row in sorted(_rows_of(parts).items())
        if row["state"] == "killed" and row.get("killer") in flaky
    ]


def merged(parts: Sequence[Result]) -> Result:
    """Return the answer of the whole; a later part's mutants replace those of earlier parts.

    All parts have the same digest, and together all mutants.
    """
    rows = _rows_of(parts)
    mutants = [rows[n] for n in sorted(rows)]
    counts = {word: sum(row["state"] == word for row in mutants) for word in STATES}
    valid = len(mutants) - counts["invalid"]
    first = [part for part in parts if not part.get("again")]
    warnings = dict.fromkeys(text for part in parts for text in part.get("warnings", ()))
    exact = all(part.get("exact") is True for part in parts)
    answer: Result = {
        "total": len(mutants),
        **counts,
        "static": sum(whole(part.get("static"), 0) for part in first),
        "score": counts["killed"] / valid if valid else None,
        "exact": exact,
        "inputs": parts[0].get("inputs", 0),
        "flaky": len(flaky_of(parts)),
        "warnings": list(warnings),
        **{key: parts[0][key] for key in ("program", "shard") if key in parts[0]},
        "mutants": mutants,
    }
    if "matrix" in parts[0]:
        answer["matrix"] = _merged_matrix(parts, first)
    return answer


def _rows_of(parts: Sequence[Result]) -> dict[int, Any]:
    return {
        n: row for part in parts for n, row in zip(part["indices"], part["mutants"], strict=True)
    }


def _merged_matrix(parts: Sequence[Result], first: Sequence[Result]) -> Result:
    """Each row has the kills of all parts; rows that a part has not run are left out."""
    whole_matrix = first[0]["matrix"]
    rows: dict[str, list[Any]] = {}
    for part in first:
        for row in part["matrix"]["rows"]:
            rows.setdefault(row["sha256"], []).append(row)
    first_only = {
        mutant: [mutant, sha] for part in parts for mutant, sha in part["matrix"]["first_only"]
    }
    order = [row["sha256"] for row in whole_matrix["rows"]]
    return {
        **whole_matrix,
        "first_only": [first_only[mutant] for mutant in sorted(first_only)],
        "isolated": sorted(n for part in parts for n in part["matrix"].get("isolated", ())),
        "invalid": sorted(row for part in parts for row in part["matrix"].get("invalid", ())),
        "rows": [_merged_row(rows[sha]) for sha in order if len(rows[sha]) == len(first)],
    }


def _merged_row(rows: Sequence[Any]) -> Any:
    spoiled = [row["outcome"] for row in rows if row["outcome"] in _SPOILED]
    kills = {
        oracle: found
        for oracle in _ORACLES
        if (found := sorted({n for row in rows for n in row["kills"].get(oracle, ())}))
    }
    reached = infected = 0
    for row in rows:
        reached |= int(row["reached"], 16)
        infected |= int(row["infected"], 16)
    return {
        **rows[0],
        "outcome": spoiled[0] if spoiled else rows[0]["outcome"],
        "kills": {} if spoiled else kills,
        "reached": f"{reached:x}",
        "infected": f"{infected:x}",
    }
