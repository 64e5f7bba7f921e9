"""``fuzztui doctor``: what this machine has for fuzzing, and what to do about what it lacks."""

from __future__ import annotations

import argparse
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path

from fuzztui.cli.json_output import print_json
from fuzztui.cli.output import DONE, at_terminal, say
from fuzztui.cli.output import FAILED as FAILED_EXIT
from fuzztui.cli.progress import Counter
from fuzztui.kernel.base.terminals import wants_ascii
from fuzztui.kernel.base.text import several, visible
from fuzztui.tools.doctor.findings import FAILED, WARNING, finding_lines
from fuzztui.tools.doctor.local import TerminalFacts, local_findings


def doctor(options: argparse.Namespace) -> int:
    """Print findings about this machine. Returns 1 if something cannot work."""
    terminal = TerminalFacts(False)
    if at_terminal():
        size = shutil.get_terminal_size()
        terminal = TerminalFacts(True, size.columns, size.lines, wants_ascii(os.environ))
    findings = []
    with Counter() as line:
        for finding in local_findings(
            Path.cwd(), terminal, os.environ, lambda what: line.show_now(f"checking {what}")
        ):
            text, advice = visible(finding.text)[:1000], visible(finding.advice)[:1000]
            findings.append(replace(finding, text=text, advice=advice))
    failed = sum(finding.state == FAILED for finding in findings)
    warnings = sum(finding.state == WARNING for finding in findings)
    if options.json:
        rows = [asdict(finding) for finding in findings]
        print_json("doctor", {"ready": not failed, "findings": rows})
    else:
        print("\n".join(finding_lines(findings)))
    summary = f"{several(failed, 'failure')}, {several(warnings, 'warning')}"
    say(summary if failed or warnings else "all is well")
    return FAILED_EXIT if failed else DONE
