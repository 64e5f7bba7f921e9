"""Line coverage as LCOV, Cobertura XML and JSON, which the usual tools read."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fuzztui import __version__
from fuzztui.features.source.executed import Coverage, FileCoverage
from fuzztui.kernel.base.text import visible

FORMATS: Final = ("lcov", "cobertura", "json")


def formatted(coverage: Coverage, format_: str, *, absolute: bool = False) -> str:
    """Return the text of a report in one of :data:`FORMATS`.

    ``absolute``: whether the report contains the absolute path of the root, and absolute paths of
    files that are in the user's home but not below the root.
    """
    if not absolute:
        files = [replace(file, name=_near(file.name, coverage.root)) for file in coverage.files]
        coverage = replace(coverage, files=files, root=Path(os.path.relpath(coverage.root)))
    return {"lcov": _lcov, "cobertura": _cobertura, "json": _json}[format_](coverage)


def _near(name: str, root: Path) -> str:
    path = Path(name)
    in_home = path.is_absolute() and path.is_relative_to(os.path.expanduser("~"))  # noqa: PTH111
    return os.path.relpath(name, root) if in_home else name


def _lcov(coverage: Coverage) -> str:
    lines = []
    for file in coverage.files:
        # A newline in a name would end the record.
        lines += ["TN:fuzztui", f"SF:{visible(file.name)}"]
        lines += [f"DA:{n},{int(n in file.executed)}" for n in sorted(file.statements)]
        lines += [f"LF:{len(file.statements)}", f"LH:{len(file.executed)}", "end_of_record"]
    return "\n".join(lines) + "\n"


def _cobertura(coverage: Coverage) -> str:
    total = coverage.total
    top = ET.Element("coverage", _rates(total) | {
        "lines-valid": str(len(total.statements)), "lines-covered": str(len(total.executed)),
        "branches-covered": "0", "branches-valid": "0", "complexity": "0",
        "version": f"fuzztui {__version__}", "timestamp": "0",
    })  # fmt: skip
    ET.SubElement(ET.SubElement(top, "sources"), "source").text = visible(str(coverage.root))
    packages = ET.SubElement(top, "packages")
    by_folder: dict[str, list[FileCoverage]] = {}
    for file in coverage.files:
        by_folder.setdefault(str(Path(file.name).parent), []).append(file)
    for folder, files in by_folder.items():
        name = folder.strip("/.").replace("/", ".") or "."
        whole = Coverage(files, coverage.root).total
        package = ET.SubElement(
            packages, "package", {"name": visible(name), **_rates(whole), "complexity": "0"}
        )
        classes = ET.SubElement(package, "classes")
        for file in files:
            names = {"name": visible(Path(file.name).name), "filename": visible(file.name)}
            one = ET.SubElement(classes, "class", {**names, **_rates(file), "complexity": "0"})
            ET.SubElement(one, "methods")
            lines = ET.SubElement(one, "lines")
            for n in sorted(file.statements):
                ET.SubElement(
                    lines, "line", {"number": str(n), "hits": str(int(n in file.executed))}
                )
    ET.indent(top)
    head = '<?xml version="1.0" ?>\n<!DOCTYPE coverage SYSTEM '
    head += "'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>\n"
    return head + ET.tostring(top, encoding="unicode") + "\n"


def _rates(file: FileCoverage) -> dict[str, str]:
    return {"line-rate": f"{file.percent / 100:.4g}", "branch-rate": "0"}


def _json(coverage: Coverage) -> str:
    data: dict[str, Any] = {
        "fuzztui": __version__,
        "files": {
            file.name: {
                "executed_lines": sorted(file.executed),
                "missing_lines": file.missing,
                "summary": _summary(file),
            }
            for file in coverage.files
        },
        "totals": _summary(coverage.total),
    }
    if coverage.growth:
        data["over_time"] = [[g.t, g.entry, g.lines] for g in coverage.growth]
    return json.dumps(data, indent=1) + "\n"


def _summary(file: FileCoverage) -> dict[str, Any]:
    return {
        "covered_lines": len(file.executed),
        "num_statements": len(file.statements),
        "percent_covered": file.percent,
        "missing_lines": len(file.missing),
    }


def ranges(lines: Sequence[int], statements: frozenset[int]) -> str:
    """Format missing lines: ``3-7, 12``. A range has no executed statement in it."""
    found: list[list[int]] = []
    order = {n: at for at, n in enumerate(sorted(statements))}
    for n in lines:
        if found and order[found[-1][1]] + 1 == order[n]:
            found[-1][1] = n
        else:
            found.append([n, n])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in found)
