"""The table ``[oracle]``: what is a bug in addition to crashes and hangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzztui.engines.keys import Key
from fuzztui.engines.kinds import EngineKind
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.table import CampaignLoad, CampaignTable
from fuzztui.run.campaign.values import BUILD, SOURCE, absolute, found_on_path, in_build, program

ORACLE = (
    Key(
        "message",
        "pattern",
        "An exception whose class and message (`package.Class: message`) contain a match is a "
        "failure, even if it is `expected`. The matched text is a part of the signature.",
        default="",
    ),
    Key(
        "against",
        "callable",
        "A second implementation, run on every entry: an input that only one of the two accepts, "
        "or for which they return different values, is a finding.",
        default="",
    ),
    Key(
        "always",
        "boolean",
        "Run `against` in every trial: slower, but also finds differences without new coverage.",
        default=False,
    ),
)
"""The keys for Python targets."""

AFL_ORACLE = (
    Key(
        "message",
        "pattern",
        "An entry is a finding if the output of `run` contains a match, whatever the exit status. "
        "The matched text is the signature.",
        default="",
    ),
    Key(
        "run",
        "command",
        "The command that is run on every entry, with `@@` as in `target.command`. A program with "
        "a slash is relative to the campaign file or, with `target.build`, to the build directory; "
        "any other must be on PATH. Arguments may begin with $BUILD/ or $SOURCE/. The command runs "
        "in an empty directory inside the run. Default: `target.command` in its own directory.",
    ),
    Key(
        "against",
        "command",
        "A second command, written like `run`: an entry for which only one of the two exits with "
        "status 0, or for which their stdout differs, is a finding.",
    ),
    Key(
        "timeout",
        "duration",
        "Time limit of each command. Default: five times `target.timeout`, at least 2s.",
    ),
)
"""The keys for AFL++ targets."""


class OracleTable(CampaignTable):
    """``[oracle]``; an AFL++ target's has commands."""

    def keys_for(self, kind: EngineKind | None) -> Sequence[Key] | None:
        """The keys for AFL++ have commands in place of functions."""
        if kind is None:
            return AFL_ORACLE
        return self.keys if kind.oracle else None

    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: CampaignLoad) -> None:
        """Resolve the commands of an AFL++ target's oracle."""
        oracle, target = campaign.table(self.name), campaign.target
        if "command" not in target:
            return
        timeout = oracle.pop("timeout")
        oracle["timeout_s"] = max(2.0, 5 * target["timeout_s"]) if timeout is None else timeout
        for key in ("run", "against"):
            arguments: list[str] = oracle[key] or []
            try:
                used = [_resolved(argument, campaign) for argument in arguments]
                name = used[0] if used else ""
                if name and "/" not in name:
                    where = "made by target.build" if target["build"] else "next to the file"
                    used[0] = found_on_path(name, after=f"; for a program {where} write ./{name}")
                elif name and target["build"]:
                    used[0] = str(absolute(name, campaign.build_directory))
                elif name:
                    used[0] = program(name, load.base(f"oracle.{key}"))
            except ValueError as e:
                load.problem(f"oracle.{key}", str(e))
                continue
            oracle[key] = used
            if arguments and not target["build"]:
                frozen[key] = [used[0], *arguments[1:]]

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield an oracle that decides nothing, or that would report every mutant."""
        oracle = campaign.table(self.name)
        if oracle["against"] and campaign.target.get("suite"):
            yield "oracle.against", "is for one function; remove it"
        if not oracle["message"] and not oracle["against"]:
            yield "oracle", "has no effect without message or against; set one of them"
        if oracle.get("always") and not oracle["against"]:
            yield "oracle.always", "has no effect without oracle.against; set both or neither"
        if oracle.get("timeout_s") == 0:
            yield "oracle.timeout", "is 0, so no command would be run; set a time, such as 2s"
        command = campaign.target.get("command")
        if command and oracle["against"] == (oracle["run"] or command):
            yield "oracle.against", "is the same command as oracle.run; name another one"
        # The oracle of AFL++ targets does not judge the mutants' turns, only transferred inputs.
        if oracle["against"] and campaign.table("mutants") and not command:
            yield (
                "oracle.against",
                "would report every mutant as a difference; remove it, or remove [mutants]",
            )


def _resolved(argument: str, campaign: Campaign) -> str:
    """Replace $BUILD/ or $SOURCE/ at the start of an argument. Raises ValueError."""
    if in_build(argument):
        if not campaign.target["build"]:
            raise ValueError(f"{argument!r} needs target.build, which is not set")
        return str(absolute(argument.removeprefix(BUILD), campaign.build_directory))
    if argument.startswith(SOURCE):
        return str(absolute(argument.removeprefix(SOURCE), Path(campaign.target["source"])))
    return argument


def spec(campaign: Campaign, directory: Path, path: Path) -> dict[str, dict[str, Any]]:
    """Return the table, for in-process engines, which judge their entries themselves."""
    table = campaign.table("oracle")
    return {"oracle": table} if table else {}


TABLE = OracleTable("oracle", "what is a bug in addition to crashes and hangs", ORACLE)
