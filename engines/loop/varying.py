"""Inputs that vary between two runs: propose the fixed clock."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from fuzztui.engines.execute.forks import ChildHost
from fuzztui.engines.findings.unrepeatable import why_varying
from fuzztui.engines.loop.context import Context
from fuzztui.kernel.wire.events import VARYING


def propose_clock(context: Context, inputs: Sequence[bytes], of: str) -> None:
    """Look at what varying inputs call, and report it once in a run, by the first instance.

    ``of``: what was run, such as "31 entries".
    """
    if not inputs or context.reported.varying or context.spec.instance != "main":
        return
    host, suite = ChildHost.of(context.spec.target, ""), context.target.suite
    if suite is not None:
        host = replace(host, before=suite.leave)
    with contextlib.suppress(OSError):  # no process can be started now
        if text := why_varying(inputs, of, context.executor, host):
            context.reported.varying = True
            context.log.message("warning", text, VARYING)
