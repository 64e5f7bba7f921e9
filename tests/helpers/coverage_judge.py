"""The lines of tomllib that inputs execute, by the real coverage.py."""

import json
import subprocess
import sys

from waiting import DEADLINE_S

RUN_ALL = """\
import json, sys
import coverage
cov = coverage.Coverage(data_file=None, include=[f"*/tomllib/*"], config_file=False)
for name in [n for n in sys.modules if n.startswith("tomllib")]:
    del sys.modules[name]  # coverage.py has imported it: no line of its import would count
cov.start()
import tomllib
for file in sys.argv[1:]:
    try:
        tomllib.loads(open(file, "rb").read().decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        pass
cov.stop()
found = {}
for file in cov.get_data().measured_files():
    _, statements, _, missing, _ = cov.analysis2(file)
    found[file] = [statements, missing]
print(json.dumps(found))
"""


def measured(files):
    """Statements and missing lines by file, by coverage.py."""
    argv = [sys.executable, "-c", RUN_ALL, *map(str, files)]
    done = subprocess.run(argv, capture_output=True, timeout=DEADLINE_S, check=True)
    return json.loads(done.stdout)
