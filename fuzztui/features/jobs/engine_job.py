"""An engine as a job: ``python -P -m fuzztui.features.jobs.engine_job REQUEST.json``, on a worker.

The engine works in its directory of the run, which all machines have in common. What it prints goes
to ``worker.log`` there, as at home; the result of the job is its exit status.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import open_regular


def main() -> int:
    """Run the engine to its end, and print the result."""
    request = loads(Path(sys.argv[1]).read_bytes())
    log = open_regular(Path(request["log"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    engine = subprocess.Popen(
        request["argv"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=request["cwd"],
        env={**os.environ, **request["env"]},
    )
    os.close(log)
    print(json.dumps({"began": engine.pid}), flush=True)
    print(json.dumps({"result": {"status": engine.wait()}}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
