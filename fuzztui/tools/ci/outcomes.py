"""What kept inputs did in an earlier run: an input that does something else now is a finding.

The file ``outcomes.json`` of the kept corpus has the outcome of each input as a text: what the
value holds, as exported tests compare it, or the class of the exception; if the target compares
values by itself (``target.compare``), only that it returned one. An outcome that varies (with
another date, for example) is an empty text, and is not compared.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.execute.message_oracle import without_numbers
from fuzztui.engines.findings.compare import from_difference
from fuzztui.kernel.base.atomic import publish_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import read_if_regular, read_regular
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.wire.finding_kinds import DIFFERS
from fuzztui.run.campaign import Campaign
from fuzztui.run.inprocess.ask import asked
from fuzztui.tools.ci.corpus import MAX_INPUT_BYTES
from fuzztui.tools.export.recorded import Recorded, RecordError

_MAX_TEXT: Final = 4_000
"""Characters of an outcome that are kept; a longer one ends with the hash of all of it."""
_MAX_BYTES: Final = 1 << 28
_SHOWN: Final = 60
_MAX_LINES: Final = 60
_DIGITS: Final = 32


@dataclass(slots=True)
class KeptOutcomes:
    """The outcomes of a kept corpus, in ``file``; ``campaign`` has the target."""

    file: Path
    campaign: Campaign
    constants: Path
    """The constants that a generator draws: with others an input means something else."""
    known: dict[str, str] = field(init=False)
    """The outcome by the hash of the input."""
    changed: dict[Path, tuple[str, str]] = field(default_factory=dict)
    """Signature and present outcome of each input that does something else now."""
    cut: int = 0
    """Inputs that the last step did not compare or record, because the time was over."""
    _drawn: bytes = b""

    def __post_init__(self) -> None:
        """Read the file; one that is missing or damaged has no outcomes."""
        try:
            found = loads(read_regular(self.file, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            found = {}
        known = found if isinstance(found, dict) else {}
        self.known = {str(key): str(text) for key, text in known.items()}

    @property
    def judged_by_tests(self) -> bool:
        """Whether the target is a suite, whose tests judge inputs: nothing is compared."""
        return bool(self.campaign.target.get("suite"))

    def changes(
        self, files: Iterable[Path], instance: Path, until: float = math.inf
    ) -> dict[Path, dict[str, str]]:
        """Run known inputs; return those that do something else than before.

        The values are fields of ``FindingDescribed``.

        ``instance``: the instance whose constants a generator draws. ``until``: the monotonic time
        after which no more inputs are run.
        """
        found = {}
        self._read_constants()
        files = () if self.judged_by_tests else files
        known = [file for file in files if self.known.get(self._key(file))]
        self.cut = len(known)
        for file, now in self._outcomes(known, instance, until):
            self.cut -= 1
            before = self.known[self._key(file)]
            if now and now != before:
                ours, theirs = before.split("\n"), now.split("\n")
                lines = zip([*ours, ""], [*theirs, ""], strict=False)
                old, new = next((pair for pair in lines if pair[0] != pair[1]), (before, now))
                diff = islice(unified_diff(ours, theirs, "before", "now", lineterm=""), _MAX_LINES)
                name = old.strip().partition(": ")[0] if ": " in old else without_numbers(old)
                kind = before.partition("\n")[0] if "\n" in before else "value"
                signature = f"{DIFFERS.category} from an earlier run @ {visible(f'{kind} {name}')}"
                shown = from_difference(old.strip(), new.strip(), _SHOWN)
                self.changed[file] = signature, now
                found[file] = {
                    "category": DIFFERS.category,
                    "signature": signature,
                    "title": visible(f"does something else than in an earlier run: {shown[0]}, "
                                     f"now {shown[1]}"),
                    "detail": "\n".join(diff) + "\n",
                }  # fmt: skip
        return found

    def learn(
        self,
        files: Sequence[Path],
        accepted: Collection[str],
        instance: Path,
        until: float = math.inf,
    ) -> None:
        """Record the outcomes of new inputs, and of changes that the user has accepted.

        ``accepted``: signatures. ``instance``, ``until``: see :meth:`changes`. Raises OSError.
        """
        if self.judged_by_tests:
            return
        self._read_constants()
        for file, (signature, now) in self.changed.items():
            if signature in accepted:
                self.known[self._key(file)] = now
        new = [file for file in files if self._key(file) not in self.known]
        now_s = time.monotonic()
        first = dict(self._outcomes(new, instance, now_s + (until - now_s) / 2))
        again = dict(self._outcomes([*first], instance, until, other_date=True))
        for file, text in again.items():  # those for which there was no time: in a later run
            self.known[self._key(file)] = text if text == first[file] else ""
        self.cut = len(new) - len(again)
        publish_text(self.file, json.dumps(self.known, indent=0, sort_keys=True))

    def _outcomes(
        self, files: Sequence[Path], instance: Path, until: float, *, other_date: bool = False
    ) -> Iterable[tuple[Path, str]]:
        """What each input does now; an empty text: a failure, or nothing that can be compared."""
        if not files or time.monotonic() >= until:
            return
        inputs = [str(file.absolute()) for file in files]
        request = {"inputs": inputs, "other_date": other_date}
        own = bool(self.campaign.target.get("compare"))
        with asked(self.campaign, "--record", request, instance) as answers:
            for answer in answers:
                own |= answer.get("compares") is True
                own = own and answer.get("shows") is not True
                match answer.get("recorded"):
                    case [int(at), dict(found)] if 0 <= at < len(files):
                        yield files[at], self._text(found, own=own)
                if time.monotonic() >= until:
                    return

    def _text(self, found: Mapping[str, Any], *, own: bool) -> str:
        """The text of an outcome; empty if it cannot be compared.

        ``own``: the target compares values by itself. Its comparison needs the values, so that the
        text only contains that there is one.
        """
        try:
            recorded = Recorded.of(found)
        except RecordError:
            return ""
        text = ""
        if recorded.outcome == "invalid" and recorded.error is not None:
            text = f"raised {recorded.error.qualified}"
        elif recorded.outcome == "success" and own:
            text = "returned a value"
        elif recorded.outcome == "success" and recorded.value is not None:
            text = recorded.value.text
            text = str(ast.literal_eval(text)) if recorded.described else text
        digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}... {digest}"

    def _read_constants(self) -> None:
        self._drawn = read_if_regular(self.constants, MAX_INPUT_BYTES) or b""

    def _key(self, file: Path) -> str:
        """The hash by which the outcome of an input is kept."""
        data = read_if_regular(file, MAX_INPUT_BYTES) or b""
        if self._drawn:  # hashes, joined: no other pair has the same bytes
            data = b"".join(hashlib.sha256(part).digest() for part in (data, self._drawn))
        return hashlib.sha256(data).hexdigest()[:_DIGITS]
