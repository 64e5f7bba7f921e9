"""The verdicts file (docs/verdicts.md): TOML that people review, edit and commit."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import tomli

from fuzztui.kernel.base.atomic import replacing
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.files import read_regular
from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.state import FindingVerdict
from fuzztui.kernel.wire.frames import MAX_RULES, Rules, rule_problem
from fuzztui.kernel.wire.verdicts import (
    MAX_NAME,
    MAX_NOTE,
    MUTANT_VERDICTS,
    VERDICTS,
    is_same_change,
)

V = TypeVar("V")

MAX_SIZE: Final = 4 << 20
"""Bytes of a verdicts file."""

_TABLE: Final = "finding"
_LIMITS: Final = {
    "signature": MAX_NAME, "verdict": MAX_NAME, "title": MAX_NAME, "place": MAX_NAME,
    "note": MAX_NOTE, "author": MAX_NAME,
}  # fmt: skip
_KEYS: Final = (*_LIMITS, "date")
_MUTANT: Final = "mutant"
_MUTANT_LIMITS: Final = {
    "id": MAX_NOTE, "verdict": MAX_NAME, "because": MAX_NOTE, "file": MAX_NOTE,
    "function": MAX_NOTE, "change": MAX_NOTE, "author": MAX_NAME,
}  # fmt: skip
_SIGNATURES: Final = "signatures"
_SKIP: Final = "skip"
_HEAD: Final = """\
# Verdicts about findings (known, fixed, wont-fix) and mutants (equivalent, accepted), for all runs
# of the campaign. It can be edited, reviewed and committed (docs/verdicts.md).
"""


class VerdictsError(UserError):
    """The file cannot be used; the message names the file, the problem and the remedy."""

    code = 2


@dataclass(frozen=True, slots=True)
class MutantVerdict:
    """A verdict about a mutant. ``file``, ``function``: for readers of the verdicts file."""

    id: str
    verdict: str
    """One of :data:`~fuzztui.kernel.wire.verdicts.MUTANT_VERDICTS`."""
    because: str = ""
    file: str = ""
    function: str = ""
    change: str = ""
    """Code before and after, ``a < b -> a <= b``; the verdict is about no mutant with another
    change. Empty: any change."""
    author: str = ""
    date: str = ""

    def is_about(self, before: str, after: str) -> bool:
        """Whether the mutant with this id still makes the change of the verdict."""
        return is_same_change(self.change, before, after)


@dataclass(frozen=True, slots=True)
class VerdictsContent:
    """The content of a verdicts file."""

    findings: Mapping[str, FindingVerdict] = field(default_factory=dict)
    """By signature."""
    mutants: Mapping[str, MutantVerdict] = field(default_factory=dict)
    """By id."""
    skipped_frames: Rules = ()
    """Rules about frames that do not count for signatures."""


def read_content(file: Path) -> VerdictsContent | None:
    """Return the file's content; None if there is no file. Raises :class:`VerdictsError`."""
    text = _text_of(file)
    return None if text is None else _checked(file, text)


def read_mutant_verdicts(file: Path) -> Mapping[str, MutantVerdict]:
    """Return the verdicts about mutants by id. Raises :class:`VerdictsError`."""
    return (read_content(file) or VerdictsContent()).mutants


def read_verdicts(file: Path) -> Mapping[str, FindingVerdict] | None:
    """Return the verdicts by signature; None if there is no file. Raises :class:`VerdictsError`."""
    content = read_content(file)
    return None if content is None else content.findings


def change_verdicts(
    file: Path, put: Iterable[Mapping[str, str]], removed: Container[str] = ()
) -> None:
    """Add or replace verdicts about findings; remove those about the signatures ``removed``.

    Each of ``put`` has the keys of the file. All else in it, also comments, stays as it is.
    Blocking. Raises :class:`VerdictsError`; the file is then unchanged.
    """
    with _changing(file) as document:
        for verdict in put:
            _put(document, _TABLE, _KEYS, verdict)
        _remove(document, _TABLE, "signature", removed)


def change_mutant_verdicts(
    file: Path, put: Iterable[MutantVerdict], removed: Container[str] = ()
) -> None:
    """Add or replace verdicts about mutants; remove those of the ids ``removed``. Blocking.

    Raises :class:`VerdictsError`; the file is then unchanged.
    """
    with _changing(file) as document:
        for verdict in put:
            _put(document, _MUTANT, (*_MUTANT_LIMITS, "date"), asdict(verdict))
        _remove(document, _MUTANT, "id", removed)


