"""Objects that are found by name: in a module, or in the packages that are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class PluginError(Exception):
    """An installed package cannot be used; the message says which and why, for users."""


def named(text: str) -> Any:
    """Return the object that ``MODULE:NAME`` names. Raises ImportError, AttributeError."""
    module, _, name = text.partition(":")
    return getattr(import_module(module), name)


def installed(group: str, kind: type[Any]) -> list[Any]:
    """Return the objects of an entry point group, by name. Raises :class:`PluginError`.

    ``kind``: their class; an object of another one is refused.
    """
    from importlib.metadata import entry_points  # slow to import

    found = []
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        package = point.dist.name if point.dist else "an unknown package"
        where = f"{group}: {point.name} of {package}"
        try:
            one = point.load()
        except Exception as e:
            raise PluginError(
                f"{where} cannot be imported: {type(e).__name__}: {e}; upgrade or uninstall it"
            ) from e
        if not isinstance(one, kind):
            raise PluginError(f"{where} is no {kind.__name__}: {point.value}; upgrade it")
        found.append(one)
    return found
