"""The tables ``[campaign]`` and ``[stop]``."""

from __future__ import annotations

from fuzztui.engines.keys import Key

CAMPAIGN = (
    Key("name", "string", "Shown on screens and by `status`. Default: the file's name."),
    Key(
        "output",
        "output",
        "The run directory. Default: `runs/NAME` in the current directory.",
    ),
    Key(
        "budget",
        "budget",
        "When to finish: running time, or trials of all instances together. Default: when you "
        "stop the campaign.",
    ),
    Key(
        "verdicts",
        "filename",
        "The file of verdicts about findings (docs/verdicts.md). Default: "
        "`NAME.verdicts.toml` next to the file `NAME.toml`; of a sample inside the package, "
        "in the current directory.",
    ),
    Key(
        "seed",
        "integer",
        "The random seed. With it, a run of one in-process instance with a budget in trials and "
        "without commands can be repeated.",
        default=0,
        minimum=0,
    ),
    Key(
        "cores",
        "integer",
        "With [[targets]]: the cores that the targets share. 0: all of the machine.",
        default=0,
        minimum=0,
        maximum=1000,
    ),
    Key(
        "group",
        "string",
        "A Unix group whose members may look at the run (docs/hosts.md). Default: only "
        "its owner may.",
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
        "Set by fuzztui in a host's copy of the campaign (docs/hosts.md).",
    ),
)

STOP = (
    Key(
        "crashes",
        "integer",
        "Finish after this many files in crashes/; those of seeds and siblings do not count. "
        "0: never.",
        default=0,
        minimum=0,
    ),
    Key(
        "idle",
        "duration",
        "Finish after this time without a new entry or finding. 0: never.",
        default=0.0,
    ),
    Key("edges", "duration", "Finish after this time without a new edge. 0: never.", default=0.0),
)
