"""Findings: crashes, hangs and differences, by signature."""

from fuzztui.features.findings.undo import UNDO
from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "findings",
    undo=UNDO,
    screen="fuzztui.features.findings.screen.screen:FindingsScreen",
    actions="fuzztui.features.findings.screen.actions:ACTIONS",
    legend="fuzztui.features.findings.screen.screen:LEGEND",
)
