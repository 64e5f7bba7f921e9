"""What a user installs: wheel and sdist hold everything, and work away from the source."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Container
from pathlib import Path

import pytest
import tutorials
from doc_commands import GATES, MEANS, RUN
from homes import AFL_ENV

from fuzztui.cli.output import BELOW_THRESHOLD

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHIPPED = [
    "fuzztui/engines/loop/loop.py",
    "fuzztui/engines/zest/engine.py",
    "fuzztui/engines/instrument/sancov.c",
    "fuzztui/engines/text/mutate.c",
    "fuzztui/engines/text/mutators.h",
    "fuzztui/run/afl/text.c",
    "fuzztui/themes/midwatch.toml",
    "fuzztui/sample_campaigns/tomllib-zest.toml",
    "fuzztui/features/fuzzfirst/source_mutants/rules/c_like.rules",
    "fuzztui/tui/app/fuzztui.tcss",
    "fuzztui/py.typed",
]


MAN_PAGE = ".data/data/share/man/man1/fuzztui.1"
"""Where a wheel has what goes to an environment's ``share``, after its name and version."""


def run(*args: object, cwd: Path, statuses: Container[int] = (0,), **env: str) -> str:
    done = subprocess.run(
        [str(a) for a in args],
        cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode in statuses, (args, done.stdout, done.stderr)
    return done.stdout


def size_of(directory):
    """Bytes of all files below a directory."""
    return sum(f.lstat().st_size for f in directory.rglob("*") if f.is_file())


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The tracked files as they are in the working tree: no build leftovers."""
    target = tmp_path_factory.mktemp("source")
    names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    archive = target / "tree.tar"
    with tarfile.open(archive, "w") as tar:
        for name in filter(None, names):
            if (ROOT / name).is_symlink() or (ROOT / name).exists():
                tar.add(ROOT / name, name)
    tree = target / "tree"
    with tarfile.open(archive) as tar:
        tar.extractall(tree, filter="fully_trusted")
    return tree


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    """One with pip and setuptools."""
    place = tmp_path_factory.mktemp("bare")
    run(sys.executable, "-m", "venv", place / "venv", cwd=place)
    run(place / "venv/bin/pip", "install", "-q", "--no-compile", "setuptools>=77", cwd=place)
    return place / "venv"


def test_wheel_installs_and_runs_a_sample_elsewhere(source, venv, tmp_path):
    pip = venv / "bin/pip"
    run(pip, "wheel", "-q", "--no-deps", "-w", tmp_path / "dist", source, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("fuzztui-*.whl")
    assert wheel.name.endswith("py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert set(SHIPPED) <= set(names)
    assert not any(n.startswith(("tests/", "engines/")) for n in names)
    assert any(n.endswith(MAN_PAGE) for n in names)

    before = size_of(venv)
    run(pip, "install", "-q", wheel, cwd=tmp_path)
    assert size_of(venv) - before < 60e6
    fuzztui = venv / "bin/fuzztui"
    if shutil.which("man"):  # finds pages by the PATH
        path = f"{venv / 'bin'}:{os.environ['PATH']}"
        page = run("man", "-w", "fuzztui", cwd=tmp_path, PATH=path)
        assert Path(page.strip()) == venv / "share/man/man1/fuzztui.1"
    assert "tomllib-zest.toml" in run(fuzztui, "samples", cwd=tmp_path)
    assert "midwatch" in run(fuzztui, "themes", cwd=tmp_path)
    out = run(
        fuzztui, "tomllib-zest.toml", "--headless", "--set", "campaign.budget=2000",
        cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path),
    )  # fmt: skip
    assert "finished" in out
    assert (tmp_path / "runs/tomllib/log").is_dir()
    # Mutants of C, which fuzz-first fuzzes, too: with numpy, as the refusal says.
    (source_file,) = venv.glob("lib/python*/site-packages/fuzztui/sample_campaigns/crate.c")
    refused = subprocess.run(
        [fuzztui, "mutants", "rank", source_file], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "'fuzztui[first]'" in refused.stderr
    run(pip, "install", "-q", "--no-compile", f"{wheel}[first]", cwd=tmp_path)
    assert "crate.c:" in run(fuzztui, "mutants", "rank", source_file, "--limit", "3", cwd=tmp_path)

    # Who puts what is installed on PYTHONPATH has Python's own modules still.
    (packages,) = venv.glob("lib/python*/site-packages")
    standard = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    assert standard.isdisjoint(path.name.partition(".")[0] for path in packages.iterdir())
    bare = [sys.executable, "-P", "-c", "import typing; print(typing.__file__)"]
    there = run(*bare, cwd=tmp_path, PYTHONPATH=str(packages))
    assert not there.startswith(str(packages))
    said = run(sys.executable, "-m", "fuzztui", "--version", cwd=tmp_path, PYTHONPATH=str(packages))
    assert said.startswith("fuzztui ")


def test_sdist_holds_what_the_wheel_is_made_of(source, venv, tmp_path):
    build = "import setuptools.build_meta as b, sys; print(b.build_sdist(sys.argv[1]))"
    python = venv / "bin/python"
    run(python, "-c", build, tmp_path, cwd=source)
    (sdist,) = tmp_path.glob("fuzztui-*.tar.gz")
    argv = [python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    run(*argv, "-w", tmp_path, sdist, cwd=tmp_path)
    (wheel,) = tmp_path.glob("fuzztui-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert set(SHIPPED) <= set(names)
    assert any(n.endswith(MAN_PAGE) for n in names)


def run_documented(fuzztui: Path, directory: Path) -> None:
    """Run the commands that README and docs show; each campaign gets a small budget."""
    env = {"HOME": str(directory), "XDG_RUNTIME_DIR": str(directory)}

    def call(line: str) -> str:
        words = [MEANS.get(word, word) for word in shlex.split(line)[1:]]
        if words[0].endswith(".toml"):
            words += ["--set", "campaign.budget=300"]
        if "--detach" in words:
            words += ["--set", "campaign.output=detached"]
        may_fail = any(gate in words for gate in GATES)
        statuses = (0, BELOW_THRESHOLD) if may_fail else (0,)
        return run(fuzztui, *words, cwd=directory, statuses=statuses, **env)

    for line in RUN:
        if "runs/z*" in line:
            for copied, name in (
                ("tomllib", "a"),
                ("tour", "b"),
                ("tomllib", "z1"),
                ("tour", "m1"),
            ):
                shutil.copytree(directory / "runs" / copied, directory / "runs" / name)
        if line.startswith("fuzztui merge score"):
            for n in range(1, 5):  # the machines of the documents are one here
                part = call(f"fuzztui score runs/tomllib-mu2 --shard {n}/4 --json")
                (directory / f"score-{n}.json").write_text(part)
        call(line)
    stop = [fuzztui, "ctl", "detached", "stop"]  # unless it has ended by itself
    subprocess.run(stop, cwd=directory, env={**os.environ, **env}, check=False)
    made = {"tour.html", "run.html", "run.json", "summary.md", "score.json"}
    assert {*made, "mutation.json", "lcov.info"} <= {*os.listdir(directory)}


@pytest.fixture(scope="module")
def installed(source, venv, tmp_path_factory):
    """The wheel, in an environment of its own, with the packages of this one."""
    place = tmp_path_factory.mktemp("installed")
    pip, own = venv / "bin/pip", place / "own"
    run(pip, "wheel", "-q", "--no-deps", "-w", place, source, cwd=place)
    (wheel,) = place.glob("fuzztui-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", own, cwd=place)
    run(pip, "--python", own / "bin/python", "install", "-q", "--no-deps", wheel, cwd=place)
    (packages,) = own.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return own


@pytest.mark.timeout(1500)
def test_the_commands_of_the_documents_run(installed, tmp_path):
    run_documented(installed / "bin/fuzztui", tmp_path)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("page", tutorials.pages())
def test_a_tutorial_can_be_followed(page, installed, terminal, home):
    if program := tutorials.lacking(page):
        pytest.skip(f"{program} is not installed")
    if page == "lambda":
        pytest.importorskip("moto", reason="needs the extra aws")
    project = home.path / {"python-gate": "prices", "afl-fleet": "records"}.get(page, page)
    project.mkdir()
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    env = {**home.env, **AFL_ENV, "HOME": str(home.path), "PATH": path}

    def on_terminal(command: str) -> None:
        line = f"cd {shlex.quote(str(project))} && PATH={shlex.quote(path)} {command}"
        opened = terminal(command=["bash", "-c", line], columns=80, rows=24)
        opened.wait("Overview")
        opened.keys("q", then="exit=0")

    follower = tutorials.Follower(project, env, on_terminal)
    try:
        follower.follow(page)
    finally:
        follower.close()
