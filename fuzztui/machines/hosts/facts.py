"""Facts about the host on which this process runs, for ``fuzztui hosts check``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fuzztui.machines.hosts.receive import campaign_here
from fuzztui.run.afl.launcher import afl_version
from fuzztui.run.campaign import Campaign, CampaignError, load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, Unfit
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.ask import ready
from fuzztui.tools.doctor.facts import machine_facts

CHECKS: Final = "~/.cache/fuzztui/check"
"""The directory of what is shipped for a check only; each check removes its own."""

_MISSING_MODULE = re.compile(r"No module named '([A-Za-z0-9_]+)")
_LIBRARIES_S: Final = 10
_ELF: Final = b"\x7fELF"
_MACHINE: Final = slice(18, 20)


def host_facts(run: Path, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer what ``fuzztui hosts check`` asks. Blocking: the target may be imported.

    ``engine``: the kind of the campaign's engine, "": no campaign. ``path``: where the run would
    be, as ``~/...`` or absolute. ``campaign``: the text of a campaign whose files have been shipped
    here; its target is tried. ``remove``: the run was for this check, and is removed.
    """
    found: dict[str, Any] = {}
    text = body.get("campaign")
    if isinstance(text, str):
        found["target"] = _target(run, text)
    else:
        found = machine_facts(Path(str(body.get("path") or run)).expanduser())
        if body.get("engine") == AFL:
            fuzzer = shutil.which("afl-fuzz") or ""
            found["afl"] = {"path": fuzzer, "version": afl_version(fuzzer) if fuzzer else ""}
    if body.get("remove") is True and run.parent == Path(CHECKS).expanduser() and run.name != "..":
        shutil.rmtree(run, ignore_errors=True)
    return found


def _target(run: Path, text: str) -> dict[str, Any]:
    """Whether the campaign's target can be started here: ``problem`` ("": it can), ``advice``."""
    try:
        # What needs an extra of fuzztui (types, the order of mutants) is done at the hub.
        campaign = load(RunDir(run).campaign, text=campaign_here(text, run)).campaign
    except CampaignError as e:
        first = e.problems[0]
        return {"problem": first.text, "key": first.key}
    try:
        if campaign.kind == AFL:
            return _program(campaign)
        made = ready(campaign).made
    except SupervisorError as e:
        key, advice = e.key if isinstance(e, Unfit) else "", ""
        if module := _MISSING_MODULE.search(str(e)):
            python = campaign.target["python"]
            advice = f"install its package there: {python} -m pip install {module[1]}"
        return {"problem": str(e), "key": key, "advice": advice}
    return {"problem": "", "made": made}


def _program(campaign: Campaign) -> dict[str, Any]:
    """Whether the program of an AFL++ target fits this machine. It is not run."""
    if campaign.target["build"]:  # with [mutants]: built here
        compiler = shutil.which("afl-cc") or shutil.which("afl-clang-fast")
        problem = "" if compiler else "afl-cc is not installed, which builds the mutants"
        return {"problem": problem, "advice": "install AFL++ with its compilers there"}
    program = campaign.target["command"][0]
    with Path(program).open("rb") as file, Path("/proc/self/exe").open("rb") as ours:
        head, own = file.read(64), ours.read(64)
    if head.startswith(_ELF) and head[_MACHINE] != own[_MACHINE]:
        return {
            "problem": f"{program} is for another processor than {os.uname().machine}",
            "advice": "use hosts of one architecture, or build on the host and name that program",
        }
    missing = _missing_libraries(program) if head.startswith(_ELF) else []
    if missing:
        return {
            "problem": f"{program} needs libraries that are not installed: {', '.join(missing)}",
            "advice": "install them there, or link the program statically in target.build",
        }
    return {"problem": ""}


def _missing_libraries(program: str) -> list[str]:
    """The names of shared libraries that the loader does not find."""
    ldd = shutil.which("ldd")
    if ldd is None:
        return []
    try:
        done = subprocess.run(
            [ldd, program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LIBRARIES_S,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.split()[0] for line in done.stdout.splitlines() if line.endswith("=> not found")]
