"""Arms that mypy proves never to be taken, and those that only seem so."""

import pytest
from targets_lab import Laboratory

HEAD = """
    from __future__ import annotations
    import enum
    from dataclasses import dataclass
    from typing import Literal, assert_never

    class Kind(enum.Enum):
        A = 1
        B = 2

    class Right(enum.Flag):
        R = 1
        W = 2

    class X:
        pass

    class Y:
        pass

    @dataclass
    class Box:
        kind: Kind
        item: X | Y
        state: int | None = None

        def change(self) -> None:
            self.state = 3

"""


def never(lab: Laboratory, body: str, **more: str) -> list[str]:
    """Arms that are marked in a function (``def entry`` is line 1 here), by line and kind."""
    offset = HEAD.count("\n")
    document = lab.study(HEAD + body.lstrip("\n"), **more)
    marked = [t for t in document.targets if t.never]
    assert not any(t.reachable for t in marked)
    are = "is" if len(marked) == 1 else "are"
    words = f"{len(marked)} of {len(document.targets)} goals {are} never taken"
    assert any(note.startswith(words) for note in document.notes) == bool(marked)
    return [f"{t.line - offset + 1}:{t.branch}" for t in marked]


PROVED = {
    "an enumeration": (
        """
    def entry(box: Box) -> int:
        match box.kind:
            case Kind.A:
                return 1
            case Kind.B:
                return 2
""",
        ["2:no-case"],
    ),
    "a union, and nothing left": (
        """
    def entry(item: X | Y) -> int:
        match item:
            case X():
                return 1
            case Y():
                return 2
            case _:
                assert_never(item)
""",
        ["7:case"],
    ),
    "a chain of isinstance": (
        """
    def entry(box: Box) -> int:
        if isinstance(box.item, X):
            return 1
        elif isinstance(box.item, Y):
            return 2
        else:
            raise ValueError(box.item)
""",
        ["4:else"],
    ),
    "is, without an else": (
        """
    def entry(kind: Kind) -> int:
        n = 0
        if kind is Kind.A:
            n = 1
        elif kind is Kind.B:
            n = 2
        return n
""",
        ["5:else"],
    ),
    "a literal": (
        """
    def entry(word: Literal["a", "b"]) -> int:
        if word == "a":
            return 1
        elif word == "b":
            return 2
        return 3
""",
        ["4:else"],
    ),
    "a variable": (
        """
    def entry(n: int) -> int:
        kind = Kind(n)
        match kind:
            case Kind.A | Kind.B:
                return 1
""",
        ["3:no-case"],
    ),
}


@pytest.mark.parametrize(("body", "arms"), PROVED.values(), ids=PROVED)
def test_what_mypy_proves(lab: Laboratory, body: str, arms: list[str]) -> None:
    assert never(lab, body) == arms


TAKEN = {
    "an attribute that a method changes": """
    def entry(box: Box) -> int:
        box.state = None
        box.change()
        match box.state:
            case None:
                return 1
        return 2
""",
    "the same with if": """
    def entry(box: Box) -> int:
        box.state = None
        box.change()
        if box.state is None:
            return 1
        return 2
""",
    "the same, the other way round": """
    def entry(box: Box) -> int:
        box.state = None
        box.change()
        if None is box.state:
            return 1
        return 2
""",
    "an int where a float is annotated": """
    def entry(number: float | str) -> int:
        if isinstance(number, float):
            return 1
        elif isinstance(number, str):
            return 2
        return 3
""",
    "the same with match": """
    def entry(number: complex) -> int:
        match number:
            case complex():
                return 1
            case _:
                return 2
""",
    "a variable that an inner function changes": """
    def entry(n: int) -> int:
        found: int | None = None
        def set_it() -> None:
            nonlocal found
            found = n
        set_it()
        if found is None:
            return 1
        return 2
""",
    "flags have combinations": """
    def entry(right: Right) -> int:
        match right:
            case Right.R:
                return 1
            case Right.W:
                return 2
        return 3
""",
    "a member is not there": """
    def entry(kind: Kind) -> int:
        match kind:
            case Kind.A:
                return 1
        return 2
""",
    "a guard": """
    def entry(kind: Kind, n: int) -> int:
        match kind:
            case Kind.A:
                return 1
            case Kind.B if n > 3:
                return 2
        return 3
""",
    "no annotation": """
    def entry(item) -> int:
        if isinstance(item, X):
            return 1
        elif isinstance(item, Y):
            return 2
        return 3
""",
    "mypy is silenced": """
    # mypy: ignore-errors
    def entry(word: str) -> int:
        match word:
            case "a":
                return 1
        return 2
""",
    "mypy is silenced in a line": """
    def entry(word: str) -> int:
        match word:  # type: ignore
            case "a":
                return 1
        return 2
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_what_may_be_taken(lab: Laboratory, body: str) -> None:
    assert never(lab, body) == []


def test_what_was_only_observed_is_no_proof(lab: Laboratory) -> None:
    body = PROVED["is, without an else"][0].replace("kind: Kind", "kind")
    seen = lab.directory / "seen.json"
    seen.write_text('{"app.entry": {"kind": ["app.Kind"]}}')
    assert never(lab, body, observed=str(seen)) == []
