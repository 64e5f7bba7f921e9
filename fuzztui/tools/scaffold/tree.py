"""The Python files of a project: modules, tests, and their syntax trees. Nothing is imported."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_if_regular

_MAX_FILES: Final = 4_000
_MAX_BYTES: Final = 1 << 20
_SKIPPED: Final = frozenset((
    "node_modules", "build", "dist", "doc", "docs", "example", "examples", "site-packages",
    "__pycache__", "runs", "scripts", "benchmark", "benchmarks",
))  # fmt: skip
TEST_FOLDERS: Final = frozenset(("test", "tests", "testing"))
_NO_MODULES: Final = frozenset(
    {"setup", "conftest", "noxfile", "tasks", "fabfile", "fuzztui_harness"}
)

_TOOLS: Final = ("pip", "setuptools", "fuzztui", "pytest", "py", "hypothesis", "mypy", "ruff")
"""Distributions that users install for the work on a project."""


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A file of a project with its syntax tree."""

    path: Path
    relative: str
    """The path below the project."""
    module: str
    """The name by which it is imported; "" for a test."""
    tree: ast.Module
    is_package: bool = False
    importable: str = ""
    """For a test in a package of tests: its module name, without which relative imports fail."""

    @property
    def is_test(self) -> bool:
        """Whether it is a test, or a helper of tests."""
        return not self.module

    def absolute(self, imported: ast.ImportFrom) -> str:
        """Return the full name of the module that an import names."""
        if not imported.level:
            return imported.module or ""
        parts = self.module.split(".")
        parts = parts[: len(parts) - imported.level + self.is_package]
        return ".".join(filter(None, [*parts, imported.module or ""]))


def source_root(project: Path) -> Path:
    """Return the directory from which the project's modules are imported."""
    source = project / "src"
    if (source / "__init__.py").is_file():
        return project
    patterns = ("*.py", "*/__init__.py", "*/*/__init__.py")  # the last: in a namespace
    return source if any(any(source.glob(pattern)) for pattern in patterns) else project


def python_files(project: Path) -> Iterator[PythonFile]:
    """Yield the modules and tests of a project; files that cannot be parsed are left out."""
    root = source_root(project)
    for path in _walk(project):
        relative = path.relative_to(project)
        is_test = bool(TEST_FOLDERS & set(relative.parts[:-1])) or _names_test(path.name)
        inside = root in path.parents
        if not is_test and (not inside or not _is_module(path, root)):
            continue
        if (tree := parsed(path)) is not None:
            module = "" if is_test else _module(path.relative_to(root))
            package = _test_package(path, project) if is_test else ""
            is_package = path.name == "__init__.py"
            yield PythonFile(path, str(relative), module, tree, is_package, package)


def _test_package(path: Path, project: Path) -> str:
    """Return the module name of a test if all folders above it are packages; else ""."""
    parts = path.relative_to(project).with_suffix("").parts
    folders = [project.joinpath(*parts[:n]) for n in range(1, len(parts))]
    fits = folders and all((folder / "__init__.py").is_file() for folder in folders)
    return ".".join(parts) if fits and all(map(str.isidentifier, parts)) else ""


def package_files(packages: Path, name: str) -> Iterator[PythonFile]:
    """Yield the modules of an installed package; ``packages``: where it is installed."""
    single = packages / f"{name}.py"
    paths = [single] if single.is_file() else list(_walk(packages / name))
    for path in paths:
        relative = path.relative_to(packages)
        if TEST_FOLDERS & set(relative.parts) or not _is_module(path, packages):
            continue
        if (tree := parsed(path)) is not None:
            yield PythonFile(path, str(path), _module(relative), tree, path.name == "__init__.py")


def requested_packages(packages: Path) -> list[str]:
    """Return the top-level modules of packages that a user installed by name, not dependencies."""
    names: list[str] = []
    for info in sorted(packages.glob("*.dist-info")):
        distribution = info.name.split("-")[0].lower()
        if not (info / "REQUESTED").exists() or distribution in _TOOLS:
            continue
        record = (read_if_regular(info / "RECORD", _MAX_BYTES) or b"").decode(errors="replace")
        tops = {line.split(",")[0].split("/")[0] for line in record.splitlines()}
        names += sorted(
            top.removesuffix(".py")
            for top in tops
            if top.removesuffix(".py").isidentifier() and not top.startswith("_")
        )
    return names


def _walk(top: Path) -> Iterator[Path]:
    found = 0
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if is_source_folder(here, name))
        for name in sorted(files):
            if name.endswith(".py"):
                yield here / name
                found += 1
                if found >= _MAX_FILES:
                    return


def is_source_folder(parent: Path, name: str) -> bool:
    """Whether a folder may have files of the project itself: not built, generated or installed."""
    return not (
        name.startswith(".")
        or name in _SKIPPED
        or name.endswith(".egg-info")
        or (parent / name / "pyvenv.cfg").exists()
    )


def _names_test(name: str) -> bool:
    return name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"


def _is_module(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).with_suffix("").parts
    if not all(part.isidentifier() for part in parts) or parts[0] in _NO_MODULES:
        return False
    if len(parts) == 1 and parts[0].startswith("fuzz_"):  # a harness, also one of fuzztui init
        return False
    if parts[-1] in ("__main__", "conftest"):
        return False
    # In a namespace only the inner folder is a package. Scripts are in a folder that is none.
    folders = (root / parts[0], path.parent)
    return len(parts) == 1 or any((folder / "__init__.py").is_file() for folder in folders)


def _module(relative: Path) -> str:
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(files: Iterable[PythonFile], module: str) -> str:
    """Return the package of a module: the top-level one, or the first one in a namespace."""
    packages = {file.module for file in files if file.is_package}
    parts = module.split(".")
    names = [".".join(parts[: n + 1]) for n in range(len(parts))]
    return next((name for name in names if name in packages), parts[0])


def imports_of(tree: ast.Module) -> set[str]:
    """Return the top-level names of the modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def parsed(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file; None if it has none."""
    text = read_if_regular(path, _MAX_BYTES)
    if text is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def name_of(node: ast.AST, none: str = "") -> str:
    """Return the last part of a name, ``c`` of ``a.b.c``; ``none`` for another expression."""
    return str(getattr(node, "attr", getattr(node, "id", none)))


def decorators_of(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """Return the names of the decorators, also of those that are called."""
    return {
        name_of(getattr(decorator, "func", decorator), "?") for decorator in node.decorator_list
    }


def written(node: ast.AST) -> str:
    """Return a part of a tree as source; "..." if it is nested too deeply for that."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."
