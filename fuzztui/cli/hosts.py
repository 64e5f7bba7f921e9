"""``fuzztui hosts check``: whether the machines of ``[hosts]`` are ready for a campaign."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Final

from fuzztui.cli.json_output import print_rows
from fuzztui.cli.output import DONE, FAILED, UsageError, say
from fuzztui.cli.progress import Counter
from fuzztui.cli.run import load_file
from fuzztui.cli.samples import campaign_or_project
from fuzztui.kernel.base.text import several
from fuzztui.machines.hosts.check import HostReport, check_hosts
from fuzztui.run.campaign import CampaignError, FrozenCampaign, load
from fuzztui.run.campaign.places import HostPlace
from fuzztui.tools.doctor.findings import finding_lines

_NO_CAMPAIGN: Final = '[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n'
"""The campaign file if only hosts are checked and none is given; the target is not tried."""


def check_all(options: argparse.Namespace) -> int:
    """Check all hosts at the same time. Returns 1 if one is not ready."""
    loaded: FrozenCampaign | None = None
    if options.file is None and options.hosts:
        hosts = _given(options)
    else:
        file = campaign_or_project(options.file)
        loaded = load_file(file, options.overrides, options.hosts)
        hosts = loaded.campaign.hosts
        if not hosts:
            message = f"{file}: names no hosts; add [hosts], or --host user@box*8"
            raise UsageError(message)
    line = Counter()
    line.show_now(f"checking {several(len(hosts), 'host')}")
    try:
        reports = asyncio.run(check_hosts(hosts, loaded, line.show_text))
    finally:
        line.clear()
    if options.json:
        print_rows("hosts-check", "hosts", [report.to_json() for report in reports])
    else:
        print("\n\n".join(map(_shown, reports)))
    ready = sum(report.is_ready for report in reports)
    say(f"{ready} of {several(len(reports), 'host is', 'hosts are')} ready")
    return DONE if ready == len(reports) else FAILED


def _given(options: argparse.Namespace) -> tuple[HostPlace, ...]:
    """Return the hosts of ``--host`` and ``--set``, without a campaign. Raises CliError."""
    try:
        loaded = load(Path("hosts"), options.overrides, text=_NO_CAMPAIGN, hosts=options.hosts)
    except CampaignError as e:
        raise UsageError(str(e)) from None
    return loaded.campaign.hosts


def _shown(report: HostReport) -> str:
    place = report.place
    state = "ready" if report.is_ready else "not ready"
    head = f"{place.name} ({place.address or 'this machine'}): {state}"
    return "\n".join([head, *finding_lines(report.findings)])
