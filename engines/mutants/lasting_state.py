"""The program's lasting state: what remains from one call to the next; found and put back.

Programs keep what they have made: results of a memo decorator, tables that the first call fills,
singletons. After the first run such code does not run again, so its mutants could neither be
reached nor killed, and what a mutant leaves there would change later runs.

When the program is loaded and before any input runs, :class:`LastingState` takes shallow copies of
the containers that can be reached from its modules: dicts, lists, sets, deques, bytearrays, closure
cells, and the attributes of classes, functions and instances of its classes. :meth:`look` compares
them by identity, so it runs no code of the program (but ``__eq__`` of members of a set that has
changed, if their hashes are equal); containers that differ are put back from then
on. For a program without such state, only the search costs time.

Not covered: state in C objects (iterators, ``itertools.count``, files, context variables), in
``random``, and in other packages.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final, Protocol

MAX_OBJECTS: Final = 50_000
"""Objects that are examined, not counting numbers and texts."""
TOO_LARGE: Final = (
    f"the program refers to more than {MAX_OBJECTS:,} objects: not all of its state is put back"
    " between runs of mutants, so mutants of code that fills caches may survive wrongly"
)
"""The warning if :attr:`LastingState.left_out`."""
_MAX_ITEMS: Final = 2_000_000
"""Items of all containers that are copied."""
_LARGE: Final = 2_000
"""A container with more items is compared by their number only."""
_ATOMS: Final = {type(None), bool, int, float, complex, str, bytes, type(...)}
_CONTAINERS: Final = {"collections", "functools", "types", "weakref", "_weakrefset", "_thread"}
"""Modules of the standard library whose instances hold values for other code: their attributes
are saved, too, like those of the program's own classes."""
_STAYS: Final = {"__builtins__", "__warningregistry__"}
_MISSING: Final = object()


class _Saved(Protocol):
    """A container and its content at the time of the snapshot."""

    now: Any
    """The container."""

    def differs(self) -> bool:
        """Whether the content is another one now."""

    def put_back(self) -> None:
        """Restore the content."""


_values, _keys, _len = dict.values, dict.__iter__, dict.__len__
"""Those of ``dict`` itself: a subclass of the program's may have others."""


def _same(now: Iterable[Any], saved: Iterable[Any], count: int) -> bool:
    return count > _LARGE or all(map(is_, now, saved))


class _Dict:
    __slots__ = ("now", "saved")

    def __init__(self, thing: dict[Any, Any]) -> None:
        self.now = thing
        # dict.copy calls methods of a subclass with another __iter__.
        usual = type(thing).__iter__ is dict.__iter__
        self.saved = dict.copy(thing) if usual else dict(dict.items(thing))

    def differs(self) -> bool:
        now, saved = self.now, self.saved
        if (count := _len(now)) != len(saved):
            return True
        if count > _LARGE:
            return False
        same = all(map(is_, _values(now), _values(saved)))
        return not (same and all(map(is_, _keys(now), saved)))

    def put_back(self) -> None:
        if _len(self.now) or self.saved:
            dict.clear(self.now)
            dict.update(self.now, self.saved)  # with the stored hashes


class _Names(_Dict):
    """A dict of names: of a module, an instance or a function. Most of it never changes."""

    __slots__ = ()

    def put_back(self) -> None:
        now, saved = self.now, self.saved
        for name in [name for name in now if name not in saved]:
            del now[name]
        for name, value in saved.items():
            if now.get(name, _MISSING) is not value:
                now[name] = value


class _Module(_Names):
    __slots__ = ()

    def differs(self) -> bool:
        if not super().differs():
            return False
        # A submodule that is imported late becomes an attribute of its package, only once.
        for name, value in self.now.items():
            if name not in self.saved and (name in _STAYS or issubclass(type(value), ModuleType)):
                self.saved[name] = value
        return super().differs()

    def put_back(self) -> None:
        if self.differs():
            super().put_back()


