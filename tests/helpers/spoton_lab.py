"""What the tests of spoton's parts share: a small application, its generators, and a bench."""

from __future__ import annotations

import ast
import datetime
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzztui.engines.generators import generator
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.engines.spoton.form import TypedInput


class Image:
    """Pixels."""

    def __init__(self, pixels: list[int]) -> None:
        self.pixels = pixels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and self.pixels == other.pixels

    __hash__ = None  # type: ignore[assignment]


@dataclass
class File:
    name: str
    image: Image
    created: datetime.date
    tags: list[str]
    modified: datetime.date
    inner: File | None = None


@generator
def gen_day(r: Source) -> datetime.date:
    return datetime.date(r.integer(1970, 2040), r.integer(1, 12), r.integer(1, 28))


@generator(Image)
def gen_pixels_of(r: Source) -> Image:
    return Image([r.below(256) for _ in r.more(0, 12)])


@generator
def gen_tags(r: Source) -> Iterator[str]:
    for _ in r.more(0, 4):
        yield r.text("xyz", 0, 3)


@generator
def gen_file(r: Source, depth: int = 2) -> File:
    name = r.text("abcdef", 1, 8)
    image = gen_pixels_of(r)
    created = gen_day(r)
    tags = [tag for tag in gen_tags(r) if r.boolean()]  # drawn between the steps
    inner = gen_file(r, depth - 1) if depth and r.below(3) == 0 else None
    return File(name, image, created, tags, gen_day(r), inner)


class Bench:
    """A form, and children of what it made."""

    def __init__(
        self,
        make: Callable[[Source], Any] = gen_file,
        magic: ConstantPool | None = None,
        seed: int = 1,
    ) -> None:
        self.rng = random.Random(seed)
        self.make = make
        self.form = TypedInput(make, 10240, self.rng.randbytes, None, magic)
        self.told: list[bytes] = []
        self.form.on_drawn = self.told.append

    def fresh(self) -> tuple[bytes, Any]:
        value = self.form.build(b"")
        return self.form.used(b""), value

    def child(self, data: bytes, parent: Any) -> tuple[bytes, Any]:
        made = bytes(bytearray(data))
        self.form.expect(made, parent)
        value = self.form.build(made)
        return self.form.used(made), value


def document(
    module: str, source: str, types: dict[int, dict[str, int]], **more: Any
) -> dict[str, Any]:
    """A ``targets.json``: ``types`` by the line of the decision. Every arm there is a target."""
    import ast

    instrumenter = Instrumenter(0)
    instrumenter.visit(ast.parse(source))
    targets = []
    lines = {line: number for number, line in enumerate(sorted(types))}
    decided = _decided(source)
    for cell, edge in enumerate(instrumenter.edges):
        line = decided.get((edge.line, edge.kind))
        if line not in lines:
            continue
        targets.append({
            "location": f"{module}.py:{line}:{edge.kind}", "module": module, "line": line,
            "column": 0, "function": edge.qualname, "arm": edge.kind, "decision": lines[line],
            "cells": [cell], "within": [], "reachable": True,
            "types": [{"name": n, "distance": d} for n, d in types[line].items()],
        })  # fmt: skip
    sha = hashlib.sha256(source.encode()).hexdigest()[:16]
    return {
        "version": 1, "application": [module], "python": "3.11",
        "modules": [{"name": module, "file": f"/{module}.py", "sha": sha}],
        "targets": targets, "types": [], "constants": {}, "notes": [], **more,
    }  # fmt: skip


def _decided(source: str) -> dict[tuple[int, str], int]:
    """The line of an `if` by where its arms are probed."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If):
            found[node.body[0].lineno, "then"] = node.lineno
            other = node.orelse[0].lineno if node.orelse else node.test.lineno
            found[other, "else"] = node.lineno
    return found


def write_document(file: Path, data: dict[str, Any]) -> Path:
    file.write_text(json.dumps(data))
    return file
