"""``--record FILE``: run inputs, and print each outcome as Python expressions for a test.

The request is a JSON file: ``inputs``, a list of paths; ``examples``, whether to report the
arguments of Hypothesis tests as expressions in their file (default: false); ``other_date``, whether
the clock is fixed 400 days ahead (default: false). Prints a JSON line ``recorded`` for each input:
its number, and an object with ``outcome``, the ``argument`` and ``value`` as expressions, or the
``error``. The target runs in forked children.
"""

from __future__ import annotations

import inspect
import json
import random
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fuzztui.engines.base.clock import another_date, fix_clock
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.loading import load
from fuzztui.engines.export.literals import Literal, NoLiteral, importable, literal
from fuzztui.engines.findings import frozen
from fuzztui.engines.findings.answers import answering
from fuzztui.engines.findings.candidates import candidates
from fuzztui.engines.inputs.shape import type_name
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.strategies.given import Pending
from fuzztui.kernel.base.files import read_if_regular

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}|<.* object at |/tmp/")
_MAX_MESSAGE: Final = 400


def record(spec: Spec, file: Path) -> int:
    """Run the request in ``file`` and print the results. Returns the exit status."""
    try:
        request = json.loads(file.read_bytes())
        inputs, examples = (
            [str(path) for path in request["inputs"]],
            request.get("examples") is True,
        )
        if request.get("other_date") is True:
            fix_clock(another_date())
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise CannotStart(f"{file}: {e}") from None
    with answering() as say:
        rng = random.Random(0)
        loaded = load(spec, folder=Path.cwd(), table=EdgeTable(), draw=rng.randbytes)
        target = loaded.target
        compares = target.compare is not None
        say(
            {
                "test": target.generator is not None and not spec.target.generator,
                "compares": compares and not spec.target.compare,
                "shows": bool(spec.target.compare) and not compares,
            }
        )
        at = 0

        def work(tell: Tell) -> None:
            loaded.executor.in_child()
            recorder = _Recorder(
                loaded.executor, target.function, compares=compares, examples=examples
            )
            for n in range(at, len(inputs)):
                data = read_if_regular(inputs[n], spec.engine.max_size)
                rng.seed(0)
                found = {"outcome": "unfit"} if data is None else recorder.record(data)
                tell({"recorded": [n, found]})

        def answer(message: dict[str, Any]) -> bool:
            nonlocal at
            say(message)
            at = int(message["recorded"][0]) + 1
            return True

        def ended(death: Death) -> None:
            nonlocal at
            if at < len(inputs):
                say({"recorded": [at, {"outcome": "hung" if death.how == "hung" else "died"}]})
                at += 1

        host = ChildHost.of(spec.target, "recording outcomes")
        for _ in host.series(lambda: at < len(inputs), work, answer, ended):
            pass
    return 0