class _Ordered:
    """An ``OrderedDict``, whose order the methods of ``dict`` do not know."""

    __slots__ = ("now", "saved")

    def __init__(self, thing: OrderedDict[Any, Any]) -> None:
        self.now, self.saved = thing, list(OrderedDict.items(thing))

    def differs(self) -> bool:
        now = list(OrderedDict.items(self.now))
        same = (k is i and v is j for (k, v), (i, j) in zip(now, self.saved, strict=False))
        return len(now) != len(self.saved) or not all(same)

    def put_back(self) -> None:
        OrderedDict.clear(self.now)
        for key, value in self.saved:
            OrderedDict.__setitem__(self.now, key, value)


class _List:
    __slots__ = ("now", "saved")

    def __init__(self, thing: list[Any]) -> None:
        self.now, self.saved = thing, list.copy(thing)

    def differs(self) -> bool:
        now, saved, count = self.now, self.saved, len(self.saved)
        return not (list.__len__(now) == count and _same(list.__iter__(now), saved, count))

    def put_back(self) -> None:
        list.__setitem__(self.now, slice(None), self.saved)


class _Deque:
    __slots__ = ("now", "saved")

    def __init__(self, thing: deque[Any]) -> None:
        self.now, self.saved = thing, list(deque.__iter__(thing))

    def differs(self) -> bool:
        now, saved, count = self.now, self.saved, len(self.saved)
        return not (deque.__len__(now) == count and _same(deque.__iter__(now), saved, count))

    def put_back(self) -> None:
        deque.clear(self.now)
        deque.extend(self.now, self.saved)


class _Set:
    __slots__ = ("now", "saved")

    def __init__(self, thing: set[Any]) -> None:
        self.now, self.saved = thing, set.copy(thing)

    def differs(self) -> bool:
        # Members are compared by identity first, so those of an unchanged set are not called.
        return set.__len__(self.now) != len(self.saved) or not set.issuperset(self.now, self.saved)

    def put_back(self) -> None:
        set.clear(self.now)
        set.update(self.now, self.saved)


class _Bytes:
    __slots__ = ("now", "saved")

    def __init__(self, thing: bytearray) -> None:
        self.now, self.saved = thing, bytes(thing)

    def differs(self) -> bool:
        return bytearray.__ne__(self.now, self.saved)

    def put_back(self) -> None:
        bytearray.__setitem__(self.now, slice(None), self.saved)


class _Cell:
    __slots__ = ("now", "saved")

    def __init__(self, thing: CellType) -> None:
        self.now, self.saved = thing, _content(thing)

    def differs(self) -> bool:
        return _content(self.now) is not self.saved

    def put_back(self) -> None:
        if self.saved is not _MISSING:
            self.now.cell_contents = self.saved
        elif _content(self.now) is not _MISSING:
            del self.now.cell_contents


class _Class:
    __slots__ = ("now", "saved")

    def __init__(self, thing: type) -> None:
        self.now, self.saved = thing, dict(_attributes(thing))

    def differs(self) -> bool:
        now, saved = _attributes(self.now), self.saved
        return len(now) != len(saved) or not all(map(is_, now.values(), saved.values()))

    def put_back(self) -> None:
        now, saved = _attributes(self.now), self.saved
        for name in [name for name in now if name not in saved]:
            type.__delattr__(self.now, name)
        for name, value in saved.items():
            if now.get(name, _MISSING) is not value:
                type.__setattr__(self.now, name, value)


class _Slots:
    """The attributes of an instance whose class has ``__slots__``."""

    __slots__ = ("members", "now", "saved")

    def __init__(self, thing: object, members: list[MemberDescriptorType]) -> None:
        self.now, self.members = thing, members
        self.saved = self._values()

    def _values(self) -> list[Any]:
        values = []
        for member in self.members:
            try:
                values.append(member.__get__(self.now))
            except AttributeError:
                values.append(_MISSING)
        return values

    def differs(self) -> bool:
        return not all(map(is_, self._values(), self.saved))

    def put_back(self) -> None:
        for member, now, saved in zip(self.members, self._values(), self.saved, strict=True):
            if now is saved:
                continue
            if saved is _MISSING:
                member.__delete__(self.now)
            else:
                member.__set__(self.now, saved)


