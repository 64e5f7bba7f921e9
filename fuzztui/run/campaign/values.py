"""Check one value of a campaign file against its key, and make its paths absolute."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import stat
import tomllib
import warnings
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.clock import FIXED, moment_of
from fuzztui.engines.keys import OPERATORS, Key, ValueCheck, ValueType
from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.base.shards import SHARD_HELP, SHARD_PATTERN, parse_shard
from fuzztui.kernel.base.suggest import near
from fuzztui.kernel.base.units import (
    BUDGET_HELP,
    BUDGET_PATTERN,
    DURATION_HELP,
    DURATION_PATTERN,
    SIZE_HELP,
    SIZE_PATTERN,
    parse_budget,
    parse_duration,
    parse_size,
)
from fuzztui.kernel.model.passive import ADDED, OURS
from fuzztui.kernel.wire.commands import MAX_WEIGHT, weight_problem

_LISTS = ("strings", "names", "operators", "paths", "files", "directories", "arguments", "seeds")
_MANY = 20
_FEW = 12
BUILD = "$BUILD/"
"""Prefix of a path in the directory where ``target.build`` is run, written like a variable."""
SOURCE = "$SOURCE/"
"""Prefix of a path in ``target.source``."""

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""

_MODULE_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def check(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    """Check a value whose relative paths are relative to ``base``; return ``(frozen, resolved)``.

    ``frozen`` is the value for the run's frozen copy (units as written), ``resolved`` the value
    as fuzztui uses it (seconds, bytes, absolute paths). Raises ValueError, with a message for the
    user, and OSError.
    """
    if key.choices:
        if value not in key.choices or not isinstance(value, str):
            allowed = ", ".join(f'"{c}"' for c in key.choices)
            hint = nearest(key.aliases.get(str(value).lower(), str(value)), key.choices)
            without = f" ({key.without})" if key.without else ""
            raise ValueError(f"{value!r} is not one of {allowed}{hint}{without}")
        return value, value
    if unwritable := next((text for text in _texts(value) if not _writable(text)), None):
        raise ValueError(f"{unwritable!r} contains a NUL or bytes that are not UTF-8")
    if key.type in _LISTS and isinstance(value, str):
        value = [value]
    try:
        return type_of(key).check(key, value, base)
    except ValueError as e:
        if meant := _unquoted(key, value, base):
            raise ValueError(f"{value!r} is a string; write {meant} without quotes") from None
        raise e from None


def _unquoted(key: Key, value: Any, base: Path) -> str:
    """The value in a string, such as "4" or "true", if it is valid without quotes; else ""."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if key.type not in ("integer", "boolean", "part") or not _SCALAR.fullmatch(word):
        return ""
    with contextlib.suppress(ValueError):
        type_of(key).check(key, tomllib.loads(f"value = {word}")["value"], base)
        return word
    return ""


