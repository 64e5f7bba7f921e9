"""``fuzztui hosts check``: whether the machines of ``[hosts]`` are ready for a campaign."""

from __future__ import annotations

import argparse
import asyncio
import json

from fuzztui.base.text import several
from fuzztui.campaign import FrozenCampaign
from fuzztui.campaign.places import HostPlace, address_problem, parse_host, places
from fuzztui.cli.finding_lines import finding_lines
from fuzztui.cli.output import DONE, FAILED, USAGE, CliError, say
from fuzztui.cli.progress import Counter
from fuzztui.cli.run import load_file
from fuzztui.cli.samples import campaign_or_project
from fuzztui.hosts.check import HostReport, check_hosts


def check_all(options: argparse.Namespace) -> int:
    """Check all hosts at the same time. Returns 1 if one is not ready."""
    loaded: FrozenCampaign | None = None
    if options.file is None and options.hosts:
        hosts = _given(options.hosts)
    else:
        file = campaign_or_project(options.file)
        loaded = load_file(file, options.overrides, options.hosts)
        hosts = loaded.campaign.hosts
        if not hosts:
            message = f"{file}: names no hosts; add [hosts], or --host user@box*8"
            raise CliError(message, USAGE)
    line = Counter()
    line.show_now(f"checking {several(len(hosts), 'host')}")
    try:
        reports = asyncio.run(check_hosts(hosts, loaded, line.show_text))
    finally:
        line.clear()
    if options.json:
        print(json.dumps([report.to_json() for report in reports], indent=1))
    else:
        print("\n\n".join(map(_shown, reports)))
    ready = sum(report.is_ready for report in reports)
    say(f"{ready} of {several(len(reports), 'host is', 'hosts are')} ready")
    return DONE if ready == len(reports) else FAILED


def _given(texts: list[str]) -> tuple[HostPlace, ...]:
    """Return the hosts of ``--host``, without a campaign. Raises :class:`CliError`."""
    table: dict[str, dict[str, int]] = {}
    for text in texts:
        try:
            address, instances = parse_host(text)
        except ValueError as e:
            raise CliError(f"--host {text}: {e}", USAGE) from None
        if problem := address_problem(address):
            raise CliError(f"--host {text}: {address!r} {problem}", USAGE)
        table.setdefault(address, {}).update({} if instances is None else {"instances": instances})
    return places(table, 1)


def _shown(report: HostReport) -> str:
    place = report.place
    state = "ready" if report.is_ready else "not ready"
    head = f"{place.name} ({place.address or 'this machine'}): {state}"
    return "\n".join([head, *finding_lines(report.findings)])
