"""Convert recorded compiler calls to a recipe, whose steps can be repeated.

A recipe requires that all calls are understood. Otherwise (response files, ``-x``, objects of
unknown origin, a program linked twice) the user's command is run for each mutant.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui.base.files import read_regular

__all__ = [
    "Call",
    "CompileStep",
    "Recipe",
    "Unclear",
    "read_calls",
    "recipe_of",
    "same_steps",
    "sources_of",
]

MAX_CALLS = 20_000
_MAX_RECORD = 4 << 20

_SOURCES = frozenset(
    {".c", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CPP", ".i", ".ii", ".s", ".S", ".sx"}
)
_WITH_VALUE = frozenset(
    {"-o", "-x", "-I", "-L", "-l", "-D", "-U", "-B", "-T", "-u", "-z", "-e", "-h", "-include"}
    | {"-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefix", "-isysroot"}
    | {"-iwithprefixbefore", "-Xlinker", "-Xclang", "-Xassembler", "-Xpreprocessor", "-mllvm"}
    | {"-MF", "-MT", "-MQ", "-target", "-arch", "--param", "-aux-info", "-rpath", "-framework"}
)
_DEPENDENCIES = frozenset({"-MD", "-MMD", "-MP", "-MG"})
_DEPENDENCIES_WITH_VALUE = frozenset({"-MF", "-MT", "-MQ"})
_NO_OUTPUT = frozenset({"-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "--version"})
_LINKED_ONLY = ("-l", "-L", "-Wl,", "-shared", "-static", "-rdynamic", "-pie", "-no-pie", "-s")
_LINKED_ONLY_WITH_VALUE = frozenset({"-l", "-L", "-Xlinker", "-T", "-u", "-z", "-e", "-h"})
_NOT_ENVIRONMENT = frozenset({"PWD", "OLDPWD", "SHLVL", "_", "FUZZTUI_RUN", "FUZZTUI_INSTANCE"})


class Unclear(Exception):
    """The calls cannot be converted to a recipe; the message, for users, is the reason."""


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call of a compiler."""

    tool: str
    cwd: str
    args: tuple[str, ...]
    env: Mapping[str, str]

    def path(self, name: str) -> str:
        """Return the absolute path of a file that the call names."""
        return os.path.normpath(os.path.join(self.cwd, name))  # noqa: PTH118


@dataclass(frozen=True, slots=True)
class CompileStep:
    """One source that becomes one object: ``args`` and then ``-c source -o OBJECT``."""

    call: Call
    args: tuple[str, ...]
    source: str
    kept: str
    """The object file of the recorded build; "": a temporary file."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """``steps`` make the program's objects; numbers in ``link`` are indexes of these objects."""

    steps: tuple[CompileStep, ...]
    call: Call
    link: tuple[str | int, ...]
    others: tuple[CompileStep, ...]
    """Steps whose objects go elsewhere, perhaps indirectly (``ar``) into the program."""


@dataclass(slots=True)
class _Parsed:
    """A parsed call: indexes of its arguments."""

    mode: str = "link"
    """``compile``, ``link``, ``none`` (makes no object or program) or ``unclear``."""
    sources: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    output: str = ""
    shared: bool = False
    language: bool = False
    opaque: bool = False


def same_steps(one: Recipe, base: Path, other: Recipe, other_base: Path) -> bool:
    """Whether two recipes are equal except for the directories of their trees."""

    def told(recipe: Recipe, root: Path) -> list[object]:
        def plain(words: Iterable[str | int]) -> list[str | int]:
            return [w.replace(str(root), "") if isinstance(w, str) else w for w in words]

        return [
            plain([*recipe.link, recipe.call.cwd, recipe.call.tool]),
            *(
                [plain([*s.args, s.source, s.kept, s.call.cwd, s.call.tool]) for s in steps]
                for steps in (recipe.steps, recipe.others)
            ),
        ]

    return told(one, base) == told(other, other_base)


