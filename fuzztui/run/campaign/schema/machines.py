"""The table ``[hosts]``: machines on which a campaign runs."""

from __future__ import annotations

from fuzztui.engines.keys import Key

HOST = (
    Key(
        "instances",
        "integer",
        "The number of fuzzing processes on this host. Default: `engine.instances`.",
        minimum=1,
        maximum=1000,
    ),
    Key(
        "path",
        "host-path",
        "The run directory on the host. Default: one below `~/.local/share/fuzztui/runs`.",
    ),
    Key(
        "python",
        "host-python",
        "The interpreter that runs fuzztui there (3.11 or newer), and the Python target "
        "with its requirements. Default: `python3`.",
    ),
    Key(
        "keep",
        "size",
        "Space that this host's entries, findings and log may take here. A host that "
        "sends more is given up (docs/hosts.md). 0: no limit.",
        default="100GiB",
    ),
)
"""The keys of one host: ``"user@box" = { instances = 8 }`` in the table ``[hosts]``."""
