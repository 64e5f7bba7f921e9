"""The compilers of the evaluation: they are built, accept their seeds, and do no harm."""

import shutil
import subprocess
from pathlib import Path

import pytest
from lab.text.compilers import COMPILERS, build

HARM = {
    "mawk": [
        'BEGIN { system("touch harm"); print 1 > "harm"; "touch harm" | getline; while (1) ; }'
    ],
    "bc": ["while (1) { a = 9 ^ 9 ^ 9 ^ 9 }\n", "read()\nlimits\nquit\n"],
    "jq": ["def f: f; [range(0; 1e18)], f, input_filename", 'import "./harm" as harm; harm::f'],
    "mruby": ["while true do end; File.open('harm', 'w'); `touch harm`; exit!"],
    "sqlite": [
        "ATTACH 'harm' AS h; CREATE TABLE h.t(a);",
        "CREATE TABLE t(a); VACUUM INTO 'harm';",
        "PRAGMA temp_store_directory = '.'; PRAGMA temp_store = 1; CREATE TEMP TABLE t(a);",
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c;",
        "SELECT length(randomblob(1000000000)), load_extension('harm');",
    ],
}
REJECTED = {
    "mawk": "BEGIN { if ( }",
    "bc": "a = (1 +\n",
    "jq": ".a | (",
    "mruby": "def f(",
    "sqlite": "SELECT FROM;",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # SQLite is compiled for a minute, on a machine that may be busy
    pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl++ is not installed"),
]


def judged(program: Path, text: str, folder: Path) -> bool:
    """Whether a text in a file is accepted. The process ends by itself, and reads no stdin."""
    file = folder / "input"
    file.write_text(text)
    done = subprocess.run([program, file], cwd=folder, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.stdout in (f"+ {file}\n", f"- {file}\n"), done
    return done.stdout.startswith("+")


@pytest.mark.parametrize(
    "name",
    ["bc", "jq", "mawk", *(pytest.param(name, marks=pytest.mark.nightly)
                           for name in ("mruby", "sqlite"))],
)  # fmt: skip
def test_a_compiler_accepts_its_seeds_and_does_no_harm(name, tmp_path):
    try:
        built = build(COMPILERS[name], tmp_path / "work")  # which checks the seeds
    except SystemExit as e:
        if (tmp_path / "work/build" / name / f"{name}-source").exists():
            raise
        pytest.skip(f"the sources cannot be downloaded here: {e}")
    folder = tmp_path / "empty"
    folder.mkdir()
    for text in HARM[name]:
        judged(built.program, text, folder)
        assert [file.name for file in folder.iterdir()] == ["input"], text
    assert not judged(built.program, REJECTED[name], folder)
