"""Findings: crashes, hangs and differences, by signature."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "findings",
    screen="fuzztui.features.findings.screen.screen:FindingsScreen",
    actions="fuzztui.features.findings.screen.actions:ACTIONS",
)