def read_calls(directory: Path) -> list[Call]:
    """Read the recorded calls, in their order. Raises OSError, :class:`Unclear`."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            found.append((status.st_mtime_ns, entry.name, status.st_size))
    if len(found) > MAX_CALLS:
        raise Unclear(f"target.build calls the compiler more than {MAX_CALLS:,} times")
    calls = []
    for _, name, size in sorted(found):
        if size > _MAX_RECORD:
            raise Unclear("a compiler call has megabytes of arguments")
        call = _call(read_regular(directory / name, _MAX_RECORD))
        calls += [call] if call else []
    return calls


def _call(record: bytes) -> Call | None:
    """Parse a record; None if it is incomplete."""
    words = [word.decode(errors="surrogateescape") for word in record.split(b"\0")]
    if len(words) < 4 or not words[2].isdecimal() or words[-1]:
        return None
    end = 3 + int(words[2])
    pairs = (word.partition("=") for word in words[end:-1])
    env = {key: value for key, _, value in pairs if key and key not in _NOT_ENVIRONMENT}
    return Call(words[0], words[1], tuple(words[3:end]), env) if env else None


def sources_of(calls: Sequence[Call]) -> set[str]:
    """Return the absolute paths of all sources that compilers were called with."""
    return {call.path(call.args[i]) for call in calls for i in _parse(call.args).sources}


def recipe_of(calls: Sequence[Call], program: Path, tree: Path) -> Recipe:
    """Return the recipe of ``program``, which was built below ``tree``. Raises :class:`Unclear`."""
    parsed = [(call, _parse(call.args)) for call in calls]
    if any(p.opaque for _, p in parsed):
        raise Unclear("a compiler call has its arguments in a file (@)")
    links = [(c, p) for c, p in parsed if p.mode == "link" and c.path(p.output) == str(program)]
    if not links:
        raise Unclear("no recorded compiler call makes the program itself")
    if len({(c.cwd, c.args) for c, _ in links}) > 1:
        raise Unclear("the program is linked more than once, in different ways")
    call, link = links[-1]
    if link.language or link.shared:
        raise Unclear("the program is linked with -x or -shared")
    objects = _objects(parsed)
    steps: list[CompileStep] = []
    places: dict[int, int] = {}
    for i in link.inputs:
        name = call.path(call.args[i])
        if name in objects:
            step = objects[name]
            if step is None:
                raise Unclear(f"{Path(name).name} is made by more than one compiler call")
        elif i in link.sources:
            step = CompileStep(call, tuple(_for_compiling(call.args, link)), call.args[i], "")
        elif Path(name).suffix in (".o", ".obj", ".lo") and Path(name).is_relative_to(tree):
            raise Unclear(f"{Path(name).name} is made by no recorded compiler call")
        else:
            continue  # an archive, a library, a system object
        places[i] = len(steps)
        steps.append(step)
    if not steps:
        raise Unclear("the program is linked from libraries only")
    return Recipe(
        tuple(steps), call, tuple(_for_linking(call.args, places)), _others(parsed, steps)
    )


def _objects(parsed: Sequence[tuple[Call, _Parsed]]) -> dict[str, CompileStep | None]:
    """Return the steps with ``-c`` by object path; None if two different calls make the object."""
    found: dict[str, CompileStep | None] = {}
    for call, parts in parsed:
        if parts.mode != "compile":
            continue
        for step in _compiled(call, parts):
            before = found.get(step.kept, step)
            same = before and (before.call.args, before.call.cwd) == (call.args, call.cwd)
            found[step.kept] = step if same else None
    return found


def _compiled(call: Call, parts: _Parsed) -> Iterator[CompileStep]:
    args = tuple(_for_compiling(call.args, parts))
    for i in parts.sources:
        name = call.args[i]
        yield CompileStep(call, args, name, call.path(parts.output or f"{Path(name).stem}.o"))


def _others(
    parsed: Sequence[tuple[Call, _Parsed]], steps: Sequence[CompileStep]
) -> tuple[CompileStep, ...]:
    """Return steps whose objects still exist, except those of other programs only."""
    ours = {step.kept for step in steps}
    elsewhere = {
        call.path(call.args[i])
        for call, parts in parsed
        if parts.mode == "link" and not parts.shared
        for i in parts.inputs
    }
    found: dict[str, CompileStep] = {}
    for call, parts in parsed:
        if parts.mode == "compile":
            for step in _compiled(call, parts):
                if step.kept not in ours | elsewhere and Path(step.kept).exists():
                    found[step.kept] = step
        elif parts.mode == "link" and parts.shared and Path(call.path(parts.output)).exists():
            args = tuple(_for_compiling(call.args, parts))
            for i in parts.inputs:
                name = call.path(call.args[i])
                if i in parts.sources:
                    found[name] = CompileStep(call, args, call.args[i], "")
                elif name in ours:
                    raise Unclear(f"{Path(name).name} is in a shared library too")
        elif parts.mode == "unclear" and Path(call.path(parts.output or "a.out")).exists():
            raise Unclear("a compiler call has -x, -save-temps or its source on standard input")
    return tuple(found.values())


def _parse(args: Sequence[str]) -> _Parsed:
    parts = _Parsed()
    i = 0
    while i < len(args):
        word = args[i]
        value = args[i + 1] if word in _WITH_VALUE and i + 1 < len(args) else ""
        if word.startswith("@"):
            parts.opaque = True
        elif word == "-" or word.startswith("-save-temps"):
            parts.mode = "unclear" if parts.mode != "none" else "none"
        elif word in _NO_OUTPUT:
            parts.mode = "none"
        elif word == "-c" and parts.mode == "link":
            parts.mode = "compile"
        elif word == "-o":
            parts.output = value
        elif word.startswith("-o") and len(word) > 2 and not value:
            parts.output = word[2:]
        elif word.startswith("-x"):
            parts.language = True
        elif word in ("-shared", "-r", "--shared"):
            parts.shared = True
        elif not word.startswith("-"):
            parts.inputs.append(i)
            if Path(word).suffix in _SOURCES:
                parts.sources.append(i)
        i += 2 if word in _WITH_VALUE else 1
    if parts.mode == "link":
        parts.output = parts.output or "a.out"
        if not parts.inputs:
            parts.mode = "none"
    elif parts.mode == "compile" and (parts.language or len(parts.sources) != len(parts.inputs)):
        parts.mode = "unclear"
    return parts


def _for_compiling(args: Sequence[str], parts: _Parsed) -> Iterator[str]:
    """Yield the arguments without files, linker options and dependency options."""
    i = 0
    linking = parts.mode == "link"
    while i < len(args):
        word, size = args[i], 2 if args[i] in _WITH_VALUE else 1
        left_out = (
            i in parts.inputs
            or word in ("-c", *_DEPENDENCIES, *_DEPENDENCIES_WITH_VALUE)
            or word.startswith(("-o", "-Wp,-M"))
            or (linking and (word in _LINKED_ONLY_WITH_VALUE or _is_linkers(word)))
        )
        if not left_out:
            yield from args[i : i + size]
        i += size


def _for_linking(args: Sequence[str], places: Mapping[int, int]) -> Iterator[str | int]:
    i = 0
    while i < len(args):
        word, size = args[i], 2 if args[i] in _WITH_VALUE else 1
        if i in places:
            yield places[i]
        elif not (
            word in _DEPENDENCIES
            or word in _DEPENDENCIES_WITH_VALUE
            or word.startswith(("-o", "-Wp,-M"))
        ):
            yield from args[i : i + size]
        i += size


def _is_linkers(word: str) -> bool:
    return word in _LINKED_ONLY or word.startswith(("-l", "-L", "-Wl,"))
