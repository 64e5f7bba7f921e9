"""Coverage of libraries: which files are some, and that what is executed is counted once."""

import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from interpreters import pythons

import fuzztui
from fuzztui.engines.execute.third_party import Functions, library_files
from fuzztui.generators import gen_date

LIBRARY = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"

COUNTS = """\
import sys
sys.path[:0] = [{root!r}, {site!r}]
import json
import some_library
from fuzztui.engines.execute.third_party import third_party
watch = third_party(lambda file: file.endswith("some_library.py"))
counts = []
for call in (some_library.one, some_library.one, some_library.two, lambda: exec("x = 1")):
    watch.clear()
    call()
    watch.finish(None)
    counts.append(watch.count())
print(json.dumps(counts))
"""


def test_which_files_are_libraries() -> None:
    def target() -> None:
        pass

    is_library = library_files(lambda: {"/app/app.py"}, (target, gen_date, None))
    stdlib = sysconfig.get_path("stdlib")
    assert is_library("/x/site-packages/lib.py")
    assert is_library(f"{stdlib}/site-packages/lib/a.py")
    assert is_library("/somewhere/else.py")
    assert not is_library(f"{stdlib}/json/decoder.py")
    assert not is_library("/app/app.py")
    assert not is_library("<frozen importlib._bootstrap>")
    assert not is_library(__file__)  # where the target is
    for ours in (Path(fuzztui.__file__).parent / "engines/loop/loop.py",
                 Path(fuzztui.__file__).parent.parent / "engines/loop/loop.py"):  # fmt: skip
        assert not is_library(str(ours))
    assert not is_library(gen_date.__code__.co_filename)


@pytest.mark.parametrize("python", [sys.executable, *map(str, pythons(12, 13))], ids=str)
def test_what_is_executed_is_counted_once(tmp_path: Path, python: str) -> None:
    (tmp_path / "some_library.py").write_text(LIBRARY)
    program = COUNTS.format(root=str(Path(fuzztui.__file__).parent.parent), site=str(tmp_path))
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    # Functions are told in the first trial only; lines in each, one of `one` and one of `two`.
    lines = sys.version_info >= (3, 12) or python != sys.executable
    assert json.loads(done.stdout) == ([1, 1, 2, 2] if lines else [1, 1, 1, 1])


def test_what_was_seen_is_counted_once_over_all_workers(tmp_path: Path) -> None:
    file = tmp_path / ".third_party"

    def worker() -> Functions:
        return Functions(lambda name: name == __file__, file)

    def trial(watch: Functions, call: Callable[[], None]) -> int:
        watch.clear()
        call()
        watch.finish(None)  # type: ignore[arg-type]
        return watch.count()

    assert trial(worker(), _entered) == 1
    second = worker()
    assert second.count() == 1
    assert trial(second, _entered) == 1
    size = file.stat().st_size
    assert second.count() == 1
    assert file.stat().st_size == size
    with file.open("ab") as torn:
        torn.write(b'{"/x/y.py": [1, "2", 3.5, true], "/z.py": 7}\n[4]\n\xff\n{"/torn.py": [1')
    assert trial(worker(), _entered_too) == 3  # /x/y.py:1 is a place
    assert worker().count() == 3


def test_a_full_disk_only_puts_it_off(tmp_path: Path) -> None:
    file = tmp_path / "there is no such folder" / ".third_party"
    watch = Functions(lambda name: name == __file__, file)
    watch.clear()
    _entered()
    watch.finish(None)  # type: ignore[arg-type]
    assert watch.count() == 1
    file.parent.mkdir()
    assert watch.count() == 1
    assert Functions(lambda name: False, file).count() == 1


def test_trials_that_are_watched_are_few() -> None:
    watch = Functions(lambda file: file == __file__)
    watched = []
    for trial in range(300):
        watch.clear()
        if sys.getprofile() is not None:
            watched.append(trial)
        _entered()
        watch.finish(None)  # type: ignore[arg-type]
        assert sys.getprofile() is None
    assert watched == [0, 128, 256]
    assert watch.count() == 1


def _entered() -> None:
    pass


def _entered_too() -> None:
    pass