def change_skipped_frames(file: Path, added: Iterable[str], removed: Container[str] = ()) -> None:
    """Add and remove rules about frames. Blocking.

    Raises :class:`VerdictsError`; the file is then unchanged.
    """
    import tomlkit  # here, because only few processes write

    with _changing(file) as document:
        if _SIGNATURES not in document:
            document.append(_SIGNATURES, tomlkit.table())
        table = document[_SIGNATURES]
        if _SKIP not in table:
            table[_SKIP] = tomlkit.array()
        rules = table[_SKIP]
        for n in reversed(range(len(rules))):
            if rules[n] in removed:
                del rules[n]
        for rule in dict.fromkeys(added):
            if rule not in rules:
                rules.append(rule)
        if not rules:
            del table[_SKIP]
            if not table:
                del document[_SIGNATURES]


def _put(document: Any, table: str, keys: tuple[str, ...], verdict: Mapping[str, str]) -> None:
    """Write the values of ``keys`` into a row of ``table``.

    That is the row whose first key has the same value, or a new one.

    The first two keys are required; others that are empty are left out.
    """
    import tomlkit  # here, because only few processes write

    if table not in document:
        document.append(table, tomlkit.aot())
    wanted = verdict[keys[0]]
    row = next((r for r in document[table] if r.get(keys[0]) == wanted), None)
    if row is None:
        document[table].append(tomlkit.table())
        row = document[table][-1]
    for name in keys:
        value: Any = verdict.get(name, "")
        if name == "date":
            value = datetime.fromisoformat(value) if value else ""
        if value or name in keys[:2]:
            row[name] = value
        else:
            row.pop(name, None)


def _remove(document: Any, table: str, key: str, removed: Container[str]) -> None:
    rows = document.get(table)
    for n in reversed(range(0 if rows is None else len(rows))):
        if rows[n].get(key) in removed:
            del rows[n]
    if rows is not None and not rows:
        del document[table]


