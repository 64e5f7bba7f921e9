"""Which keys of a campaign file a real run reads: supervisor, engine and worker report theirs.

Code that checks, copies or shows a whole table reads no key: generated methods of dataclasses,
the loader, ``read_spec``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NO_READERS = (
    "dataclasses.py",
    "/engines/base/spec.py",
    "/campaign/load.py",
    "/campaign/contradictions.py",
    "/features/fuzzfirst/keys.py",
    "/features/mutators/keys.py",
    "/features/oracle/keys.py",
)
"""Ends of files whose code reads all keys, used or not."""

_SITE = """
import os, sys

known = set()

def note(table, key):
    file = sys._getframe(2).f_code.co_filename
    if file.startswith("<") or file.endswith({no_readers}) or (table, key) in known:
        return
    known.add((table, key))
    line = f"{{table}}.{{key}}\\n".encode()
    fd = os.open({record}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line)
    os.close(fd)

class Table(dict):
    def __init__(self, data, name):
        super().__init__(data)
        self.__table = name
    def __getitem__(self, key):
        note(self.__table, key)
        return super().__getitem__(key)
    def get(self, key, default=None):
        note(self.__table, key)
        return super().get(key, default)

def watch(cls, table):
    plain = cls.__getattribute__
    def read(self, name):
        if name in cls.__dataclass_fields__:
            note(table, name)
        value = plain(self, name)
        if table != "campaign" and name in ("options", "text"):
            value = Table(value, "engine" if name == "options" else "text")
        return value
    cls.__getattribute__ = read

from fuzztui.engines.base import spec
for cls, table in (
    (spec.Spec, "spec"), (spec.TargetSpec, "target"), (spec.EngineSpec, "engine"),
    (spec.OracleSpec, "oracle"),
):
    watch(cls, table)

try:
    from fuzztui.run.campaign.model import Campaign
except ImportError:  # the interpreter of the target has the engines alone
    pass
else:
    made = Campaign.__init__
    def init(self, *args, **fields):
        watched = {{name: Table(fields[name], name) for name in ("target", "engine")}}
        of_features = fields.get("tables", {{}})
        watched["tables"] = {{n: keys and Table(keys, n) for n, keys in of_features.items()}}
        made(self, *args, **(fields | watched))
    Campaign.__init__ = init
    watch(Campaign, "campaign")
"""

_PYTHON = """#!/bin/sh
PYTHONPATH={site}:$PYTHONPATH exec {python} "$@"
"""

RESOLVED = {
    "timeout_s": "timeout",
    "memory_bytes": "memory",
    "each_s": "per_mutant",
    "each_trials": "per_mutant",
}
"""Keys by their names after the units are resolved."""

FIELDS = {"campaign.kind": "engine.kind", "campaign.instances": "engine.instances"}
"""Keys that are fields of a campaign."""


def keys_read(file: Path, folder: Path) -> set[str]:
    """Run the campaign in ``file`` to its end; return each ``table.key`` that its processes read.

    ``folder``: for the run and what records it. Packages that the campaign needs are in its
    directory ``site``, if there are any.
    """
    site, record, python = folder / "site", folder / "reads", folder / "python"
    site.mkdir(exist_ok=True)
    text = _SITE.format(record=repr(str(record)), no_readers=NO_READERS)
    (site / "sitecustomize.py").write_text(text)
    python.write_text(_PYTHON.format(site=site, python=sys.executable))
    python.chmod(0o700)
    command = [sys.executable, "-m", "fuzztui", str(file), "--headless"]
    settings = [f"campaign.output={folder / 'run'}"]
    if "command" not in file.read_text():
        settings.append(f"target.python={python}")
    for setting in settings:
        command += ["--set", setting]
    env = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode in (0, 10), done.stdout + done.stderr
    reads = {FIELDS.get(line, line) for line in record.read_text().splitlines()}
    parts = (line.partition(".") for line in reads)
    return {f"{table}.{RESOLVED.get(key, key)}" for table, _, key in parts}
