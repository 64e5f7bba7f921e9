"""The program oracle: ``[oracle]`` of an AFL++ campaign finds bugs besides crashes and hangs."""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature(
    "oracle",
    table="fuzztui.features.oracle.keys:TABLE",
    spec="fuzztui.features.oracle.keys:spec",
    services="fuzztui.features.oracle.process:services",
)