@contextlib.contextmanager
def _changing(file: Path) -> Iterator[Any]:
    """Yield the document of a file; write the changed document at the end, if it is valid."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT

    file = Path(os.path.realpath(file))  # a symlink stays one
    try:
        with _locked(file.parent):
            text = _text_of(file)
            if text is not None:
                _checked(file, text)
            document = tomlkit.parse(_HEAD if text is None else text)
            for table in (_TABLE, _MUTANT):
                if not isinstance(document.get(table, AoT([])), AoT):
                    raise VerdictsError(
                        f"{file}: {table}: an array of inline tables cannot be changed; "
                        f"write [[{table}]]"
                    )
            yield document
            changed = tomlkit.dumps(document)
            _checked(file, changed)
            mode = stat.S_IMODE(file.stat().st_mode) if text is not None else _usual_mode()
            with replacing(file) as fd:
                os.fchmod(fd, mode)
                view = memoryview(changed.encode())
                while view:
                    view = view[os.write(fd, view) :]
    except OSError as e:
        raise VerdictsError(
            f"{file}: cannot be written: {e.strerror or e}; campaign.verdicts can name another file"
        ) from None
    except (TOMLKitError, ValueError) as e:  # ValueError: half a surrogate pair
        raise VerdictsError(f"{file}: the verdict cannot be written as TOML: {e}") from None


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold off other writers: several runs may have the same verdicts file. Raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _usual_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _text_of(file: Path) -> str | None:
    try:
        raw = read_regular(file, MAX_SIZE + 1)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise VerdictsError(f"{file}: cannot be read: {e.strerror or e}") from None
    if len(raw) > MAX_SIZE:
        raise VerdictsError(f"{file}: is larger than {MAX_SIZE >> 20} MiB")
    try:
        return raw.decode()
    except UnicodeDecodeError as e:
        line = raw[: e.start].count(b"\n") + 1
        raise VerdictsError(f"{file}:{line}: is not UTF-8 text, so it is not TOML") from None


def _checked(file: Path, text: str) -> VerdictsContent:
    """Parse the text of a file."""
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as e:
        raise VerdictsError(f"{file}:{e.lineno}: not valid TOML: {e.msg}") from None
    except RecursionError:
        raise VerdictsError(f"{file}: is nested too deeply") from None
    except ValueError:  # more digits than Python converts
        raise VerdictsError(f"{file}: contains a number that is too large") from None
    for key in data:
        if key not in (_TABLE, _MUTANT, _SIGNATURES):
            known = f"[[{_TABLE}]], [[{_MUTANT}]] or [{_SIGNATURES}]"
            raise VerdictsError(f"{file}: {brief(key)}: unknown key; write {known}")
    return VerdictsContent(
        _rows(file, text, data, _TABLE, _finding),
        _rows(file, text, data, _MUTANT, _mutant),
        _rules(file, text, data.get(_SIGNATURES, {})),
    )


def _rules(file: Path, text: str, table: Any) -> Rules:
    """Return the rules of the table about signatures."""
    head = re.compile(rf"\s*(\[\s*)?{_SIGNATURES}\b")
    lines = (n for n, line in enumerate(text.split("\n"), 1) if head.match(line))
    place = f"{file}:{next(lines, 1)}: {_SIGNATURES}"
    if not isinstance(table, dict):
        raise VerdictsError(f"{place}: is not a table; write [{_SIGNATURES}], with one bracket")
    for key in table:
        if key != _SKIP:
            raise VerdictsError(f"{place}: {brief(key)}: unknown key; the key is {_SKIP}")
    rules = table.get(_SKIP, [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        example = '["checks.py in require", "libc_*"]'
        raise VerdictsError(f"{place}: {_SKIP}: is not a list of strings such as {example}")
    if len(rules) > MAX_RULES:
        raise VerdictsError(f"{place}: {_SKIP}: has {len(rules):,} rules; at most {MAX_RULES}")
    if problem := next(filter(None, map(rule_problem, rules)), ""):
        raise VerdictsError(f"{place}: {_SKIP}: {problem}")
    return tuple(dict.fromkeys(rules))


def _rows(
    file: Path, text: str, data: dict[str, Any], name: str, parse: Callable[[Any], tuple[str, V]]
) -> dict[str, V]:
    """Return the parsed tables of one name by the key that ``parse`` returns."""
    rows = data.get(name, [])
    if not isinstance(rows, list):
        raise VerdictsError(f"{file}: {name}: write [[{name}]], with two brackets")
    head = re.compile(rf"\s*\[\[\s*{name}\s*\]\]")
    heads = [n for n, line in enumerate(text.split("\n"), 1) if head.match(line)]
    found: dict[str, V] = {}
    for n, row in enumerate(rows):
        place = f"{file}:{heads[n]}" if len(heads) == len(rows) else f"{file}: {name} {n + 1}"
        try:
            if not isinstance(row, dict):
                raise ValueError(f"is not a table; write [[{name}]]")
            key, verdict = parse(row)
            if key in found:
                raise ValueError("an earlier verdict is about the same; remove one of them")
        except ValueError as e:
            raise VerdictsError(f"{place}: {brief(str(e))}") from None
        found[key] = verdict
    return found


def _finding(row: dict[str, Any]) -> tuple[str, FindingVerdict]:
    """Return the signature and the verdict of a table of the file. Raises ValueError."""
    texts = _texts(row, _LIMITS)
    if not texts["signature"]:
        raise ValueError("signature: is missing; 'fuzztui status RUN --json' shows signatures")
    if is_by_signal(texts["signature"]):
        raise ValueError("signature: a signal alone may have many causes; remove the verdict")
    _choice(texts["verdict"], VERDICTS)
    date = _date(row.get("date", ""))
    return texts["signature"], FindingVerdict(
        texts["signature"], texts["verdict"], texts["note"], texts["author"], date
    )


def _mutant(row: dict[str, Any]) -> tuple[str, MutantVerdict]:
    """Return the mutant's id and the verdict of a table of the file. Raises ValueError."""
    texts = _texts(row, _MUTANT_LIMITS)
    if not texts["id"]:
        raise ValueError("id: is missing; 'fuzztui mutants list RUN' shows ids")
    _choice(texts["verdict"], MUTANT_VERDICTS)
    return texts["id"], MutantVerdict(**texts, date=_date(row.get("date", "")))


def _texts(row: dict[str, Any], limits: Mapping[str, int]) -> dict[str, str]:
    """Return the strings of a table, absent ones empty. Raises ValueError."""
    for name in row:
        if name not in limits and name != "date":
            raise ValueError(f"{name}: unknown key; the keys are {', '.join((*limits, 'date'))}")
    texts: dict[str, str] = {}
    for name, most in limits.items():
        value = row.get(name, "")
        if not isinstance(value, str):
            raise ValueError(f"{name}: {value!r} is not a string")
        if len(value) > most:
            raise ValueError(f"{name}: has {len(value):,} characters; at most {most:,} are allowed")
        texts[name] = value
    return texts


def _choice(verdict: str, allowed: tuple[str, ...]) -> None:
    if verdict not in allowed:
        raise ValueError(f"verdict: {verdict!r} is not one of {', '.join(allowed)}")


def _date(value: Any) -> str:
    """Return a date as ISO text; an empty string stays. Raises ValueError."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if value == "":
        return ""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return datetime.fromisoformat(value).isoformat()
    raise ValueError(f"date: {value!r} is not a date such as 2026-11-24")
