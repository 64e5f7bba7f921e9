"""Line coverage as LCOV, Cobertura XML and JSON, which the usual tools read."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from fuzztui import __version__
from fuzztui.features.source.executed import Coverage, FileCoverage
from fuzztui.features.source.functions import frontier
from fuzztui.kernel.base import versions
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
        called = [(int(f.entered) if f.calls < 0 else f.calls, f) for f in file.functions]
        lines += [f"FN:{f.first},{visible(f.name)}" for _, f in called]
        lines += [f"FNDA:{calls},{visible(f.name)}" for calls, f in called]
        if called:
            lines += [f"FNF:{len(called)}", f"FNH:{sum(f.entered for _, f in called)}"]
        for (line, number), taken in sorted(file.branches.items()):
            lines.append(f"BRDA:{line},0,{number},{taken if line in file.executed else '-'}")
        if file.branches:
            lines += [f"BRF:{len(file.branches)}", f"BRH:{_taken(file)}"]
        lines += [f"DA:{n},{file.hit(n)}" for n in sorted(file.statements)]
        lines += [f"LF:{len(file.statements)}", f"LH:{len(file.executed)}", "end_of_record"]
    return "\n".join(lines) + "\n"


def _cobertura(coverage: Coverage) -> str:
    total = coverage.total
    top = ET.Element("coverage", _rates(total) | {
        "lines-valid": str(len(total.statements)), "lines-covered": str(len(total.executed)),
        "branches-covered": str(_taken(total)), "branches-valid": str(len(total.branches)),
        "complexity": "0",
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
            arms: dict[int, list[int]] = {}
            for (line, _), taken in file.branches.items():
                arms.setdefault(line, []).append(taken)
            for n in sorted(file.statements):
                row = {"number": str(n), "hits": str(file.hit(n))}
                if every := arms.get(n):
                    hit = sum(taken > 0 for taken in every)
                    share = f"{hit / len(every):.0%} ({hit}/{len(every)})"
                    row |= {"branch": "true", "condition-coverage": share}
                ET.SubElement(lines, "line", row)
    ET.indent(top)
    head = '<?xml version="1.0" ?>\n<!DOCTYPE coverage SYSTEM '
    head += "'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>\n"
    return head + ET.tostring(top, encoding="unicode") + "\n"


def _rates(file: FileCoverage) -> dict[str, str]:
    share = _taken(file) / len(file.branches) if file.branches else 0
    return {"line-rate": f"{file.percent / 100:.4g}", "branch-rate": f"{share:.4g}"}


def _taken(file: FileCoverage) -> int:
    return sum(taken > 0 for taken in file.branches.values())


def _json(coverage: Coverage) -> str:
    data: dict[str, Any] = {
        "fuzztui": __version__,
        "files": {
            file.name: {
                "executed_lines": sorted(file.executed),
                "missing_lines": file.missing,
                "hits": {str(n): count for n, count in sorted(file.hits.items())},
                "branches": [[*key, taken] for key, taken in sorted(file.branches.items())],
                "functions": [
                    {**asdict(f), "calls": f.calls if f.calls >= 0 else None, "entered": f.entered}
                    for f in file.functions
                ],
                "summary": _summary(file),
            }
            for file in coverage.files
        },
        "frontier": [asdict(row) for row in frontier(coverage)],
        "totals": _summary(coverage.total),
    }
    if coverage.growth:
        data["over_time"] = [[g.t, g.entry, g.lines] for g in coverage.growth]
    return json.dumps(versions.versioned("coverage", data), indent=1) + "\n"


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
