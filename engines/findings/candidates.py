"""Find what shows a value that cannot be compared as a whole: a candidate for ``target.compare``.

Only candidates that exist and work are named: methods of the value without required arguments, and
functions of the target's modules that take the value, whose results are plain data.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from fuzztui.engines.findings.compare import same, unseen_part
from fuzztui.harness import takes_one

_METHODS: Final = (
    "unwrap", "to_dict", "as_dict", "asdict", "dict", "model_dump", "to_json", "as_json", "to_list",
    "serialize", "as_string", "to_string", "tostring", "to_xml", "to_text", "dumps", "getvalue",
)  # fmt: skip
_FUNCTIONS: Final = (
    "dumps", "dump_string", "to_string", "tostring", "serialize", "unparse", "to_text", "format",
)  # fmt: skip
_PLAIN: Final = (str, bytes, int, float, bool, list, tuple, dict, set, frozenset)


def compare_advice(instead: Sequence[Sequence[str]]) -> str:
    """Advice with the line for ``[target]`` by which most values can be compared, if there is one.

    ``instead``: the candidates of each value.
    """
    for reference, _ in Counter(name for names in instead for name in names).most_common(1):
        return f'to compare all of them, put this into [target]: compare = "{reference}"'
    return "return something else of them from the target, such as their text"


def candidates(function: Callable[..., Any], values: Sequence[object]) -> list[str]:
    """References for ``target.compare`` that show all of these values; the best first.

    ``function``: the target. Calls target code, so must be called under the guard.
    """
    found = []
    for reference, show in dict(_existing(function, values[0])).items():
        try:
            shown = [show(value) for value in values]
            again = [show(value) for value in values]
        except Exception:
            continue
        if all(map(_is_plain, shown)) and same(shown, again):
            found.append(reference)
    return found


def _existing(
    function: Callable[..., Any], value: object
) -> Iterator[tuple[str, Callable[[Any], object]]]:
    cls = type(value)
    modules = dict.fromkeys([getattr(function, "__module__", None), cls.__module__])
    homes = [name for module in modules if module for name in _packages(str(module))]
    for name in homes:
        for attribute in _FUNCTIONS:
            found = getattr(sys.modules[name], attribute, None)
            if inspect.isroutine(found) and takes_one(found):
                yield f"{name}:{attribute}", found
    for attribute in _METHODS:
        found = getattr(cls, attribute, None)
        home: Any = sys.modules.get(cls.__module__)
        for part in cls.__qualname__.split("."):
            home = getattr(home, part, None)
        if home is cls and inspect.isroutine(found) and takes_one(found):
            yield f"{cls.__module__}:{cls.__qualname__}.{attribute}", found


def _packages(module: str) -> Iterator[str]:
    """The module, and the packages that it is in, if they are no part of the standard library."""
    while module and module.partition(".")[0] not in sys.stdlib_module_names:
        if module in sys.modules:
            yield module
        module = module.rpartition(".")[0]


def _is_plain(value: object) -> bool:
    return type(value) in _PLAIN and not unseen_part(value)
