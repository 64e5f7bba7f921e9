"""The user's keys: which key carries out which action, instead of the registry's keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from fuzztui.kernel.base.suggest import meant, near_last
from fuzztui.tui.base.keynames import UNBOUND, key_for_user, key_from_user
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.actions import ACTIONS, BY_ID, NATIVE

Keys = Mapping[str, tuple[str, ...]]
"""Textual's names of keys, by the id of the action."""

RESERVED = ("ctrl+c", "ctrl+q", "tab", "shift+tab")
"""Keys that always leave the screens or move the focus."""

ALWAYS = ("app.quit", "app.help", "app.palette")
"""Actions that must have a key."""


def keymap(
    wanted: Mapping[str, Sequence[str]], screens: Iterable[Sequence[str]]
) -> tuple[Keys, list[tuple[str, str]]]:
    """Return the keys that ``wanted`` (keys of users, by action) sets, and all problems.

    ``screens``: the scopes of each screen; not read if no keys are wanted. A problem is the id of
    an action and a message; the action keeps the registry's keys.
    """
    if not wanted:
        return {}, []
    found: dict[str, tuple[str, ...]] = {}
    problems: list[tuple[str, str]] = []
    for id, texts in wanted.items():
        try:
            found[id] = _keys(id, texts)
        except ValueError as e:
            problems.append((id, str(e)))
    scopes = [frozenset(screen) for screen in screens]
    # Refusing a key gives an action its own key back, which another action may have got.
    while clash := _clash(found, scopes):
        id, key, other = clash
        del found[id]
        problems.append((
            id,
            f"{key_for_user(key)} is also the key of {other.id} ({other.label}) on the same screen;"
            " choose another key, or give that action another one too",
        ))  # fmt: skip
    return found, problems


def textual_keymap(keys: Keys) -> dict[str, str]:
    """Return the keys as Textual's ``App.set_keymap`` takes them."""
    return {id: ",".join(each) or UNBOUND for id, each in keys.items()}


def _keys(id: str, texts: Sequence[str]) -> tuple[str, ...]:
    if id not in BY_ID:
        hint = meant(near_last(id, BY_ID)) or "; `fuzztui config --keys` lists all"
        raise ValueError(f"there is no such action{hint}")
    if id in NATIVE:
        raise ValueError("the key of this action cannot be changed")
    keys = tuple(dict.fromkeys(key_from_user(text) for text in texts))
    for key in keys:
        if key in RESERVED and key not in BY_ID[id].keys:
            raise ValueError(f"{key} cannot be changed: it leaves fuzztui or moves the focus")
    if not keys and id in ALWAYS:
        raise ValueError("needs a key")
    return keys


def _clash(found: Keys, screens: Sequence[frozenset[str]]) -> tuple[str, str, Action] | None:
    """Return an action that the user gave a key, the key, and the other action with that key.

    Two actions clash if a screen has both in one mode, and at least one has a key of the user's.
    """
    by_key: dict[str, list[Action]] = {}
    for action in ACTIONS:
        for key in found.get(action.id, action.keys):
            by_key.setdefault(key, []).append(action)
    for key, actions in by_key.items():
        for first, second in combinations(actions, 2):
            mine = [a for a in (second, first) if a.id in found]
            together = any({first.scope, second.scope} <= scopes for scopes in screens)
            one_mode = first.mode == second.mode or not (first.mode and second.mode)
            # The registry itself gives both this key: one of them is for a focused widget.
            by_design = key in first.keys and key in second.keys
            if mine and together and one_mode and not by_design:
                other = first if mine[0] is second else second
                return mine[0].id, key, other
    return None
