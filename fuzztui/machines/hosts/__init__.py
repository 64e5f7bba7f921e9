"""Campaigns on several machines: hosts that are reached by ssh."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "hosts",
    services="fuzztui.machines.hosts.examples:services",
)
