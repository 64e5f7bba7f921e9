"""Joining what ``fuzztui score --json`` has printed: shards, or all mutants on other inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fuzztui.machines.merge.parts import MergedShards, MergeError, shards_of

STATES: Final = ("killed", "equivalent", "alive", "skipped", "invalid", "pending")
"""A mutant's states, the first of which holds if scores differ."""

Score = dict[str, Any]


def check_score(name: str, data: object) -> Score:
    """Return the data if it is what ``score --json`` prints. Raises :class:`MergeError`."""
    if isinstance(data, dict) and isinstance(rows := data.get("mutants"), list):
        good = (isinstance(r, dict) and isinstance(r.get("id"), str) for r in rows)
        if all(good) and all(r.get("state") in STATES for r in rows):
            return data
    raise MergeError(f"{name}: is not what 'fuzztui score --json' prints")


def merge_scores(scores: Sequence[tuple[str, Score]]) -> tuple[Score, MergedShards]:
    """Join named scores of one program. Raises :class:`MergeError`."""
    shards = shards_of([(name, shard_of(score)) for name, score in scores])
    _check_programs(scores, shards)
    rows: dict[str, dict[str, Any]] = {}
    for name, score in scores:
        for row in score["mutants"]:
            before = rows.get(row["id"])
            if before is not None:
                _check_same(name, before, row)
            if before is None or _rank(row) < _rank(before):
                reached = row.get("reached") is True or _reached(before)
                rows[row["id"]] = {**row, "reached": reached}
            elif row.get("reached") is True:
                before["reached"] = True
    mutants = [rows[id_] for id_ in sorted(rows)]
    counts = Counter(row["state"] for row in mutants)
    valid = len(mutants) - counts["invalid"]
    found: Score = {
        "total": len(mutants),
        **{state: counts[state] for state in STATES},
        "static": sum(int(s.get("static") or 0) for _, s in scores) if shards.of else _most(scores),
        "score": counts["killed"] / valid if valid else None,
        "exact": all(s.get("exact") is True for _, s in scores) and not shards.missing,
        "inputs": max((score_number(s, "inputs") for _, s in scores), default=0),
        "flaky": max((score_number(s, "flaky") for _, s in scores), default=0),
        "warnings": [*dict.fromkeys(w for _, s in scores for w in _list(s, "warnings"))],
        "program": scores[0][1].get("program"),
        "shard": _shard_row(shards),
        "mutants": mutants,
        "corpus": [*dict.fromkeys(f for _, s in scores for f in _list(s, "corpus"))],
        "problems": [*dict.fromkeys(p for _, s in scores for p in _list(s, "problems"))],
    }
    if len({score_number(score, "inputs") for _, score in scores}) > 1 and shards.of:
        found["exact"] = False
        found["warnings"].append("the shards were scored with different numbers of inputs")
    if all(isinstance(score.get("matrix"), dict) for _, score in scores):
        found["matrix"] = _merged_matrix(scores)
    return found, shards


def is_matrix(data: object) -> bool:
    """Whether the data is what ``score --matrix -o FILE.json`` writes."""
    return isinstance(data, dict) and isinstance(data.get("entries"), list)


def merge_matrices(matrices: Sequence[tuple[str, Score]]) -> tuple[Score, MergedShards]:
    """Join named files of ``score --matrix -o``. Raises :class:`MergeError`."""
    shards = shards_of([(name, shard_of(matrix)) for name, matrix in matrices])
    _check_programs(matrices, shards)
    entries: dict[str, dict[str, Any]] = {}
    for name, matrix in matrices:
        for row in matrix["entries"]:
            try:
                sha, kills = str(row["sha256"]), dict(row["kills"])
            except (KeyError, TypeError, ValueError):
                raise MergeError(f"{name}: is not what 'fuzztui score --matrix' writes") from None
            known = entries.setdefault(sha, {**row, "kills": {}})
            known["kills"] = {**kills, **known["kills"]}
    return {
        "exact": all(m.get("exact") is True for _, m in matrices) and not shards.missing,
        "corpus": [*dict.fromkeys(f for _, m in matrices for f in _list(m, "corpus"))],
        "program": matrices[0][1].get("program"),
        "shard": _shard_row(shards),
        "first_only": sorted({id_ for _, m in matrices for id_ in _list(m, "first_only")}),
        "entries": [*entries.values()],
    }, shards


