"""What a user installs: wheel and sdist hold everything, and work away from the source."""

import os
import re
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
from skipped import needs

import fuzztui
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
    if not (ROOT / ".git").exists():
        pytest.skip("git does not know the tracked files: not a clone")
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
    program = venv / "bin/fuzztui"
    if shutil.which("man"):  # finds pages by the PATH
        path = f"{venv / 'bin'}:{os.environ['PATH']}"
        page = run("man", "-w", "fuzztui", cwd=tmp_path, PATH=path)
        assert Path(page.strip()) == venv / "share/man/man1/fuzztui.1"
    assert "tomllib-zest.toml" in run(program, "samples", cwd=tmp_path)
    assert "midwatch" in run(program, "themes", cwd=tmp_path)
    out = run(
        program, "tomllib-zest.toml", "--headless", "--set", "campaign.budget=2000",
        cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path),
    )  # fmt: skip
    assert "finished" in out
    assert (tmp_path / "runs/tomllib/log").is_dir()
    # Mutants of C, which fuzz-first fuzzes, too: with numpy, as the refusal says.
    (source_file,) = venv.glob("lib/python*/site-packages/fuzztui/sample_campaigns/crate.c")
    refused = subprocess.run(
        [program, "mutants", "rank", source_file], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "(the extra first)" in refused.stderr
    run(pip, "install", "-q", "--no-compile", f"{wheel}[first]", cwd=tmp_path)
    assert "crate.c:" in run(program, "mutants", "rank", source_file, "--limit", "3", cwd=tmp_path)

    # Who puts what is installed on PYTHONPATH has Python's own modules still.
    (packages,) = venv.glob("lib/python*/site-packages")
    standard = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    assert standard.isdisjoint(path.name.partition(".")[0] for path in packages.iterdir())
    bare = [sys.executable, "-P", "-c", "import typing; print(typing.__file__)"]
    there = run(*bare, cwd=tmp_path, PYTHONPATH=str(packages))
    assert not there.startswith(str(packages))
    said = run(sys.executable, "-m", "fuzztui", "--version", cwd=tmp_path, PYTHONPATH=str(packages))
    assert said.startswith("fuzztui ")


def names_in(wheel):
    """The files of a wheel, without those that name its version."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def sdist(source, venv, tmp_path_factory):
    """Made of the tracked files, beside caches and runs."""
    target = tmp_path_factory.mktemp("sdist")
    tree = target / "tree"
    shutil.copytree(source, tree, symlinks=True)
    for leftover in ("sample_campaigns/runs/x/log", "tests/__pycache__/a.pyc"):
        (tree / leftover).parent.mkdir(parents=True, exist_ok=True)
        (tree / leftover).touch()
    build = "import setuptools.build_meta as b, sys; print(b.build_sdist(sys.argv[1]))"
    run(venv / "bin/python", "-c", build, target, cwd=tree)
    (made,) = target.glob("fuzztui-*.tar.gz")
    return made


def unpack(sdist, target):
    """Returns the directory with the sources; no repository of git is above it."""
    with tarfile.open(sdist) as tar:
        tar.extractall(target, filter="data")
    (tree,) = target.iterdir()
    return tree


def test_sdist_is_the_repository(source, sdist, tmp_path):
    tree = unpack(sdist, tmp_path / "unpacked")
    built = {"build", "fuzztui.egg-info"}  # by the wheels of other tests
    tracked = {p.relative_to(source) for p in source.rglob("*")}
    tracked = {p for p in tracked if p.parts[0] not in built}
    made = {p.relative_to(tree) for p in tree.rglob("*")}
    assert {str(p) for p in tracked - made} == set()
    roots = {p.parts[0] for p in made - tracked}
    assert roots == {"PKG-INFO", "setup.cfg", "fuzztui.egg-info"}
    links = [p for p in tracked if (source / p).is_symlink()]
    assert links
    assert [(tree / p).readlink() for p in links] == [(source / p).readlink() for p in links]
    assert sdist.stat().st_size < 10e6


def test_sdist_builds_the_wheel(source, sdist, venv, tmp_path):
    argv = [venv / "bin/python", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    wheels = []
    for name, what in (("of_sdist", sdist), ("of_tree", source)):
        run(*argv, "-w", tmp_path / name, what, cwd=tmp_path)
        wheels += (tmp_path / name).glob("fuzztui-*.whl")
    names = names_in(wheels[0])
    assert names == names_in(wheels[1])
    assert set(SHIPPED) <= names
    assert any(name.endswith(MAN_PAGE) for name in names)
    assert not any("/runs/" in name or name.endswith(".pyc") for name in names)
    assert "fuzztui/kernel/README.md" not in names  # for who works on the repository


READERS = (
    "tests/docs",
    "tests/ci",
    "tests/samples",
    "tests/cli/test_cli_man.py",
    "tests/cli/test_published.py",
)
"""Fast tests that read files of the repository."""


@pytest.mark.timeout(1500)
def test_sdist_passes_tests_without_git(sdist, tmp_path):
    """All fast tests are too many here: docs/releasing.md."""
    tree = unpack(sdist, tmp_path / "unpacked")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *READERS]
    run(*argv, cwd=tree, PYTHONPATH=str(tree))


@needs("release")
@pytest.mark.timeout(1500)
def test_a_release_is_clean(source, tmp_path):
    """twine, check-wheel-contents and pyroma find nothing; each link has an address."""
    script, address = source / ".ci/release.py", "https://host.example/owner/fuzztui"
    argv = [sys.executable, script, address, fuzztui.__version__, "--contact", "a@host.example"]
    run(*argv, "-o", tmp_path, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    text = archive.read(name).decode()
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?ms)^```.*?^```$", "", text))
    assert [link for link in links if not link.startswith("https://")] == []
    ours = [link.removeprefix(address) for link in links if link.startswith(address)]
    assert ours
    for link in ours:
        path = re.sub(r"^/\w+/v[\d.]+/|#.*", "", link)
        assert (source / path).exists(), link
    assert f"Project-URL: Homepage, {address}" in text


@needs("release")
def test_workflows_are_safe():
    zizmor = Path(sysconfig.get_path("scripts")) / "zizmor"
    run(zizmor, "--offline", "--quiet", ".github", cwd=ROOT)


@pytest.mark.parametrize("installer", ["uvx", "pipx"])
def test_a_wheel_runs_without_an_environment(source, venv, tmp_path, installer):
    found = Path(sysconfig.get_path("scripts")) / installer
    if not found.exists():
        pytest.skip("the extra release is not installed")
    run(venv / "bin/pip", "wheel", "-q", "--no-deps", "-w", tmp_path, source, cwd=tmp_path)
    (wheel,) = tmp_path.glob("fuzztui-*.whl")
    words = {"uvx": ["--from", wheel], "pipx": ["run", "--spec", wheel]}[installer]
    homes = {name: str(tmp_path / name) for name in ("PIPX_HOME", "XDG_DATA_HOME")}
    said = run(found, *words, "fuzztui", "--version", cwd=tmp_path, **homes)
    assert said.strip() == f"fuzztui {fuzztui.__version__}"


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
