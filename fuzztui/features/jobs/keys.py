"""The table ``[cluster]``: where jobs run that can be divided (docs/cluster.md)."""

from __future__ import annotations

from fuzztui.engines.keys import Key

CLUSTER = (
    Key(
        "scheduler",
        "string",
        "The address of a dask.distributed scheduler that runs already: tls://HOST:PORT.",
    ),
    Key(
        "ssh",
        "strings",
        'Machines such as "user@box", as ssh takes them: workers are started there, and a '
        "scheduler on this machine.",
    ),
    Key(
        "slurm",
        "settings",
        "Workers as jobs of SLURM: partition, jobs (how many), cores and memory of each, walltime, "
        "options (of sbatch), logs (a directory for what workers print). A scheduler is started on "
        "this machine.",
    ),
    Key("kubernetes", "settings", "Not supported: use `scheduler`."),
    Key(
        "tls",
        "directory",
        "The directory with the certificates that `fuzztui cluster init` has made; the same path "
        "on all machines. Default: certificates of your own, which are for loopback only.",
    ),
    Key(
        "address",
        "string",
        "The IP address of this machine that workers can reach, for `ssh` and `slurm`.",
    ),
    Key(
        "python",
        "string",
        "The interpreter that has fuzztui on the workers. Default: the path of the one that runs "
        "fuzztui here.",
    ),
    Key(
        "slots",
        "integer",
        "Jobs at a time on each machine of `ssh`, or on this one without any cluster. Default: one "
        "for each CPU.",
        minimum=1,
        maximum=1000,
    ),
)
