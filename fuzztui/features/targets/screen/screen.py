"""The Targets screen: the targets of a campaign of several with their shares, which keys change."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size

from fuzztui.features.targets.fold import TargetRow, TargetRows, target_rows
from fuzztui.features.targets.screen.actions import TargetContext
from fuzztui.features.targets.screen.columns import STYLES, columns
from fuzztui.features.targets.status import target_run
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Finding, State
from fuzztui.tui.base import format, shell
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.weighed import WeighedScreen
from fuzztui.tui.labels.commands import commands_naming
from fuzztui.tui.labels.details import pair, title

MAX_FINDINGS = 20
"""Findings that are listed in the details."""


class TargetsScreen(WeighedScreen[TargetRow]):
    """A row for each target, and the details of one."""

    TAB = "targets"
    CONTEXT = TargetContext
    ABSENT = "this campaign has one target"
    SCOPES = ("listing", "marking")
    HINT = "words: xml, or conditions such as state=waiting"

    @classmethod
    def is_present(cls, state: State) -> bool:
        """Whether the campaign has several targets."""
        return bool(state.part(TargetRows).targets)

    def make_table(self) -> BigTable[TargetRow]:
        """Return the table, the largest shares first."""
        table = BigTable(
            columns(self._weight_asked), empty="no targets yet", rank=lambda row: -row.share
        )
        table.own_order = "largest share first"
        return table

    def sources(self) -> Sequence[object]:
        """Return the figures, and what the instances report."""
        state = self.campaign
        rows = [(i.state, i.reason, i.stats) for i in list(state.instances.values())]
        return [*state.part(TargetRows).targets.values(), *rows, len(state.findings)]

    def rebuild(self, *, reset: bool) -> None:
        """Update the rows."""
        self.table.replace_rows(self._rows, target_rows(self.campaign), reset=reset)

    def details(self, row: TargetRow, preview: None, size: Size) -> Sequence[Line]:
        """Return the details of a target."""
        return target_lines(row, self.campaign, self._attach_line(row))

    def _attach_line(self, row: TargetRow) -> str:
        """The command that opens the run of a target; empty: there is no run directory."""
        run = self.host.run_dir
        words = [] if run is None else ["fuzztui", "attach", str(target_run(run, row.name))]
        return shell.command(words)

    # -------------------------------------------------------------- looking

    def do_targets_find(self) -> None:
        """Go to the latest finding of this target."""
        row = self.table.current
        if row is not None:
            found = findings_of(self.campaign, row.name)
            self.go_to_latest([*found], "This target has no findings.")

    def do_targets_open(self) -> None:
        """Open the run of this target."""
        row, run = self.table.current, self.host.run_dir
        if row is not None and run is not None:
            self.host.open_run(target_run(run, row.name))

    do_targets_command = WeighedScreen.send_weights


def target_lines(row: TargetRow, state: State, attach: str) -> list[Line]:
    """Return state, share, figures, where the run is, and the findings. Pure."""
    now = row.instance
    lines: list[Line] = [
        [TextSpan(plain(row.name), "bold")],
        [TextSpan(plain(now.engine), "muted")],
        [],
        pair("state", row.state, STYLES.get(row.state, "muted")),
        *([pair("because", plain(now.reason))] if now.reason else []),
        pair("share", f"{format.share(row.share)} of the cores' time, weight {row.weight:g}"),
        pair("time", f"{format.span(row.core_s)} of its instances' turns so far"),
        pair("edges", f"{max(0, now.stat('edges')):,}"),
        pair("corpus", several(max(0, now.stat("corpus")), "entry", "entries")),
        *([pair("open", attach)] if attach else []),
        *commands_naming(state, "target", row.name),
    ]
    found = findings_of(state, row.name)
    if found:
        lines += [[], title("findings")]
    for finding in found[:MAX_FINDINGS]:
        text = plain(f"{finding.title or finding.file} at {finding.place}", 200)
        lines.append([TextSpan(text, finding.category)])
    if len(found) > MAX_FINDINGS:
        lines.append([TextSpan(f"and {len(found) - MAX_FINDINGS} more", "muted")])
    return lines


def findings_of(state: State, name: str) -> Sequence[Finding]:
    """Return the findings of a target, the latest first."""
    return sorted(
        (f for f in list(state.findings.values()) if f.instance == name), key=lambda f: -f.t
    )
