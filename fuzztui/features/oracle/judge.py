"""Judge the replies of the oracle commands: whether they show a bug, its signature and title.

Signatures must be equal for the same presumed cause. Numbers, file names and quoted text are left
out, because they come from the input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Final

from fuzztui.engines.execute.message_oracle import without_numbers
from fuzztui.engines.findings.compare import cut, from_difference
from fuzztui.features.oracle.command import PATIENCE, OracleCommand, OracleReply, oracle_commands
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS
from fuzztui.run.campaign import Campaign
from fuzztui.run.process.execute import ProcessMark

_SHOWN: Final = 60
_TITLE: Final = 150
_REPORTED: Final = 2000
_LONGEST_LINE: Final = 4096

_COMPLAINT: Final = re.compile(r"error|fatal|assert|panic|fail|abort", re.IGNORECASE)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`']*['`]|‘[^’]*’|“[^”]*”")
_SIGN: Final = re.compile(r"(?<!\w)-(?=[0-9])")
_Cause = Callable[[bool], str]
"""Returns the text of a signature; called with True: the text in older versions."""
_FILE: Final = re.compile(r"[^\s:\"'()]*/[^\s:\"'()]*")


@dataclass(frozen=True, slots=True)
class OracleFinding:
    """A bug that the oracle found with an input.

    ``category`` and ``signature`` become those of the finding.
    """

    category: str
    signature: str
    title: str
    same: object = None
    """Compared between two runs on an input: equal if they show the same difference."""
    before: str = ""
    """The signature in runs of older versions; an empty string if it is the same."""


def suspicious(pattern: re.Pattern[str], answer: OracleReply) -> OracleFinding | None:
    """Return the finding if a command printed a message that matches ``pattern``, else None."""
    for stream in (answer.err, answer.out):
        text = stream.decode(errors="replace")
        if found := pattern.search(text):
            start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
            line = " ".join(text[start : end if end >= 0 else None][:_LONGEST_LINE].split())
            signature, before = _signatures("message", partial(_without_numbers, found[0]))
            return OracleFinding(
                CRASH.category, signature, cut(visible(line), _TITLE), before=before
            )
    return None


def differing(names: Sequence[str], ours: OracleReply, theirs: OracleReply) -> OracleFinding | None:
    """Return the difference if only one command accepts, or both accept and print other text.

    None if they agree, or both reject.
    """
    pair = ours, theirs
    if ours.accepts != theirs.accepts:
        parts = [f"{n} {cut(_outcome_text(a), _TITLE)}" for n, a in zip(names, pair, strict=True)]
        return _difference(
            lambda old: " / ".join(_cause(answer, old) for answer in pair),
            ", ".join(parts),
            (ours.how, theirs.how),
        )
    if not ours.accepts or ours.digest == theirs.digest:
        return None
    lines = _first_other_lines(ours.out, theirs.out)
    a, b = from_difference(visible(lines[0]), visible(lines[1]), _SHOWN)
    title = f"{names[0]} printed {a or 'nothing'}, {names[1]} {b or 'nothing'}"
    if a == b:
        title = f"{' and '.join(names)} printed what looks alike"
    return _difference(
        lambda old: "output " + " / ".join(_telling(line, old) or "nothing" for line in lines),
        title,
        (ours.digest, theirs.digest),
    )


def _outcome_text(answer: OracleReply) -> str:
    """The outcome of a command, as one line."""
    if answer.accepts:
        return "accepted it"
    if answer.status is None:
        return "did not finish"
    if answer.status < 0:
        how = answer.how
    else:
        how = f"rejected it (exit status {answer.status})"
    complaint = visible(_complaint(answer))
    return f"{how}: {complaint}" if complaint else how


def _report(name: str, line: str, answer: OracleReply) -> str:
    """The outcome and the output of one command; ``line``: the shell command that runs it."""
    lines = [f"{name} {cut(_outcome_text(answer), _TITLE)}", f"  {visible(line)}"]
    for word, stream in (("stdout", answer.out), ("stderr", answer.err)):
        if text := stream[: 2 * _REPORTED].decode(errors="replace").strip():
            lines += [f"{word}:", cut(visible(text, lines=True), _REPORTED)]
    return "\n".join(lines) + "\n"


class OracleJudge:
    """Runs the oracle commands on inputs and judges their replies."""

    def __init__(
        self, commands: Sequence[OracleCommand], message: str, mark: ProcessMark | None = None
    ) -> None:
        """``message``: a regular expression, "" for none; ``mark``: see :func:`open_sandbox`."""
        self.commands = commands
        self.names = [command.name for command in commands]
        self._message = re.compile(message) if message else None
        self._mark = mark

    @classmethod
    def of(cls, campaign: Campaign, mark: ProcessMark | None = None) -> OracleJudge:
        """Return the judge of a campaign. Raises :class:`SupervisorError`."""
        return cls(oracle_commands(campaign), campaign.table("oracle")["message"], mark)

    @property
    def request(self) -> str:
        """Pattern and commands as text; if it changes, all inputs must be judged again."""
        message = self._message.pattern if self._message else ""
        return json.dumps([message, *([*one.program.command] for one in self.commands)])

    async def ask(self, data: bytes, patience: float = 1) -> list[OracleReply]:
        """Return the replies of the commands. Raises :class:`SupervisorError`, OSError."""
        return [await one.ask(data, self._mark, patience=patience) for one in self.commands]

    def differing(self, answers: Sequence[OracleReply]) -> OracleFinding | None:
        """Return the difference between two replies; None if equal, or if there is one reply."""
        return differing(self.names, *answers) if len(answers) == 2 else None

    async def findings(self, data: bytes) -> list[tuple[OracleFinding, list[OracleReply]]]:
        """Return the bugs that an input shows, with the replies. A difference must occur twice.

        Raises :class:`SupervisorError`, OSError as :meth:`ask` does.
        """
        found: list[tuple[OracleFinding, list[OracleReply]]] = []
        answers = await self.ask(data)
        if self._message and (verdict := suspicious(self._message, answers[0])):
            found.append((verdict, answers))
        before = self.differing(answers)
        for _ in range(2):  # with a longer time limit the difference may be another one
            if before is None:
                break
            answers = await self.ask(data, PATIENCE)
            after = self.differing(answers)
            if after and after.same == before.same:
                found.append((after, answers))
                break
            before = after
        return found

    def report(self, answers: Sequence[OracleReply], file: Path) -> str:
        """Return the details of a finding: replies and shell commands for the input ``file``."""
        pairs = zip(self.commands, answers, strict=True)
        return "\n".join(_report(one.name, one.line(file), answer) for one, answer in pairs)


def _difference(cause: _Cause, title: str, same: object) -> OracleFinding:
    signature, before = _signatures(DIFFERS.category, cause)
    return OracleFinding(DIFFERS.category, signature, visible(title), same, before)


def _signatures(word: str, cause: _Cause) -> tuple[str, str]:
    """The signature, and the one of older versions; the second is empty if they are equal."""
    now, before = (f"{word} @ {visible(cause(old))}" for old in (False, True))
    return now, "" if before == now else before


def _cause(answer: OracleReply, old: bool) -> str:
    if answer.how != "refused":
        return answer.how
    return f"refused: {_telling(_complaint(answer), old)}"


def _complaint(answer: OracleReply) -> str:
    """The line with the error message; a compiler may print the location first."""
    for stream in (answer.err, answer.out):
        lines = [line.strip() for line in stream.decode(errors="replace").splitlines()]
        if said := [line[:_LONGEST_LINE] for line in lines if line]:
            return next((line for line in said if _COMPLAINT.search(line)), said[0])
    return ""


def _telling(line: str, old: bool) -> str:
    return _without_numbers(_SIGN.sub("", _FILE.sub("FILE", _QUOTED.sub("''", line))), old)


def _without_numbers(text: str, old: bool) -> str:
    return without_numbers(text, digits_only=old)


def _first_other_lines(ours: bytes, theirs: bytes) -> tuple[str, str]:
    """The first lines that differ; empty if only the part that was not kept differs."""
    for pair in zip_longest(ours.split(b"\n"), theirs.split(b"\n")):
        if pair[0] != pair[1]:
            a, b = ((line or b"").decode(errors="backslashreplace") for line in pair)
            return a[:_LONGEST_LINE], b[:_LONGEST_LINE]
    return "", ""
