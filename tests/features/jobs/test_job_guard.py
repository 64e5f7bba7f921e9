"""The guard: whatever happens, no process of a job is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import DEADLINE_S, wait_until

from fuzztui.features.jobs import guard
from fuzztui.features.jobs.carry import carry_out
from fuzztui.features.jobs.request import request_of
from fuzztui.run.process.identity import ProcessId

pytestmark = pytest.mark.slow

TREE = """
import os, subprocess, sys, time
here = os.environ["PIDS"]
code = "import os,time; open(os.environ['PIDS'], 'a').write(f'{os.getpid()} '); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", code])
subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
# An orphan in a session of its own: its parent ends at once.
spawn = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
spawn += f"{code!r}], start_new_session=True)"
subprocess.run([sys.executable, "-c", spawn])
open(here, "a").write(f"{os.getpid()} ")
while len(open(here).read().split()) < 4:
    time.sleep(0.01)
print('{"ready": 1}', flush=True)
time.sleep(600)
"""


def python(code, **more):
    return request_of([sys.executable, "-c", code], env=more)


def pids(file):
    return [ProcessId.of(int(pid)) for pid in Path(file).read_text().split()]


def gone(found):
    return wait_until(lambda: not any(p and p.alive() for p in found))


def guarded(tmp_path):
    """The guard around a tree of four processes; what holds its pipe is another process."""
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess,sys; subprocess.run([sys.executable,'-ISc',*sys.argv[1:]],"
            "input=None, stdin=0)",
            Path(guard.__file__).read_text(),
            sys.executable,
            "-c",
            TREE,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PIDS": str(tmp_path / "pids")},
    )
    assert b"ready" in holder.stdout.readline()
    found = pids(tmp_path / "pids")
    assert len(found) == 4
    assert all(p.alive() for p in found)
    return holder, found


def test_the_whole_tree_ends_when_the_pipe_closes(tmp_path):
    holder, found = guarded(tmp_path)
    holder.stdin.close()
    assert gone(found)
    holder.wait(DEADLINE_S)
    holder.stdout.close()


def test_stopping_ends_the_whole_tree_before_the_answer(tmp_path):
    said = []
    answer = carry_out(
        python(TREE, PIDS=str(tmp_path / "pids")), said.append, lambda: "enough" if said else ""
    )
    assert (answer["how"], answer["why"]) == ("stopped", "enough")
    assert not any(p and p.alive() for p in pids(tmp_path / "pids"))


def test_the_process_that_carries_a_job_out_is_killed(tmp_path):
    code = (
        "import sys; from fuzztui.features.jobs.carry import carry_out; "
        "from fuzztui.features.jobs.request import request_of\n"
        "carry_out(request_of([sys.executable, '-c', sys.argv[1]]), print, lambda: '')"
    )
    (tmp_path / "tmp").mkdir()
    env = {**os.environ, "PIDS": str(tmp_path / "pids"), "TMPDIR": str(tmp_path / "tmp")}
    carrier = subprocess.Popen([sys.executable, "-uc", code, TREE], stdout=subprocess.PIPE, env=env)
    assert b"ready" in carrier.stdout.readline()
    found = pids(tmp_path / "pids")
    assert all(p.alive() for p in found)
    assert list((tmp_path / "tmp").iterdir())
    carrier.kill()
    carrier.wait()
    carrier.stdout.close()
    assert gone(found)
    wait_until(lambda: not list((tmp_path / "tmp").iterdir()))  # the guard removes it


def test_processes_that_outlive_the_command_are_ended(tmp_path):
    code = (
        "import subprocess,sys; p = subprocess.Popen([sys.executable,'-c','import time; "
        'time.sleep(600)\'], start_new_session=True); print(\'{"result": {"pid": %d}}\' % p.pid)'
    )
    answer = carry_out(python(code), print, str)
    assert answer["how"] == "ended"
    pid = int(answer["result"].partition('"pid": ')[2].rstrip("}"))
    assert ProcessId.of(pid) is None


@pytest.mark.parametrize(
    ("code", "status"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 128 + signal.SIGKILL)],
)
def test_the_status_of_the_command_is_the_guards(code, status):
    answer = carry_out(python(code), print, str)
    assert (answer["how"], answer["status"], answer["result"]) == ("ended", status, "")


def test_a_command_that_does_not_exist():
    answer = carry_out(request_of(["/nowhere/at all"]), print, str)
    assert answer["status"] == 127
    assert "/nowhere/at all" in answer["stderr"]


def test_output_is_bounded_and_only_objects_are_relayed():
    code = (
        "print('noise'); print('{\"n\": 1}'); print('{' + 'x' * 70000); print('[1]')\n"
        "for n in range(10000): print('{\"many\": %d}' % n)\n"
        "print('{\"result\": {\"ok\": true}}'); print('after')"
    )
    said = []
    answer = carry_out(python(code), said.append, str)
    assert said[0] == '{"n": 1}'
    assert 2 <= len(said) < 5000
    assert all(line.startswith('{"many"') for line in said[1:])
    assert answer["result"] == '{"result": {"ok": true}}'


def test_a_result_that_is_too_large():
    request = {**python("print('{\"result\":' + 'x' * 500000)"), "max_result": 100_000}
    answer = carry_out(request, print, str)
    assert (answer["how"], answer["result"]) == ("unable", "")
    assert "100,000" in answer["why"]


def test_files_of_a_request_and_the_directory_afterwards():
    code = "import json, os\n"
    code += "print(json.dumps({'result': {'at': os.getcwd(), 'text': open('in').read()}}))"
    answer = carry_out(request_of([sys.executable, "-c", code], files={"in": "abc"}), print, str)
    assert '"text": "abc"' in answer["result"]
    assert not Path(answer["result"].split('"')[5]).exists()
