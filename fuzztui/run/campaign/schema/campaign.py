"""The tables ``[campaign]``, ``[stop]`` and ``[notify]``."""

from __future__ import annotations

from fuzztui.engines.kinds import Key
from fuzztui.kernel.wire.events import NEWS

CAMPAIGN = (
    Key("name", "string", "Shown on screens and by `status`. Default: the file's name."),
    Key(
        "output",
        "output",
        "The run directory. Default: `runs/NAME` in the current directory.",
    ),
    Key("budget", "budget", "When to finish: running time, or trials of all instances together."),
    Key(
        "verdicts",
        "filename",
        "The file of verdicts about findings (docs/verdicts.md), which `fuzztui ctl RUN judge` and "
        "the key V write. Default: `NAME.verdicts.toml` next to the file `NAME.toml`.",
    ),
    Key(
        "seed",
        "integer",
        "The random seed: two runs with the same seed make the same trials.",
        default=0,
        minimum=0,
    ),
    Key(
        "group",
        "string",
        "A Unix group whose members may look at the run: `attach`, `status` (docs/hosts.md). "
        "Default: only its owner may.",
    ),
    Key(
        "group_may_steer",
        "boolean",
        "Whether members of `group` may also steer the campaign.",
        default=False,
    ),
    Key(
        "host",
        "string",
        "Set by fuzztui in the copy of a campaign that runs on a host (docs/hosts.md): names of "
        "instances begin with it.",
    ),
)

STOP = (
    Key("crashes", "integer", "Finish after this many crash files.", default=0, minimum=0),
    Key("idle", "duration", "Finish after this time without a new entry or finding.", default=0.0),
    Key("edges", "duration", "Finish after this time without a new edge.", default=0.0),
)

NOTIFY = (
    Key(
        "command",
        "command",
        "The program to run, with its arguments; not by a shell. A program with a slash is "
        "relative to the campaign file. Its stdin is one JSON object (docs/notify.md), and the "
        "variable FUZZTUI_NEWS is a text of one line. It is killed after 30 s.",
        required=True,
    ),
    Key(
        "on",
        "news",
        "What to report. findings: the first finding of a new group (no earlier one has its "
        "signature); stall: nothing new for `stall`; end: the campaign has ended.",
        default=list(NEWS),
    ),
    Key(
        "stall",
        "duration",
        "Report once that the campaign has found nothing new in this running time: no entry and no "
        "finding.",
        default=1200.0,
    ),
    Key(
        "max_per_hour",
        "integer",
        "The command is run at most so often within an hour; later groups wait, and are "
        "reported together.",
        default=20,
        minimum=1,
        maximum=3600,
    ),
)
"""The table ``[notify]``: a command that is run when there is news."""
