"""The table ``[cluster]``: where jobs run that can be divided (docs/cluster.md)."""

from __future__ import annotations

from fuzztui.engines.keys import Key

CLUSTER = (
    Key(
        "scheduler",
        "string",
        "The address of a running dask.distributed scheduler: tls://HOST:PORT.",
    ),
    Key(
        "ssh",
        "strings",
        'Machines such as "user@box", on which workers are started; the scheduler runs here.',
    ),
    Key(
        "slurm",
        "settings",
        "Workers as jobs of SLURM: partition, jobs (how many), cores and memory of each, "
        "walltime, options (of sbatch), logs (a directory). The scheduler runs here.",
    ),
    Key("kubernetes", "settings", "Not supported: use `scheduler`."),
    Key(
        "tls",
        "directory",
        "The certificates of `fuzztui cluster init`; the same path on all machines. "
        "Default: your own, for loopback only.",
    ),
    Key(
        "address",
        "string",
        "The IP address of this machine that workers can reach, for `ssh` and `slurm`.",
    ),
    Key(
        "python",
        "string",
        "The interpreter that has fuzztui on the workers. Default: the path of the one here.",
    ),
    Key(
        "slots",
        "integer",
        "Jobs at a time on each machine of `ssh`, or here without a cluster. Default: one "
        "for each CPU.",
        minimum=1,
        maximum=1000,
    ),
)
