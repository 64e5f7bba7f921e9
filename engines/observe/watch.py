"""Trace calls: the types of arguments and of return values.

Uses ``sys.monitoring`` from Python 3.12 on, which can be disabled for single functions; before, a
profile function that is called for every call.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, Final, TypeAlias

from fuzztui.engines.observe.kinds import Kinds, Namer, merge

Wanted: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]
"""Names of parameters (and :data:`RETURN`) by function, by module."""
Seen: TypeAlias = dict[str, dict[str, Kinds]]
"""Observed types by parameter, by the function's full name."""

RETURN: Final = "return"
_MAX_CALLS: Final = 32
"""Calls of one function that are examined in one trial."""
_TOOL: Final = 4
"""Tool id for ``sys.monitoring``: one without a predefined purpose."""
_RETURNS: Final = dis.opmap["RETURN_VALUE"]
_YIELDS: Final = dis.opmap["YIELD_VALUE"]


class _Function:
    """A traced function."""

    def __init__(self, code: CodeType, full: str, wanted: Sequence[str]) -> None:
        self.code = code  # kept alive, so that its id is not reused
        self.full = full
        at = code.co_argcount + code.co_kwonlyargcount
        self.stars = code.co_varnames[at : at + 1] if code.co_flags & inspect.CO_VARARGS else ()
        at += len(self.stars)
        named = code.co_flags & inspect.CO_VARKEYWORDS
        self.named_stars = code.co_varnames[at : at + 1] if named else ()
        self.parameters = [name for name in wanted if name != RETURN]
        is_odd = code.co_flags & inspect.CO_ASYNC_GENERATOR
        self.returns = RETURN in wanted and not is_odd
        self.yields = bool(code.co_flags & inspect.CO_GENERATOR)
        self.bytecode = code.co_code
        self.calls = self.ends = 0


class CallTracer:
    """A context manager that collects the types of the wanted functions' parameters."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._functions: dict[int, _Function | CodeType] = {}
        """By id of the code object; the code itself if the function is not wanted."""
        self._namer = Namer()
        self.seen: Seen = {}
        self.changed: set[str] = set()
        """Functions with new types since the last call of :meth:`news`."""
        if sys.version_info >= (3, 12):
            self._tool = _TOOL
            sys.monitoring.use_tool_id(self._tool, "fuzztui")
            on, events = sys.monitoring.register_callback, sys.monitoring.events
            on(self._tool, events.PY_START, self._monitored_start)
            on(self._tool, events.PY_RETURN, self._monitored_return)
            on(self._tool, events.PY_YIELD, self._monitored_yield)

    @property
    def bases(self) -> dict[str, list[str]]:
        """See :attr:`Namer.bases`."""
        return self._namer.bases

    def news(self) -> Seen:
        """All observed types of the functions with new types since the last call."""
        changed, self.changed = sorted(self.changed), set()
        return {full: self.seen[full] for full in changed}

    def __enter__(self) -> None:
        for function in self._functions.values():
            if isinstance(function, _Function):
                function.calls = function.ends = 0
        if sys.version_info >= (3, 12):
            events = sys.monitoring.events
            sys.monitoring.restart_events()
            wanted = events.PY_START | events.PY_RETURN | events.PY_YIELD
            sys.monitoring.set_events(self._tool, wanted)
        else:
            sys.setprofile(self._profiled)

    def __exit__(self, *_: object) -> None:
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(self._tool, 0)
        else:
            sys.setprofile(None)

    # ---------------------------------------------------------------- collecting

    def _function(self, code: CodeType, module: object) -> _Function | None:
        """The traced function of a code object; None if it is not wanted."""
        known = self._functions.get(id(code))
        if known is None:
            functions = self._wanted.get(module, {}) if isinstance(module, str) else {}
            names = functions.get(code.co_qualname)
            known = _Function(code, f"{module}.{code.co_qualname}", names) if names else code
            self._functions[id(code)] = known
        return known if isinstance(known, _Function) else None

    def _start(self, function: _Function, frame: FrameType) -> None:
        there = frame.f_locals
        for name in function.parameters:
            if name not in there:
                continue
            value = there[name]
            if name in function.stars:
                kinds = self._namer.elements(value)
            elif name in function.named_stars:
                kinds = self._namer.elements(value.values())
            else:
                kinds = self._namer.kinds(value)
            self._see(function, name, kinds)

    def _end(self, function: _Function, value: object) -> None:
        kinds = self._namer.kinds(value)
        self._see(function, RETURN, {"typing.Iterator": [kinds]} if function.yields else kinds)

    def _see(self, function: _Function, name: str, kinds: Kinds) -> None:
        known = self.seen.setdefault(function.full, {}).setdefault(name, {})
        if merge(known, kinds):
            self.changed.add(function.full)

    # ---------------------------------------------------------------- callbacks

    def _monitored_start(self, code: CodeType, offset: int) -> Any:
        frame = sys._getframe(1)
        function = self._function(code, frame.f_globals.get("__name__"))
        if function is None or function.calls >= _MAX_CALLS:
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        function.calls += 1
        self._start(function, frame)
        return None

    def _monitored_return(self, code: CodeType, offset: int, value: object) -> Any:
        return self._monitored_end(code, value, yields=False)

    def _monitored_yield(self, code: CodeType, offset: int, value: object) -> Any:
        return self._monitored_end(code, value, yields=True)

    def _monitored_end(self, code: CodeType, value: object, *, yields: bool) -> Any:
        function = self._functions.get(id(code))  # it has started before
        if (
            not isinstance(function, _Function)
            or not function.returns
            or function.yields != yields
            or function.ends >= _MAX_CALLS
        ):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        function.ends += 1
        self._end(function, value)
        return None

    def _profiled(self, frame: FrameType, event: str, value: object) -> None:
        if event not in ("call", "return"):
            return
        function = self._function(frame.f_code, frame.f_globals.get("__name__"))
        if function is None or frame.f_lasti < 0:
            return
        operation, argument = function.bytecode[frame.f_lasti : frame.f_lasti + 2]
        if event == "call":  # further steps of a generator are calls too
            if argument == 0 and function.calls < _MAX_CALLS:
                function.calls += 1
                self._start(function, frame)
        elif operation != (_YIELDS if function.yields else _RETURNS):
            return  # the call ends by an exception, or does not end yet
        elif function.returns and function.ends < _MAX_CALLS:
            function.ends += 1
            self._end(function, value)
