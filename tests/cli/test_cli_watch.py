from __future__ import annotations

import subprocess
import sys

import pytest

from fuzztui.cli.beside import _last_words


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; print('one\\nno space left\\n', file=sys.stderr); sys.exit(1)",
         "no space left"),
        ("import sys; sys.exit(3)", "exited with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("import sys; sys.stderr.write('x' * 10000 + '\\nlast'); sys.exit(1)", "last"),
    ],
)  # fmt: skip
def test_why_a_watcher_ended(tmp_path, program, words):
    with (tmp_path / "errors").open("w+b") as errors:
        process = subprocess.Popen([sys.executable, "-c", program], stderr=errors)
        process.wait()
        (tmp_path / "errors").unlink()  # it removes its directory
        assert _last_words(process, errors) == words
        assert _last_words(process, errors) == words
