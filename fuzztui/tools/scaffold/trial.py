"""Try a Python target on some inputs, in a child process: how many of them does it accept?"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.base.text import visible
from fuzztui.run.campaign import load
from fuzztui.run.inprocess.ask import NoAnswer, asked
from fuzztui.tools.export.recorded import Recorded, RecordError

Progress = Callable[[int, int], None]
"""Called with how many inputs were run, and of how many."""

_ITERATORS: Final = frozenset({
    "builtins.generator", "builtins.map", "builtins.filter", "builtins.zip",
    "builtins.enumerate", "itertools.chain", "itertools.islice", "itertools.starmap",
})  # fmt: skip

_MISUSE: Final = ("TypeError", "AttributeError", "NotImplementedError")

_LIMIT_S: Final = 60.0
_REJECTS: Final = "ValueError"
"""The exception of the standard library by which functions reject input."""


@dataclass(slots=True)
class InputTrial:
    """What a target did with inputs."""

    inputs: int = 0
    accepted: list[bool] = field(default_factory=list)
    """Whether each input was accepted, by number of the input."""
    expected: Counter[str] = field(default_factory=Counter)
    """Rejected inputs by class of the exception: its most general base class in the package, or
    ValueError."""
    failures: Counter[str] = field(default_factory=Counter)
    """How often each other exception was raised."""
    lazy: int = 0
    """Accepted inputs for which an iterator was returned: perhaps nothing has happened yet."""
    unseen: Counter[str] = field(default_factory=Counter)
    """Accepted inputs whose value cannot be compared as a whole, by the class of the first part."""
    instead: list[tuple[str, ...]] = field(default_factory=list)
    """References that could show the value, for each value that cannot be compared as a whole."""
    hung: int = 0
    died: int = 0
    seconds: float = 0.0
    """From the first answer to the last one."""

    @property
    def accepted_count(self) -> int:
        """Inputs for which the target returned."""
        return sum(self.accepted)

    @property
    def is_misused(self) -> bool:
        """Whether most inputs raised what a call with wrong arguments raises."""
        return 2 * sum(self.failures[name] for name in _MISUSE) > self.inputs

    @property
    def is_lazy(self) -> bool:
        """Whether most results are iterators."""
        return 2 * self.lazy > self.accepted_count > 0

    @property
    def rejected_share(self) -> float:
        """The share of inputs that were not accepted; 1 without inputs."""
        return 1.0 - self.accepted_count / self.inputs if self.inputs else 1.0

    def with_counts_of(self, other: InputTrial) -> InputTrial:
        """Return both trials as one."""
        return InputTrial(
            self.inputs + other.inputs,
            self.accepted + other.accepted,
            self.expected + other.expected,
            self.failures + other.failures,
            self.lazy + other.lazy,
            self.unseen + other.unseen,
            self.instead + other.instead,
            self.hung + other.hung,
            self.died + other.died,
            self.seconds + other.seconds,
        )

    @property
    def rate(self) -> float:
        """Inputs per second; 0: not known."""
        return self.inputs / self.seconds if self.seconds else 0.0

    @property
    def fits(self) -> int:
        """Inputs that the target was made for: accepted ones, and those it rejects itself."""
        return self.accepted_count + sum(self.expected.values())


def run_trial(
    file: Path,
    text: str,
    inputs: Sequence[bytes],
    packages: Iterable[str],
    progress: Progress = lambda done, of: None,
) -> InputTrial:
    """Run the target of a campaign on inputs, as an engine does.

    ``file``: where the campaign file would be; ``text``: its content. ``packages``: the
    application's. Raises CampaignError, :class:`NoAnswer`.
    """
    campaign = load(file, text=text).campaign
    own = tuple(packages)
    trial = InputTrial(len(inputs), [False] * len(inputs))
    with temporary_directory() as folder:
        paths = []
        for number, data in enumerate(inputs):
            path = Path(folder) / f"{number:04}"
            path.write_bytes(data)
            paths.append(str(path))
        done, began = 0, 0.0
        try:
            with asked(campaign, "--record", {"inputs": paths}, limit_s=_LIMIT_S) as answers:
                for answer in answers:
                    number, result = _recorded(answer)
                    if 0 <= number < len(inputs):
                        done += 1
                        began = began or time.monotonic()
                        trial.seconds = time.monotonic() - began
                        _count(trial, number, result, own)
                        progress(done, len(inputs))
                    if done == len(inputs):
                        break  # not at its end: a thread of the target may prevent that
        except NoAnswer:
            if not done:
                raise
            trial.inputs = done  # a slow target: what is known is enough
    if not done:
        raise NoAnswer("no input was run")
    return trial


def _recorded(answer: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    match answer.get("recorded"):
        case [int(number), dict(result)]:
            return number, result
    return -1, {}


def _count(trial: InputTrial, number: int, result: dict[str, Any], own: tuple[str, ...]) -> None:
    match result.get("outcome"):
        case "success":
            trial.accepted[number] = True
            match result.get("value"):
                case {"type": str(name), "unseen": [str(part), *_]}:
                    trial.lazy += name in _ITERATORS
                    trial.unseen[visible(part)] += 1
                    with contextlib.suppress(RecordError):
                        trial.instead.append(Recorded.of(result).instead)
        case "hung" | "timeout":
            trial.hung += 1
        case "died":
            trial.died += 1
        case _ if isinstance(error := result.get("error"), dict):
            name, is_expected = _class_of(error, own)
            (trial.expected if is_expected else trial.failures)[name] += 1
        case _:
            trial.expected["rejected by the generator"] += 1


def _class_of(error: dict[str, Any], own: tuple[str, ...]) -> tuple[str, bool]:
    """Return a name of the exception for ``target.expected``, and whether it rejects the input."""
    bases = [base for base in error.get("bases") or [] if isinstance(base, str)]
    mine = [base for base in bases if base.partition(".")[0] in own and "." in base]
    if mine:
        return mine[-1], True
    if _REJECTS in bases:
        return _REJECTS, True
    return (bases or [str(error.get("class"))])[0], False
