"""Generators of CSV, JSON and XML documents."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from fuzztui.engines.generators.scope import generator
from fuzztui.engines.generators.text import ERRONEOUS, gen_number, gen_text, gen_word, mistake
from fuzztui.engines.inputs.source import Source

Cell = Callable[[Source], str]
"""A generator of one cell of a table."""


class Csv(str):
    """A CSV table; a separate type, so that mutations can be directed at it."""

    __slots__ = ()


class Json(str):
    """A JSON document."""

    __slots__ = ()


class Xml(str):
    """An XML document."""

    __slots__ = ()


def _spoilt(r: Source, text: str) -> str:
    """The text with a piece removed, doubled or replaced."""
    at = r.below(len(text) + 1)
    end = min(len(text), at + r.integer(1, 4))
    return text[:at] + r.choose(["", text[at:end] * 2, "\0", '"', "<", ",", "\ufffd"]) + text[end:]


@generator
def gen_csv(
    r: Source,
    *,
    columns: Sequence[str] | Mapping[str, Cell] = (),
    cell: Cell | None = None,
    rows: int = 8,
    erroneous: float = ERRONEOUS,
) -> Csv:
    """A table of up to ``rows`` rows below a header of ``columns`` (default: random names).

    ``cell`` makes the cells (default: words and numbers); if ``columns`` is a mapping, its values
    make the cells of each column. A mistake: a cell of another kind, a short row, damaged text.
    """
    cell = cell or _cell
    if isinstance(columns, Mapping):
        head, cells = list(columns), list(columns.values())
    else:
        head = list(columns) or [gen_word(r) for _ in r.more(1, 6)]
        cells = [cell] * len(head)
    out = io.StringIO()
    writer = csv.writer(out, r.choose(["unix", "excel"]))
    writer.writerow(head)
    for _ in r.more(0, rows, continues=0.85):
        writer.writerow(_row(r, cells, erroneous))
    text = out.getvalue()
    return Csv(_spoilt(r, text) if mistake(r, erroneous) else text)


@generator
def _row(r: Source, cells: Sequence[Cell], erroneous: float) -> list[str]:
    row = [_cell(r) if mistake(r, erroneous) else cell(r) for cell in cells]
    return row[: r.below(len(row) + 1)] if mistake(r, erroneous) else row


@generator
def _cell(r: Source) -> str:
    return gen_number(r) if r.boolean() else gen_text(r, most=3)


@generator
def gen_value(r: Source, *, depth: int = 3) -> Any:
    """A JSON value with lists and objects nested at most ``depth`` deep."""
    kind = r.below(8 if depth > 0 else 6)
    if kind < 2:
        return gen_text(r, most=3)
    if kind == 2:
        return r.integer(-1000, 1000)
    if kind == 3:
        return round(r.real(-1000, 1000), r.below(4))
    if kind < 6:
        return r.choose([None, True, False])
    if kind == 6:
        return [gen_value(r, depth=depth - 1) for _ in r.more(0, 6)]
    return {gen_word(r): gen_value(r, depth=depth - 1) for _ in r.more(0, 6)}


@generator
def gen_json(
    r: Source,
    *,
    value: Callable[[Source], Any] = gen_value,
    erroneous: float = ERRONEOUS,
) -> Json:
    """A JSON document with a value from ``value``."""
    text = json.dumps(value(r), ensure_ascii=r.boolean(), indent=r.choose([None, 1]))
    return Json(_spoilt(r, text) if mistake(r, erroneous) else text)


@generator
def gen_xml(
    r: Source, *, names: Sequence[str] = (), depth: int = 4, erroneous: float = ERRONEOUS
) -> Xml:
    """An XML document whose elements have these ``names`` (default: random names)."""
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' if r.boolean() else ""
    text += _element(r, names, depth)
    return Xml(_spoilt(r, text) if mistake(r, erroneous) else text)


@generator
def _element(r: Source, names: Sequence[str], depth: int) -> str:
    name = r.choose(names) if names else "x" + gen_word(r, high=5)
    attributes = {f"a{gen_word(r, high=3)}": gen_text(r, most=2, erroneous=0) for _ in r.more(0, 3)}
    head = name + "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    if r.below(4) == 0:
        return f"<{head}/>"
    inner = ""
    for _ in r.more(0, 5, continues=0.6):
        if depth > 1 and r.boolean():
            inner += _element(r, names, depth - 1)
        else:
            inner += r.weighted([(12, escape(gen_text(r, erroneous=0))), (1, "<!-- x -->"),
                                 (1, "<![CDATA[<&]]>"), (1, "&amp;")])  # fmt: skip
    return f"<{head}>{inner}</{name}>"