_SCALAR = re.compile(r"true|false|[0-9]{1,18}(\.[0-9]{1,18})?")


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Return the end of a message that suggests the most similar name; empty if none is similar."""
    close = near(name, allowed)
    letters = "" if name.isascii() else f" (it has other letters: {name!a})"
    return f', did you mean "{close[0]}"{letters}?' if close else ""


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in _texts(item)]
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def _writable(text: str) -> bool:
    """Whether a text can be used in a path, an environment variable and the frozen copy."""
    try:
        text.encode()  # a byte of the command line that is not UTF-8 is a lone surrogate
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def wrong(key: Key, value: Any) -> ValueError:
    """Return the error for a value that is not of the key's type."""
    return ValueError(f"{value!r} is not {type_of(key).help}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _as_written(good: Callable[[Any], bool]) -> ValueCheck:
    """Return a check that accepts values for which ``good`` is true, and returns them unchanged."""

    def check_value(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
        if not good(value):
            raise wrong(key, value)
        return value, value

    return check_value


_string = _as_written(_is_text)


def check_strings(key: Key, value: Any) -> None:
    """Raise ValueError if the value is not a list of strings, none of them empty."""
    if not isinstance(value, list) or not all(map(_is_text, value)):
        raise wrong(key, value)


def _strings(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    check_strings(key, value)
    return value, value


def _integer(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(key, value)
    _in_range(key, value)
    return value, value


def _in_range(key: Key, value: int) -> None:
    if key.minimum is not None and value < key.minimum:
        raise ValueError(f"{value} is too small; the minimum is {key.minimum}")
    most = LARGEST if key.maximum is None else key.maximum
    if value > most:
        shown = value if value <= LARGEST else "the number"  # may have thousands of digits
        raise ValueError(f"{shown} is too large; the maximum is {most}")


def _operators(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    _strings(key, value, base)
    check_known(value, OPERATORS, "mutation operator")
    if not value:
        raise ValueError("is empty, so there would be no mutants; leave it out for the default")
    return value, value


def check_known(names: list[str], allowed: tuple[str, ...], what: str) -> None:
    """Raise ValueError for a name that is not allowed. ``what``: what the names stand for."""
    for name in names:
        if name not in allowed:
            few = len(allowed) < _MANY
            known = (
                f"choose from {', '.join(allowed)}" if few else "fuzztui mutate --list lists all"
            )
            raise ValueError(f"{name!r} is not a {what}{nearest(name, allowed)}; {known}")


def _pattern(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    _string(key, value, base)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            found = re.compile(value).search("")
    except FutureWarning as e:
        advice = "put \\ before a literal bracket; Python does not support [:alpha:]"
        raise ValueError(f"{value!r} is ambiguous: {str(e).lower()}; {advice}") from None
    except (re.error, RecursionError, OverflowError) as e:
        raise ValueError(f"{value!r} is not a regular expression: {e}") from None
    if found is not None:
        raise ValueError(f"{value!r} matches every message, even an empty one")
    return value, value


def _table(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise wrong(key, value)
    if nameless := [name for name in value if not name or "=" in name]:
        raise ValueError(f"{nameless[0]!r} is not a name for an environment variable")
    return value, value


def _settings(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, dict):
        raise wrong(key, value)
    for item in value.values():
        if isinstance(item, list):
            check_strings(key, item)
        elif not isinstance(item, str | int) or isinstance(item, bool):
            raise wrong(key, value)
    return value, value


def _aliases(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, dict):
        raise wrong(key, value)
    for names in value.values():
        if not isinstance(names, str):
            _strings(key, names, base)
    return value, value


def _path(value: Any, base: Path, what: str, good: Callable[[Path], bool]) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not a path")
    path = absolute(value, base)
    if not path.exists():
        raise ValueError(f"{value!r}: {path} does not exist")
    if not good(path):
        raise ValueError(f"{value!r}: {path} is not {what}")
    return str(path)


def _is_regular_or_directory(path: Path) -> bool:
    # Opening a FIFO among the seeds would block forever.
    mode = path.stat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


_FILE = ("a file", Path.is_file)
_DIRECTORY = ("a directory", Path.is_dir)
_EITHER = ("a file or a directory", _is_regular_or_directory)


def _one_path(what: str, good: Callable[[Path], bool]) -> ValueCheck:
    def check_path(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
        path = _path(value, base, what, good)
        return path, path

    return check_path


def _many_paths(
    what: str, good: Callable[[Path], bool], *, or_in_build: bool = False
) -> ValueCheck:
    def check_paths(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
        if not isinstance(value, list):
            raise wrong(key, value)
        paths = [v if or_in_build and in_build(v) else _path(v, base, what, good) for v in value]
        return paths, paths

    return check_paths


def in_build(value: Any) -> bool:
    """Whether the value is a path below the directory where ``target.build`` is run."""
    return isinstance(value, str) and value.startswith(BUILD)


def _made(what: str, good: Callable[[Path], bool]) -> ValueCheck:
    """Return the check of a path that fuzztui creates: nothing is there, or something ``good``."""

    def check_path(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
        path = absolute(_string(key, value, base)[0], base)
        if path.exists() and not good(path):
            raise ValueError(f"{value!r}: {path} exists and is not {what}")
        return str(path), str(path)

    return check_path


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST_COMMAND = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


def _host_path(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, str) or not value.startswith(("/", "~/")) or _CONTROL.search(value):
        raise wrong(key, value)
    if ".." in Path(value).parts or len(Path(value).parts) < 2:
        raise ValueError(f"{value!r}: write the path of a directory, without ..")
    return value, value


def _host_python(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if isinstance(value, str) and _HOST_COMMAND.fullmatch(value):
        return value, value
    return _host_path(key, value, base)


def _callable(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, str):
        raise wrong(key, value)
    file, colon, function = value.partition(":")
    if file.endswith(".py"):
        path = _path(file, base, *_FILE)
        if colon and not function.replace(".", "_").isidentifier():
            raise ValueError(f"{value!r}: {function!r} is not the name of a function")
        _has_name(Path(path), function.partition(".")[0])
        value = path + colon + function
    elif not _MODULE_FUNCTION.fullmatch(value):
        raise wrong(key, value)
    return value, value


def _targets(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    """A function, or the parts of a suite: functions, files, directories and pytest's node ids."""
    if isinstance(value, str) and not is_suite(value, base):
        return _callable(key, value, base)
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts:
        raise wrong(key, value)
    found = []
    for part in parts:
        if not isinstance(part, str) or not part:
            raise wrong(key, value)
        name, colons, node = part.partition("::")
        if colons or ":" not in part:
            found.append(_path(name, base, "a file or directory", _is_regular_or_directory))
            found[-1] += colons + node
        else:
            found.append(_callable(key, part, base)[0])
    return found, found


def is_suite(value: str, base: Path) -> bool:
    """Whether a single target is for pytest: a directory, or a node id with ``::``."""
    return "::" in value or (":" not in value and absolute(value, base).is_dir())


_MAKES_NAMES = re.compile(r"import \*|__getattr__|\b(?:exec|eval|globals|setattr|vars)\b")


def _has_name(path: Path, name: str) -> None:
    """Raise ValueError if a module cannot define ``name``: its text does not contain the name."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return
    if name and not re.search(rf"\b{name}\b", text) and not _MAKES_NAMES.search(text):
        defined = re.findall(r"^(?:async )?(?:def|class) (\w+)", text, re.MULTILINE)
        known = ", ".join(sorted(defined)[:_FEW]) or "nothing"
        hint = nearest(name, defined) or f"; the file defines {known}"
        raise ValueError(f"{name!r} is not defined in {path}{hint}")


def _python(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, str) or not value:
        raise wrong(key, value)
    if "/" in value:
        path = absolute(value, base)
        if not os.access(path, os.X_OK) or path.is_dir():
            raise ValueError(f"{value!r}: {path} is not an executable interpreter")
        return str(path), str(path)
    found = found_on_path(value)
    return found, found


def _command(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as e:
            raise ValueError(f"{value!r} cannot be split into words: {e}") from None
    good = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    if not good or not value[0]:
        raise wrong(key, value)
    return value, value


_RESERVED = {
    "-i": "fuzztui sets the seeds; use engine.seeds",
    "-o": "fuzztui sets the output directory; use campaign.output",
    "-M": "fuzztui names the instances",
    "-S": "fuzztui names the instances",
    "--": "put the target's arguments into target.command",
}
"""Options of afl-fuzz that users may not give, and what to do instead."""


def _arguments(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    _strings(key, value, base)
    for word in value:
        if why := _RESERVED.get(word if word.startswith("--") else word[:2]):
            raise ValueError(f"{word!r} is not allowed here: {why}")
    return value, value


_INSTANCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,23}")
"""The names that every afl-fuzz of AFL++ 4 accepts."""


def _options(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, dict):
        raise wrong(key, value)
    for name, words in value.items():
        if not _INSTANCE.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of an instance, such as main, s1, s2")
        try:
            _arguments(key, words, base)
        except ValueError as e:
            raise ValueError(f"{name}: {e}") from None
    return value, value


def _names(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    _strings(key, value, base)
    if wrong_one := next((name for name in value if not _INSTANCE.fullmatch(name)), ""):
        raise ValueError(
            f"{wrong_one!r} is not a name of up to 24 letters, digits, _ and -, with no - at first"
        )
    if double := next((name for name in value if value.count(name) > 1), ""):
        raise ValueError(f"{double!r} is there twice")
    if taken := next((name for name in value if name in {ADDED, *OURS}), ""):
        raise ValueError(f"{taken!r} is a directory of fuzztui in each run; choose another name")
    return value, value


def _name(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    _names(key, [value], base)
    return value, value


def program(name: str, base: Path) -> str:
    """Return the path of a program: relative to ``base``, else on PATH. Raises ValueError."""
    path = absolute(name, base)
    if "/" not in name and not path.is_file():
        return found_on_path(name, f"{path} does not exist, and there is ")
    if not path.exists():
        raise ValueError(f"{name!r}: {path} does not exist")
    if path.is_dir() or not os.access(path, os.X_OK):
        raise ValueError(f"{name!r}: {path} is not an executable file")
    return str(path)


def found_on_path(name: str, before: str = "there is ", after: str = "") -> str:
    """Return the path of a command on PATH.

    Raises ValueError if there is none; the message begins with ``before`` and ends with ``after``.
    """
    found = shutil.which(name)
    if found is None:
        raise ValueError(f"{name!r}: {before}no such command on PATH{after}")
    return found


def _part(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise wrong(key, value)
    return value, float(value)


def _weight(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong(key, value)
    if problem := weight_problem(value):
        raise ValueError(problem)
    return value, float(value)


def _unit(parse: Callable[[object], Any]) -> ValueCheck:
    def check_unit(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
        parsed = parse(value)
        if isinstance(parsed, int):
            _in_range(key, parsed)
        return value, parsed

    return check_unit


def _clock(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    text = value.isoformat() if isinstance(value, date) else value
    words = {"real": "", "fixed": FIXED}
    try:
        return text, words[text] if text in words else moment_of(text).isoformat()
    except TypeError:
        raise wrong(key, value) from None
    except ValueError as e:
        raise ValueError(f"{wrong(key, text)}{nearest(text, words) or f' ({e})'}") from None


def _budget(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    if key.minimum == 0 and not isinstance(value, bool) and value in (0, "0", "0s"):
        return value, (0.0, 0)
    return value, parse_budget(value)


def _shard(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    shard = str(parse_shard(value))
    return shard, shard


TEXT: Final[Schema] = {"type": "string", "minLength": 1}


def one_or_list(item: Schema) -> Schema:
    """Return the JSON Schema of a value, or of a list of them."""
    return {"anyOf": [item, {"type": "array", "items": item}]}


def table_of(value: Schema) -> Schema:
    """Return the JSON Schema of a table with any keys."""
    return {"type": "object", "additionalProperties": value}


def _pattern_of(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _number_or(pattern: str, kind: str = "integer") -> Schema:
    return {"anyOf": [{"type": kind, "minimum": 0}, _pattern_of(pattern)]}


_TEXTS: Final = one_or_list(TEXT)
_OPTIONS: Final = {
    "type": "object",
    "patternProperties": {f"^{_INSTANCE.pattern}$": _TEXTS},
    "additionalProperties": False,
}
_IS_BOOLEAN: Final = _as_written(lambda value: isinstance(value, bool))

TYPES: Final = {
    "string": ValueType("a string", _string, TEXT),
    "integer": ValueType("a whole number", _integer, {"type": "integer"}),
    "boolean": ValueType("true or false", _IS_BOOLEAN, {"type": "boolean"}),
    "strings": ValueType("a list of strings", _strings, _TEXTS),
    "operators": ValueType(
        "a list of mutation operators", _operators, one_or_list({"enum": [*OPERATORS]})
    ),
    "table": ValueType(
        'a table of strings such as { NAME = "value" }', _table, table_of({"type": "string"})
    ),
    "aliases": ValueType(
        'a table of names, or lists of names, such as { "a.A" = ["b.B", "c.C"] }',
        _aliases,
        table_of(_TEXTS),
    ),
    "settings": ValueType(
        "a table of strings, whole numbers and lists of strings",
        _settings,
        table_of({"anyOf": [TEXT, {"type": "integer"}, {"type": "array", "items": TEXT}]}),
    ),
    "file": ValueType("a file that exists", _one_path(*_FILE), TEXT),
    "directory": ValueType("a directory that exists", _one_path(*_DIRECTORY), TEXT),
    "paths": ValueType("a list of files or directories that exist", _many_paths(*_EITHER), _TEXTS),
    "seeds": ValueType(
        'a list of files or directories that exist, or "$BUILD/NAME"',
        _many_paths(*_EITHER, or_in_build=True),
        _TEXTS,
    ),
    "files": ValueType("a list of files that exist", _many_paths(*_FILE), _TEXTS),
    "directories": ValueType("a list of directories that exist", _many_paths(*_DIRECTORY), _TEXTS),
    "output": ValueType("a path; it is created", _made(*_DIRECTORY), TEXT),
    "later": ValueType("a directory, which need not exist yet", _made(*_DIRECTORY), TEXT),
    "filename": ValueType(
        "a path of a file; it is created", _made("a regular file", Path.is_file), TEXT
    ),
    "host-path": ValueType(
        'a path on the host: absolute, or "~/..." below the home directory there',
        _host_path,
        TEXT,
    ),
    "host-python": ValueType(
        "a Python interpreter on the host: a path, or a command on PATH there",
        _host_python,
        TEXT,
    ),
    "callable": ValueType('"module:function" or "file.py:function"', _callable, TEXT),
    "targets": ValueType(
        '"module:function" or "file.py:function"; or a list of these, of directories, files '
        "and node ids of tests",
        _targets,
        _TEXTS,
    ),
    "python": ValueType("a Python interpreter: a path or a command on PATH", _python, TEXT),
    "command": ValueType(
        "a list of strings, or one string that is split as in a shell", _command, _TEXTS
    ),
    "program": ValueType("a program: a path or a command on PATH", _string, TEXT),
    "arguments": ValueType("a list of strings", _arguments, _TEXTS),
    "options": ValueType(
        'a table of lists, one for each instance, such as { s1 = ["-p", "rare"] }',
        _options,
        _OPTIONS,
    ),
    "names": ValueType(
        "a list of names of letters, digits, dashes and underscores", _names, _TEXTS
    ),
    "name": ValueType("a name of letters, digits, dashes and underscores", _name, TEXT),
    "part": ValueType(
        "a number from 0 to 1", _part, {"type": "number", "minimum": 0, "maximum": 1}
    ),
    "weight": ValueType(
        "a number, 0 or more", _weight, {"type": "number", "minimum": 0, "maximum": MAX_WEIGHT}
    ),
    "clock": ValueType('"real", "fixed", or a date or time in ISO 8601', _clock, TEXT),
    "pattern": ValueType("a regular expression of Python", _pattern, TEXT),
    "duration": ValueType(
        DURATION_HELP, _unit(parse_duration), _number_or(DURATION_PATTERN, "number")
    ),
    "size": ValueType(SIZE_HELP, _unit(parse_size), _number_or(SIZE_PATTERN)),
    "budget": ValueType(BUDGET_HELP, _budget, _number_or(BUDGET_PATTERN)),
    "shard": ValueType(SHARD_HELP, _shard, _pattern_of(SHARD_PATTERN)),
}
"""The types of values that keys name."""


def type_of(key: Key) -> ValueType:
    """Return the type of a key's values. For a key with choices, these are checked instead."""
    return TYPES[key.type] if isinstance(key.type, str) else key.type


def absolute(value: str, base: Path) -> Path:
    """Return ``value`` as a path relative to ``base``; symlinks stay (a venv's python is one)."""
    return Path(os.path.normpath(base / Path(value).expanduser()))