def shard_of(score: Score) -> MergedShards:
    """Return the shards of the program's mutants that a score is about; ``of`` is 0 if none."""
    match score.get("shard"):
        case {"number": int(number), "of": int(of), "mutants": int(mutants), **more}:
            numbers_of = more.get("numbers")
            numbers = numbers_of if isinstance(numbers_of, list) else [number]
            good = tuple(sorted({n for n in numbers if type(n) is int and 1 <= n <= of}))
            if good:
                return MergedShards(of, good, mutants, str(score.get("program", "")))
    return MergedShards()


def _shard_row(shards: MergedShards) -> dict[str, Any] | None:
    if not shards.missing:
        return None
    numbers = [*shards.numbers]
    row = {"number": numbers[0], "of": shards.of, "mutants": shards.mutants}
    return {**row, "numbers": numbers}


def _check_programs(scores: Sequence[tuple[str, Score]], shards: MergedShards) -> None:
    first_name, first = scores[0]
    for name, score in scores[1:]:
        if score.get("program") != first.get("program"):
            raise MergeError(
                f"{name}: is of another program than {first_name}, or of other settings of "
                "[engine]: its mutants are not the same"
            )
    if not shards.of and any(shard_of(score).of for _, score in scores):
        whole = next(name for name, score in scores if not shard_of(score).of)
        raise MergeError(f"{whole}: has all mutants, and others are shards; merge only the shards")


def _check_same(name: str, before: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    if (before.get("before"), before.get("after")) != (row.get("before"), row.get("after")):
        raise MergeError(f"{name}: its mutant {row['id'][:200]} is another one")


def _rank(row: Mapping[str, Any]) -> int:
    return STATES.index(row["state"])


def _reached(row: Mapping[str, Any] | None) -> bool:
    return row is not None and row.get("reached") is True


def _most(scores: Sequence[tuple[str, Score]]) -> int:
    return max(score_number(score, "static") for _, score in scores)


def score_number(score: Score, key: str) -> int:
    """A number of a score's JSON, which may come from anywhere; 0 if it is none."""
    number = score.get(key)
    return number if type(number) is int else 0


def _list(score: Score, key: str) -> list[str]:
    found = score.get(key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


# ------------------------------------------------------------------ kill matrices


def _merged_matrix(scores: Sequence[tuple[str, Score]]) -> dict[str, Any]:
    """Join kill matrices: the inputs by their hashes, the mutants by their ids.

    Raises :class:`MergeError` if one is damaged. Edges are those of the first matrix that has them:
    the cells of all must be the same.
    """
    mutants: list[str] = []
    index: dict[str, int] = {}
    rows: dict[str, dict[str, Any]] = {}
    first_only: dict[int, str] = {}
    cells = scores[0][1]["matrix"].get("cells")
    for name, score in scores:
        matrix = score["matrix"]
        try:
            if matrix["cells"] != cells:
                raise MergeError(f"{name}: its kill matrix is of another build of the program")
            numbers = []
            for id_ in map(str, matrix["mutants"]):
                if id_ not in index:
                    index[id_] = len(mutants)
                    mutants.append(id_)
                numbers.append(index[id_])
            for mutant, sha in matrix["first_only"]:
                if sha or numbers[mutant] not in first_only:
                    first_only[numbers[mutant]] = str(sha)
            for row in matrix["rows"]:
                _add_row(rows, row, numbers)
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            raise MergeError(f"{name}: its kill matrix is damaged ({type(e).__name__})") from None
    for row in rows.values():
        row["kills"] = {kind: sorted(found) for kind, found in row["kills"].items()}
        row["reached"], row["infected"] = f"{row['reached']:x}", f"{row['infected']:x}"
    return {
        "version": scores[0][1]["matrix"].get("version"),
        "digest": "merged",
        "mutants": mutants,
        "cells": cells,
        "first_only": sorted([mutant, sha] for mutant, sha in first_only.items()),
        "rows": [*rows.values()],
    }


def _add_row(
    rows: dict[str, dict[str, Any]], row: Mapping[str, Any], numbers: Sequence[int]
) -> None:
    known = rows.get(str(row["sha256"]))
    if known is None:
        known = rows[str(row["sha256"])] = {**row, "kills": {}, "reached": 0, "infected": 0}
    for kind, found in row["kills"].items():
        known["kills"].setdefault(kind, set()).update(numbers[n] for n in found)
    for mask in ("reached", "infected"):
        known[mask] |= _moved(int(str(row.get(mask, "0")), 16), numbers)


def _moved(mask: int, numbers: Sequence[int]) -> int:
    """Move bit n of a mask to bit ``numbers[n]``. Raises LookupError for a bit of no mutant."""
    found = 0
    while mask:
        low = mask & -mask
        found |= 1 << numbers[low.bit_length() - 1]
        mask ^= low
    return found
