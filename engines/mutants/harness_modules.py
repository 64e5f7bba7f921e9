"""Which loaded modules are the harness: they refer to the application, and are not part of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.references import is_file, split_reference
from fuzztui.engines.instrument.target import is_for_pytest
from fuzztui.kernel.wire.frames import is_installed


def harness_modules(target: TargetSpec) -> list[str]:
    """The names of the modules of harness files; of a suite, of all in the tests' directories."""
    references = [*(target.suite or [target.function]), target.generator]
    files = {str(Path(r.rpartition(":")[0] or r)) for r in references if ".py" in r}
    folders = [*_folders(target)]
    above = {parent for folder in folders for parent in folder.parents}
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name.partition(".")[0] == "fuzztui":
            continue
        path = Path(file)
        if (
            file in files
            or (folders and _is_within(path, folders))
            or (path.name == "conftest.py" and path.parent in above)
        ):
            found.append(name)
    return found


def _folders(target: TargetSpec) -> Iterator[Path]:
    for part in target.suite:
        if is_for_pytest(part):
            path = Path(part.partition("::")[0])
            yield path if path.is_dir() else path.parent
        elif is_file(split_reference(part, "")[0]):
            yield Path(part.rpartition(":")[0] or part).parent


def _is_within(path: Path, folders: list[Path]) -> bool:
    return any(map(path.is_relative_to, folders)) and not is_installed(str(path))


def is_test_file(file: str) -> bool:
    """Whether a module of the application is a test, by its file: tests are not mutated."""
    path = Path(file)
    name = path.stem
    return name.startswith("test_") or name.endswith("_test") or name == "conftest"
