"""Commands that screens run in a process of their own: results, cancelling, the end of the app."""

import asyncio
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from waiting import until, wait_until

from fuzztui.tui.base import local_command
from fuzztui.tui.base.local_command import LocalCommand

PARENT = """
import asyncio, sys
from fuzztui.tui.base.local_command import LocalCommand
sys.executable = sys.argv[1]
asyncio.run(LocalCommand(lambda: ["x"]).run(lambda line: print(line, flush=True)))
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Puts a shell script in the place of fuzztui."""

    def stands_in(text):
        script = tmp_path / "python"
        script.write_text(f"#!{shutil.which('sh')}\n{text}\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))
        return script

    return stands_in


async def test_messages_come_one_by_one_and_the_output_at_the_end(command):
    command('echo "$4 $5"; echo fuzztui: one >&2; echo >&2; echo fuzztui: two >&2; exit 3')
    seen = []
    result = await LocalCommand(lambda: ["name", "argument"]).run(seen.append)
    assert seen == ["fuzztui: one", "fuzztui: two"]
    assert (result.status, result.output, result.message) == (3, "name argument\n", "two")


async def test_more_output_than_is_read_does_not_block(command, monkeypatch):
    monkeypatch.setattr(local_command, "MAX_OUTPUT", 1000)
    command("yes")  # until nothing can be written any more
    result = await LocalCommand(list).run(print)
    assert result.output == ("y\n" * 1000)[:1000]


async def test_a_command_that_cannot_start_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    result = await LocalCommand(list).run(print)
    assert result.status
    assert "gone" in result.message


@pytest.mark.parametrize(("times", "status"), [(1, 5), (2, -signal.SIGINT)])
async def test_a_cancel_ends_stdin_and_another_one_interrupts(command, times, status):
    ready = asyncio.Event()
    asks = "cat; exit 5" if times == 1 else "exec sleep 1000"
    command(f"echo ready >&2; {asks}")
    one = LocalCommand(list)
    running = asyncio.create_task(one.run(lambda _: ready.set()))
    await ready.wait()
    for _ in range(times):
        one.cancel()
    assert (await running).status == status
    assert one.cancelled


async def test_a_command_without_the_option_is_interrupted(command):
    ready = asyncio.Event()
    command('test "$#" = 4 && echo ready >&2; exec sleep 1000')  # -P -m fuzztui name
    one = LocalCommand(lambda: ["name"], until_eof=False)
    running = asyncio.create_task(one.run(lambda _: ready.set()))
    await ready.wait()
    one.cancel()
    assert (await running).status == -signal.SIGINT


async def test_leaving_the_screen_ends_the_command(command, tmp_path):
    ready = asyncio.Event()
    command(f"echo ready >&2; cat; touch {tmp_path}/ended")
    running = asyncio.create_task(LocalCommand(list).run(lambda _: ready.set()))
    await ready.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until((tmp_path / "ended").exists)


async def test_leaving_the_screen_while_the_command_starts_ends_it(command, tmp_path):
    starting, left = threading.Event(), threading.Event()
    command(f"cat; touch {tmp_path}/ended")

    def arguments():
        starting.set()
        left.wait()
        return []

    one = LocalCommand(arguments)
    running = asyncio.create_task(one.run(print))
    await until(starting.is_set)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    left.set()
    assert one.cancelled
    await until((tmp_path / "ended").exists)


async def test_arguments_that_cannot_be_made_say_so(command):
    command("exit 0")
    result = await LocalCommand(lambda: [{}["no such key"]]).run(print)
    assert (result.status, result.message) == (-1, "KeyError: 'no such key'")


def test_a_killed_app_ends_the_command(command, tmp_path):
    python = sys.executable
    script = command(f"echo ready >&2; cat; touch {tmp_path}/ended")
    process = subprocess.Popen(
        [python, "-c", PARENT, str(script)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    assert not (tmp_path / "ended").exists()
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until((tmp_path / "ended").exists)