class _Recorder:
    """Runs inputs and describes what they do."""

    def __init__(
        self,
        executor: Executor,
        function: Callable[..., Any],
        *,
        compares: bool,
        examples: bool,
    ) -> None:
        """``function``: the target. ``compares``: whether the harness compares values by itself.

        ``examples``: whether the arguments of Hypothesis tests are reported.
        """
        self._executor, self._function, self._compares = executor, function, compares
        self._examples = examples

    def record(self, data: bytes) -> dict[str, Any]:
        """One input's outcome as JSON data."""
        executor = self._executor
        execution = executor.call(data)
        found: dict[str, Any] = {"outcome": execution.outcome, "unmade": execution.unmade}
        if execution.unmade:
            return found
        # Made again: the target may have changed its argument.
        nothing: dict[str, Any] = {}
        argument = executor.guarded(lambda: self._written(executor.form.build(data)), nothing)
        found["argument"] = argument
        if executor.form.choices:
            found["choices"] = repr(execution.data)
            if self._examples:
                built = executor.form.build
                found["example"] = executor.guarded(
                    lambda: example_of(built(execution.data)), nothing
                )
        if execution.error is not None:
            found["error"] = self._error(execution.error)
        elif execution.outcome == "success":
            found["value"] = self._value(execution)
        return found

    def _value(self, execution: Execution) -> dict[str, Any]:
        """The value as an expression, or else as a description without the parts that vary.

        If it cannot be compared as a whole: what could show it, ``instead``.
        """
        value = execution.value
        written = self._executor.guarded(
            lambda: self._written(value, checked=not self._compares), {"why": "it takes too long"}
        )
        if "text" in written or self._compares:
            return written
        other = self._executor.call(execution.data).value
        found = written | self._description(value, other)
        if found["unseen"]:
            nothing: list[str] = []
            found["instead"] = self._executor.guarded(
                lambda: candidates(self._function, [other]), nothing
            )
        return found

    def _description(self, value: object, other: object) -> dict[str, Any]:
        """What two runs of the same input show of their value, and which parts are ``unseen``."""
        plain, properties = self._described(value)
        without = set[str]()
        again, varies = self._described(other)[0], False
        if plain != again:
            ours, theirs = plain.split("\n"), again.split("\n")
            lines = (line for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]
                     for line in pair)  # fmt: skip
            without = {line.strip().partition(": ")[0] for line in lines}
            both = [self._described(x, properties=properties, without=without)[0]
                    for x in (value, other)]  # fmt: skip
            plain, varies = both[0], len(ours) != len(theirs) or both[0] != both[1]
        kind = type_name(type(value))
        if varies:  # also beyond the lines that are compared one by one
            return {"type": kind, "unseen": ["what varies"]}
        if not plain:
            return {"type": kind, "unseen": ["the value"]}
        return {
            **self._written(plain),
            "described": True,
            "properties": properties,
            "without": sorted(without),
            "type": kind,
            "unseen": [*frozen.unseen(plain), *sorted(without)],  # type: ignore[no-untyped-call]
        }

    def _described(
        self, value: object, *, properties: bool = True, without: Collection[str] = ()
    ) -> tuple[str, bool]:
        """The description of a value, and whether it has properties: these may take too long."""
        for reads in (True, False) if properties else (False,):
            text = self._executor.guarded(partial(frozen.described, value, reads, without), "")
            if text:
                return text, reads
        return "", False

    def _written(self, value: object, *, checked: bool = True) -> dict[str, Any]:
        try:
            made: Literal = literal(value, checked=checked)
        except NoLiteral as e:
            return {"why": str(e)}
        size = -1
        raw: str | None = None
        if type(value) is bytes:
            size, raw = len(value), "bytes"
        elif type(value) is str:
            size, raw = len(value), "text"
        return {
            "text": made.text,
            "modules": made.modules,
            "plain": made.plain,
            "raw": raw,
            "size": size,
        }

    def _error(self, error: BaseException) -> dict[str, Any]:
        found = importable(type(error))
        module, name = found or ("", "")
        message = self._executor.guarded(partial(_message, error), None)
        return {
            "module": module,
            "name": name,
            "class": type_name(type(error)),
            "bases": [".".join(filter(None, base)) for base in _bases(type(error))],
            "message": message,
        }


def _bases(kind: type[BaseException]) -> list[tuple[str, str]]:
    """The class of an exception and those that it inherits from, if they can be imported."""
    return [found for base in kind.__mro__ if (found := importable(base))]


def _message(error: BaseException) -> str | None:
    """The expression of the exception's text; None if it may be different the next time."""
    text = str(error)
    if len(text) > _MAX_MESSAGE or _ADDRESS.search(text):
        return None
    return literal(text).text


def example_of(made: object) -> dict[str, Any]:
    """Return ``test``, its name, and ``arguments``: rows of name, expression, and names in it.

    The names of the expression are mapped to those of the test's file. With ``why`` instead of
    ``arguments`` there is no example.
    """
    if not isinstance(made, Pending):
        return {"test": "", "why": "it is not a Hypothesis test"}
    found: dict[str, Any] = {"test": made.test.name}
    scope = getattr(inspect.unwrap(made.test.function), "__globals__", {})
    rows = []
    for name, value in made.arguments.items():
        try:
            written = literal(value, checked=False)
            names = {known: _local(known, one, scope) for known, one in written.known.items()}
        except NoLiteral as e:
            return {**found, "why": f"{name}: {e}"}
        rows.append([name, written.text, names])
    return {**found, "arguments": rows}


def _local(known: str, one: object, scope: Mapping[str, Any]) -> str:
    """The name in the test's file of a class, or of a member of one. Raises NoLiteral."""
    if not isinstance(one, type):
        return f"{_local('', type(one), scope)}.{known.rpartition('.')[2]}"
    name = one.__name__
    if one.__module__ == "builtins" and name not in scope:
        return name
    for local in (name, *scope):
        if scope.get(local) is one:
            return local
    for local, module in scope.items():
        if isinstance(module, ModuleType) and vars(module).get(name) is one:
            return f"{local}.{name}"
    raise NoLiteral(f"needs {type_name(one)}, which the file does not import")