_KINDS: Final[tuple[tuple[type, Callable[[Any], _Saved]], ...]] = (
    (OrderedDict, _Ordered),
    (dict, _Dict),
    (list, _List),
    (set, _Set),
    (deque, _Deque),
    (bytearray, _Bytes),
)


class LastingState:
    """A snapshot of the lasting state. Create it before any input runs."""

    def __init__(self, own: Callable[[str], bool], max_objects: int = MAX_OBJECTS) -> None:
        """``own``: whether the module of this name belongs to the program or its harness."""
        self._own = own
        self._caches: list[functools._lru_cache_wrapper[Any]] = []
        self._rest: list[_Saved] = []
        self._were_empty: list[_Dict] = []
        self._empty: list[dict[Any, Any]] = []
        """Dicts without items, which most functions have for their attributes; compared at once."""
        self.changed: list[_Saved] = []
        """The containers that are put back."""
        self.failed = 0
        """Containers that could not be put back."""
        self.left_out = False
        """Whether the program has more state than the snapshot may contain."""
        self._items = _MAX_ITEMS
        self._walk(max_objects)
        self._empty = [saved.now for saved in self._were_empty]

    def look(self) -> bool:
        """Find containers that have changed. Returns whether there are new ones.

        After this, call :meth:`put_back`, which from now on restores the new ones too. Containers
        that are already known to change are not compared.
        """
        new = [saved for saved in self._rest if _differs(saved)]
        if any(self._empty):
            new += [saved for saved in self._were_empty if saved.now]
        if new:
            self.changed += new
            gone = set(map(id, new))
            self._rest = [saved for saved in self._rest if id(saved) not in gone]
            self._were_empty = [saved for saved in self._were_empty if id(saved) not in gone]
            self._empty = [saved.now for saved in self._were_empty]
        return bool(new)

    def keep(self, earlier: LastingState) -> None:
        """Use the copies of an earlier snapshot for the containers that it has."""
        lists = earlier.changed, earlier._rest, earlier._were_empty
        known = {id(saved.now) for part in lists for saved in part}
        self._rest = [*earlier._rest, *(s for s in self._rest if id(s.now) not in known)]
        empty = [saved for saved in self._were_empty if id(saved.now) not in known]
        self._were_empty = [*earlier._were_empty, *empty]
        self._empty = [saved.now for saved in self._were_empty]
        self.changed, self.failed = earlier.changed, earlier.failed

    def put_back(self) -> None:
        """Restore the containers that are known to change, and clear the ``lru_cache``\\ s."""
        for cache in self._caches:
            cache.cache_clear()
        for saved in self.changed:
            try:
                saved.put_back()
            except Exception:  # a class of a C extension, a buffer that is exported
                self.failed += 1

    def accept(self) -> None:
        """Restore the present content from now on, because fixtures that were set up belong to it.

        Before, the content at the time of the snapshot was restored.
        """
        filled = [saved for saved in self._were_empty if saved.now]
        if filled:
            gone = set(map(id, filled))
            self._were_empty = [saved for saved in self._were_empty if id(saved) not in gone]
            self._empty = [saved.now for saved in self._were_empty]
            self._rest += filled
        for row in (self.changed, self._rest):
            for at, saved in enumerate(row):
                if _differs(saved):
                    row[at] = _saved_again(saved)

    # ------------------------------------------------------------------- the snapshot

    def _walk(self, most: int) -> None:
        """Copy all containers, those near the modules first, until ``most`` objects are seen."""
        seen = set(map(id, (sys.modules, sys.path, sys.path_importer_cache, vars(builtins))))
        todo: deque[Any] = deque()
        for name, module in list(sys.modules.items()):
            if not issubclass(type(module), ModuleType):
                continue
            names = vars(module)
            if not self._own(name):
                seen.add(id(names))
            elif id(names) not in seen:
                seen.add(id(names))
                self._rest.append(_Module(names))
                todo.extend(names.values())
        while todo:
            thing = todo.popleft()
            if type(thing) in _ATOMS or id(thing) in seen:
                continue
            if (most := most - 1) < 0 or self._items < 0:
                self.left_out = True
                return
            seen.add(id(thing))
            todo.extend(part for part in self._parts(thing) if type(part) not in _ATOMS)

    def _parts(self, thing: Any) -> Iterable[Any]:
        """Save a container; return the objects to which ``thing`` refers."""
        kind = type(thing)  # isinstance would run the __class__ property of lazy proxies
        if kind is CellType:
            self._rest.append(cell := _Cell(thing))
            return [cell.saved]
        if kind is FunctionType:
            if not self._is_own(thing):
                return []
            self._names(vars(thing))
            values = list(vars(thing).values())
            defaults = [thing.__defaults__, thing.__kwdefaults__]
            return [*(thing.__closure__ or ()), *defaults, *values]
        if kind in (staticmethod, classmethod):
            return [thing.__func__]
        if kind is property:
            return [thing.fget, thing.fset, thing.fdel]
        if kind in (MethodType, BuiltinMethodType):
            return [thing.__self__, getattr(thing, "__func__", None)]
        if kind is partial:
            return [thing.func, thing.args, thing.keywords]
        if kind is functools._lru_cache_wrapper:
            if self._is_own(thing):
                self._caches.append(thing)
            return [thing.__wrapped__]
        if kind in (tuple, frozenset):
            return thing  # type: ignore[no-any-return]
        if issubclass(kind, ModuleType):
            return []
        if issubclass(kind, type):
            if not self._is_own(thing):
                return []
            self._rest.append(_Class(thing))
            return _attributes(thing).values()
        return self._instance(thing, kind)

    def _instance(self, thing: Any, kind: type) -> Iterator[Any]:
        for base, save in _KINDS:
            if issubclass(kind, base):
                self._items -= base.__len__(thing)  # type: ignore[attr-defined]
                if kind is dict and not thing:
                    self._were_empty.append(_Dict(thing))
                    return
                self._rest.append(save(thing))
                if base is not bytearray:
                    yield from base.__iter__(thing)  # type: ignore[attr-defined]
                if issubclass(kind, dict):
                    yield from dict.values(thing)
                if kind is base:
                    return
                break
        if not (own := self._is_own(kind)) and str(kind.__module__) not in _CONTAINERS:
            return
        names = _dict_of(thing)
        if names is not None:
            self._names(names)
            yield from names.values()
        if own and (members := _members(kind)):
            self._rest.append(slots := _Slots(thing, members))
            yield from slots.saved

    def _names(self, names: dict[str, Any]) -> None:
        (self._rest if names else self._were_empty).append(_Names(names))

    def _is_own(self, thing: Any) -> bool:
        try:
            return self._own(str(thing.__module__))
        except Exception:
            return False


def _saved_again(saved: _Saved) -> _Saved:
    """A copy of the content that a container has now."""
    if isinstance(saved, _Slots):
        return _Slots(saved.now, saved.members)
    return type(saved)(saved.now)  # type: ignore[call-arg]


def _differs(saved: _Saved) -> bool:
    try:
        return saved.differs()
    except Exception:  # another thread changes it
        return True


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _members(kind: type) -> list[MemberDescriptorType]:
    """The descriptors of the ``__slots__`` in a class and its base classes."""
    found = (member for base in kind.__mro__ for member in vars(base).values())
    return [member for member in found if type(member) is MemberDescriptorType]


def _attributes(thing: type) -> MappingProxyType[str, Any]:
    """``vars(thing)``, even if a metaclass overrides ``__dict__``."""
    return type.__dict__["__dict__"].__get__(thing)  # type: ignore[no-any-return]


def _dict_of(thing: Any) -> dict[str, Any] | None:
    try:
        names = thing.__dict__
    except Exception:  # a proxy
        return None
    return names if type(names) is dict else None
