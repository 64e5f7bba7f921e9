"""Mutants of Python targets: found, copied, built, told from one another, and run."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from waiting import until

from fuzztui.engines.process.origin import code_of
from fuzztui.features.fuzzfirst.backend import backend_for
from fuzztui.features.fuzzfirst.corpora import Corpora
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.features.fuzzfirst.python_backend import PythonBackend
from fuzztui.features.fuzzfirst.python_batch import PythonBatch
from fuzztui.features.fuzzfirst.roadblocks import Roadblocks, SourceLayout
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.state import State
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.identity import marked
from fuzztui.run.process.service import ServiceContext
from fuzztui.run.supervise.services import all_services

READER = '''\
"""Reads."""
import os, resource, sys, time
from . import deep


def read(data):
    if data[:1] == b"C":
        raise KeyError("no")
    if data[:1] == b"I":
        raise ValueError("invalid")
    if data[:1] == b"H":
        while True:
            time.sleep(0.01)
    if data[:1] == b"L":
        while True:
            pass
    if data[:1] == b"X":
        os._exit(0)
    if data[:1] == b"K":
        os.kill(os.getpid(), 9)
    if data[:1] == b"N":
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    if data[:1] == b"Z":
        os.kill(os.getpid(), 19)
    if data[:1] == b"G":
        os.kill(os.getppid(), 9)
        time.sleep(60)
    if data[:1] == b"P":
        deep.LIMIT = -1
    if data[:1] == b"M":
        bytearray(1 << 40)
    if data[:1] == b"O":
        os.close(1), os.close(2), os.chdir("/")
    if data[:1] == b"F" and os.fork() == 0:
        return 1
    if data[:1] == b"T":
        from . import late
        return late.more(data)
    if data[:1] == b"U":
        from . import later
        return later.more(data)
    return deep.check(data)
'''
DEEP = """\
LIMIT = 3


def check(data):
    if LIMIT < 0:
        raise RuntimeError("poisoned")
    if len(data) > LIMIT:
        return "long"
    return "short"
"""
LATE = """\
def more(data):
    if len(data) > 1:
        return "more"
    return "none"
"""


@pytest.fixture
def lab(tmp_path):
    """A package, and campaigns that fuzz it."""

    class Lab:
        root = tmp_path / "src"
        home = RunDir(tmp_path / "run")

        def __init__(self):
            (self.root / "parcel").mkdir(parents=True)
            texts = {"reader": READER, "deep": DEEP, "late": LATE, "later": LATE}
            for name, text in texts.items():
                (self.root / "parcel" / f"{name}.py").write_text(text)
            (self.root / "parcel" / "__init__.py").write_text("from . import reader\n")
            (self.root / "parcel" / "__pycache__").mkdir()
            (self.root / "parcel" / "words.txt").write_text("data")
            self.home.supervisor.mkdir(parents=True)

        def campaign(self, sources, target='function = "parcel.reader:read"', engine="", more=""):
            file = tmp_path / "c.toml"
            file.write_text(
                f'[campaign]\noutput = "{self.home.path}"\nbudget = "1h"\n[target]\n'
                f'path = ["{self.root}"]\nexpected = ["ValueError"]\ntimeout = "200ms"\n{target}\n'
                f'[engine]\nkind = "zest"\n{engine}\n'
                f"[mutants]\nsources = {json.dumps(sources)}\n{more}\n"
            )
            return load(file).campaign

        def ground(self, sources, **keys):
            ground = backend_for(self.campaign(sources, **keys), self.home)
            assert isinstance(ground, PythonBackend)
            return ground

        async def ready(self, sources, **keys):
            ground = self.ground(sources, **keys)
            await ground.prepare(lambda _: None)
            return ground

        def batch(self, label="t", edges=None, **keys):
            return PythonBatch(self.campaign(["parcel.deep"], **keys), self.home, label, edges)

        def inputs(self, *texts):
            files = []
            for number, text in enumerate(texts):
                files.append(tmp_path / f"i{number}")
                files[-1].write_text(text)
            return files

    yield Lab()
    assert marked(tmp_path / "run") == []
    assert [*(tmp_path / "run").glob("supervisor/bench/*")] == []


@pytest.fixture
async def ground(lab):
    """What mutates parcel.deep."""
    return await lab.ready(["parcel.deep"])


async def started(lab, ground):
    corpora = Corpora(lab.campaign(["parcel.deep"]), lab.home, ground)
    await corpora.start(State())
    return corpora


def change(file, before, after, line=0):
    """A mutant of the one line that reads so."""
    return SourceMutant(f"{file}#{abs(hash((before, after)))}", file, line, "rule", before, after)


def deep(before, after):
    line = DEEP.split("\n").index(before) + 1
    return change("parcel/deep.py", before, after, line)


def outcomes(verdicts):
    return [verdict.outcome for verdict in verdicts]


# -------------------------------------------------------------------------- locating


@pytest.mark.slow
async def test_modules_and_files_are_found_and_copied(lab):
    ground = await lab.ready(["parcel.deep:1-5", "src/parcel/late.py"])
    assert ground.sources == [("parcel/deep.py", "1-5"), ("parcel/late.py", "")]
    copied = sorted(str(p.relative_to(ground.tree)) for p in ground.tree.rglob("*"))
    assert copied == [
        "parcel",
        *(f"parcel/{name}" for name in ("__init__.py", "deep.py", "late.py", "later.py")),
        "parcel/reader.py",
        "parcel/words.txt",
    ]
    assert not any(p.name == "parcel" for p in map(Path, sys.modules))
    # What was made once is not made again, whatever the user does to his own.
    (lab.root / "parcel" / "deep.py").write_text("LIMIT = 9")
    again = await lab.ready(["parcel.deep:1-5", "src/parcel/late.py"])
    assert (again.tree / "parcel" / "deep.py").read_text() == DEEP
    assert again.sources == ground.sources


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("parcel.nothing", "there is no module parcel.nothing"),
        ("parcel.deep.more", "parcel.deep is no package"),
        ("sys", "sys is part of the interpreter"),
        ("_json", "part of the interpreter|is compiled"),
        ("json.decoder", "json.decoder: no mutant would be run.*target.include"),
        ("src/none.py", "there is no file .*/src/none.py"),
        ("aside.py", "is not the file that importing its module finds"),
        ("src/ns/broken.py", "broken.py: SyntaxError"),
        ("src/ns", "there is no file"),
    ],
)
async def test_what_cannot_be_mutated_is_refused_in_words(lab, tmp_path, source, words):
    (tmp_path / "aside.py").write_text("A = 1\n")
    (lab.root / "ns").mkdir()
    (lab.root / "ns" / "broken.py").write_text("a = = b\n")
    (lab.root / "ns" / "fine.py").write_text("a = 1\n")
    with pytest.raises(SupervisorError, match=words) as refused:
        await lab.ready([source])
    assert str(refused.value).startswith("mutants.sources: ")
    assert not (lab.home.path / "mutants" / "work" / "python" / "state.json").exists()


@pytest.mark.slow
async def test_a_namespace_package_will_do(lab):
    (lab.root / "ns").mkdir()
    (lab.root / "ns" / "fine.py").write_text("a = 1\n")
    assert (await lab.ready(["ns.fine"])).sources == [("ns/fine.py", "")]


@pytest.mark.slow
async def test_a_module_that_the_engine_has_imported_is_the_targets_if_it_is_included(lab):
    target = 'function = "parcel.reader:read"\ninclude = ["parcel", "json"]'
    assert (await lab.ready(["json.decoder"], target=target)).sources == [("json/decoder.py", "")]


async def test_too_much_is_refused(lab, monkeypatch):
    monkeypatch.setattr("fuzztui.features.fuzzfirst.python_backend.MAX_FILES", 3)
    with pytest.raises(SupervisorError, match="too much for a copy"):
        await lab.ready(["parcel.deep"])


@pytest.mark.slow
async def test_a_target_that_cannot_be_imported_is_refused_in_the_engines_words(lab):
    (lab.root / "parcel" / "deep.py").write_text("raise OSError('not today')\n")
    with pytest.raises(SupervisorError, match="importing it raised OSError: not today"):
        await lab.ready(["parcel.deep"])


@pytest.mark.slow
async def test_links_are_followed_but_not_for_ever(lab):
    (lab.root / "parcel" / "again").symlink_to(lab.root / "parcel", target_is_directory=True)
    ground = await lab.ready(["parcel.deep"])
    assert not (ground.tree / "parcel" / "again" / "deep.py").exists()


# -------------------------------------------------------------------------- building


def test_code_is_the_same_whatever_its_lines_are(tmp_path, capsys):
    def code(text):
        (tmp_path / "m.py").write_text(text)
        assert code_of(tmp_path / "m.py") == 0
        return json.loads(capsys.readouterr().out)["code"]

    one = code("def f(a):\n    return {1: a in (1, 2)}\n")
    assert one == code("# why\n\ndef f(a):\n    return {\n        1: (a in (1, 2))}\n")
    others = ["(1, 3)", "(1.0, 2)", "(True, 2)", "{1, 2}", "[1, 2, 3]"]
    texts = [f"def f(a):\n    return {{1: a in {other}}}\n" for other in others]
    texts += [f"def {head}:\n    return {{1: a in (1, 2)}}\n" for head in ("g(a)", "f(a, /)")]
    assert len({one, *map(code, texts)}) == 1 + len(texts)


@pytest.mark.slow
async def test_mutants_are_built_and_told_from_one_another(lab, ground, tmp_path):
    into = tmp_path / "built"
    first = deep("    if len(data) > LIMIT:", "    if len(data) >= LIMIT:")
    built = await ground.build(first, into / "1")
    assert built.command == (str(into / "1"),) and not built.duplicate_of and not built.error
    assert ">= LIMIT" in (into / "1" / "parcel" / "deep.py").read_text()
    same = deep("    if len(data) > LIMIT:", "    if (len(data)) >= (LIMIT): # really")
    twin = await ground.build(same, into / "2")
    assert (twin.command, twin.duplicate_of) == ((), first.id) and not (into / "2").exists()
    blank = await ground.build(deep("LIMIT = 3", "LIMIT = 1 + 2"), into / "3")
    assert blank.duplicate_of == "original"
    # A restart knows them by their digests.
    after = await lab.ready(["parcel.deep"])
    after.digests |= ground.digests
    assert (await after.build(same, into / "2")).duplicate_of == first.id
    assert (await after.build(first, into / "1")).command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("LIMIT = (", "SyntaxError: '\\(' was never closed"),
        ("LIMIT = 1 / 0", "importing it raised ZeroDivisionError"),
        ("import os; os._exit(0); LIMIT = 3", "without any output"),
        ("LIMIT = 3; from . import nowhere", "importing it raised ImportError"),
    ],
)
async def test_what_does_not_compile_or_import_is_told_in_words(ground, tmp_path, after, words):
    built = await ground.build(deep("LIMIT = 3", after), tmp_path / "b")
    assert built.command == () and not built.duplicate_of and not (tmp_path / "b").exists()
    assert re.search(words, built.error), built.error


@pytest.mark.slow
async def test_a_mutant_that_is_imported_without_end(lab, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.features.fuzzfirst.python_backend.MIN_LIMIT_S", 0.5)
    monkeypatch.setattr("fuzztui.features.fuzzfirst.python_backend.TIMES_BASELINE", 1)
    ground = await lab.ready(["parcel.deep"])
    built = await ground.build(deep("LIMIT = 3", "while True: pass"), tmp_path / "b")
    assert "took more than" in built.error and not built.command


@pytest.mark.slow
async def test_the_file_was_changed_since(ground, tmp_path):
    odd = change("parcel/deep.py", "LIMIT = 4", "LIMIT = 5", 1)
    assert "has changed since" in (await ground.build(odd, tmp_path / "b")).error
    other = change("parcel/late.py", "x", "y", 1)
    assert "is not in mutants.sources" in (await ground.build(other, tmp_path / "b")).error


@pytest.mark.slow
async def test_a_mutated_harness_is_the_mutants_own(lab, tmp_path):
    (lab.root / "harness.py").write_text("def target(data):\n    return len(data)\n")
    target = f'function = "{lab.root}/harness.py"\ninclude = ["harness"]'
    ground = await lab.ready(["src/harness.py"], target=target)
    mutant = change("harness.py", "    return len(data)", "    return {}[data]", 2)
    built = await ground.build(mutant, tmp_path / "b")
    assert ground.target(built.command)["function"] == str(tmp_path / "b" / "harness.py")
    ran = await ground.batch(built.command, "m1").run(lab.inputs("a"))
    assert outcomes(ran) == ["crash"]


# --------------------------------------------------------------------------- running


@pytest.mark.slow
async def test_the_mutant_is_what_runs(lab, ground, tmp_path):
    mutant = deep('        return "long"', "        return {}[0]")
    built = await ground.build(mutant, tmp_path / "b")
    inputs = lab.inputs("a", "abcd", "I")
    assert outcomes(await ground.batch(built.command, "m1").run(inputs)) == ["ok", "crash", "ok"]
    assert outcomes(await ground.batch((), "target").run(inputs)) == ["ok", "ok", "ok"]


@pytest.mark.slow
async def test_no_input_spoils_another(lab):
    texts = [*"aCIP", "abcd", *"XaKLaHaMOFZNa"]
    ran = await lab.batch().run([*lab.inputs(*texts), Path("/dev/zero"), Path("/nowhere")])
    told = dict(enumerate(zip([*texts, "", ""], outcomes(ran), strict=True)))
    wrong = {"C": "crash", "X": "crash", "K": "crash", "M": "crash", "P": "crash"}
    hang = dict.fromkeys("LHZN", "hang")
    expected = [{**wrong, **hang}.get(text, "ok" if text else "unfit") for text, _ in told.values()]
    assert outcomes(ran) == expected
    assert [v.sig for v, text in zip(ran, texts, strict=False) if text == "K"] == [9]


@pytest.mark.slow
async def test_one_that_kills_those_who_run_it_costs_itself_only(lab, monkeypatch):
    ran = await lab.batch().run(lab.inputs("a", "G", "a", "C", "G"))
    assert outcomes(ran) == ["ok", "crash", "ok", "crash", "crash"]
    monkeypatch.setattr("fuzztui.features.fuzzfirst.python_batch.MAX_STALLS", 1)
    with pytest.raises(SupervisorError, match="inputs end the engine"):
        await lab.batch().run(lab.inputs("G", "a", "G"))


async def test_what_an_input_leaves_behind_blames_nobody_else(lab):
    texts = ["P", "a", "abcd", "C", "a"]
    reader = (lab.root / "parcel" / "reader.py").read_text()
    quiet = reader.replace("deep.LIMIT = -1", "deep.LIMIT = -1; return 0")
    (lab.root / "parcel" / "reader.py").write_text(quiet)
    assert outcomes(await lab.batch().run(lab.inputs(*texts))) == ["ok", "ok", "ok", "crash", "ok"]


@pytest.mark.slow
async def test_many_that_fail_alike_are_believed_after_a_while(lab):
    ran = await lab.batch().run(lab.inputs(*["C"] * 40, "a", *["X"] * 3, "a", "C"))
    assert outcomes(ran) == ["crash"] * 40 + ["ok"] + ["crash"] * 3 + ["ok", "crash"]


@pytest.mark.slow
async def test_cells_are_the_same_in_all_batches(lab, tmp_path):
    edges = tmp_path / "edges.json"

    async def traces(*texts):
        ran = await lab.batch(edges=edges).run(lab.inputs(*texts))
        return [verdict.trace for verdict in ran]

    short, long, invalid = await traces("a", "abcd", "I")
    assert short and long and short != long
    # The valid ones' cells are distinguished.
    assert {c % 8 for c in short} == {0, 7} and {c % 8 for c in invalid} == {0}
    late, more = await traces("T", "Tx")
    assert late != more and not late <= short
    (crash,) = await traces("C")
    assert await traces("Tx", "C", "abcd", "T", "a") == [more, crash, long, late, short]


@pytest.mark.slow
async def test_cells_of_what_is_imported_late_are_numbered_once(lab, tmp_path):
    def run(*texts):
        return lab.batch(edges=tmp_path / "edges.json").run(lab.inputs(*texts))

    late, _, later = (v.trace for v in await run("T", "C", "U"))
    assert [v.trace for v in await run("U", "T")] == [later, late]


async def test_hits_are_counted_if_the_campaign_wants_that(lab):
    (lab.root / "parcel" / "deep.py").write_text(
        "def check(data):\n    n = 0\n    for c in data:\n        n += c\n    return n\n"
    )
    ran = await lab.batch(engine='coverage = "counts"').run(lab.inputs("a", "aaaa", "a" * 100))
    buckets = [max(cell % 8 for cell in v.trace if cell % 8 != 7) for v in ran]
    assert buckets == [0, 3, 6]


@pytest.mark.slow
async def test_a_generators_choices_are_inputs(lab):
    (lab.root / "parcel" / "make.py").write_text(
        "def generate(source):\n"
        "    if source.boolean():\n        return b'C'\n"
        "    return b'a' if source.boolean() else b'abcd'\n"
    )
    target = 'function = "parcel.reader:read"\ngenerator = "parcel.make:generate"'
    ran = await lab.batch(target=target).run(lab.inputs("\0\0", "\0\1", "\1"))
    assert outcomes(ran) == ["ok", "ok", "crash"] and ran[0].trace != ran[1].trace
    # What they lack is the same whenever they are run.
    ran = await lab.batch(target=target).run(lab.inputs(*["\0"] * 12))
    assert len({verdict.trace for verdict in ran}) == 1


@pytest.mark.parametrize("is_hub", [False, True])
def test_constants_are_fixed_before_the_first_spec_is_written(lab, *, is_hub):
    (lab.root / "parcel" / "make.py").write_text(
        "def generate(source):\n    return source.text()\n"
    )
    target = 'function = "parcel.reader:read"\ngenerator = "parcel.make:generate"'
    target += '\ninclude = ["parcel"]'
    campaign = lab.campaign(["parcel.deep"], target=target, engine="constants = true")
    lab.home.out.mkdir(parents=True)
    context = ServiceContext(campaign, lab.home, State(), print, float, is_hub=is_hub)
    for service in all_services(context):
        service.setup(lambda _: None)
    assert lab.home.constants.is_file()
    spec = json.loads((lab.home.instance(MUTANT_INPUTS) / "spec.json").read_text())
    assert spec["engine"]["constants_file"] == "../../constants.json"


@pytest.mark.slow
async def test_the_target_is_gone(lab):
    (lab.root / "parcel" / "__init__.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(SupervisorError, match="nothing_of_that_name"):
        await lab.batch().run(lab.inputs("a"))
    assert await lab.batch().run([]) == []


@pytest.mark.slow
async def test_a_failure_is_described_as_an_engine_would(lab):
    batch = lab.batch()
    words = await batch.describe(lab.inputs("C")[0])
    assert words["category"] == "crash" and words["signature"].startswith("KeyError @ reader.py")
    assert "Traceback" in words["detail"] and words["input"]
    assert await batch.describe(lab.inputs("a")[0]) == {}
    died = await batch.describe(lab.inputs("K")[0])
    assert died["title"] == "the process was killed by SIGKILL"
    assert (await batch.describe(lab.inputs("L")[0]))["category"] == "hang"


@pytest.mark.slow
async def test_one_may_be_given_up_at_any_time(lab):
    task = asyncio.ensure_future(lab.batch().run(lab.inputs(*["L"] * 50)))
    await until(lambda: marked(lab.home.path))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.slow
async def test_lines_that_seeds_execute(lab):
    ground = await lab.ready(["parcel.deep"], more="covered = true")

    async def lines(*texts):
        return (await ground.reach(lab.inputs(*texts))).lines

    one = (await lines("a"))["parcel/deep.py"]
    assert one == {1, 4, 5, 7, 9}
    both = await lines("a", "X", "abcd")
    assert both["parcel/deep.py"] == {*one, 8} and "parcel/late.py" not in both
    assert "parcel/late.py" in await lines("T")
    assert both["parcel/reader.py"]


@pytest.mark.slow
async def test_roadblocks_of_python(lab):
    """Of lines that the interpreter reports: an arm of a condition, and a module behind another."""
    ground = await lab.ready(["parcel.deep", "parcel.reader"], more='order = "roadblocks"')
    files = "parcel/deep.py", "parcel/reader.py"
    layouts = {
        file: SourceLayout((ground.tree / file).read_text().split("\n"), python=True)
        for file in files
    }

    async def roadblocks(*texts):
        found = Roadblocks(await ground.reach(lab.inputs(*texts)), layouts).find()
        return {(r.file, r.line): (r.hides, r.met) for r in found}

    short = await roadblocks("a")
    assert short["parcel/deep.py", 5] == short["parcel/deep.py", 7] == (1, True)
    at = READER.split("\n").index('    if data[:1] == b"H":') + 1
    assert short["parcel/reader.py", at] == (2, True)
    assert not {("parcel/deep.py", 7), ("parcel/reader.py", 6)} & {
        *await roadblocks("a", "abcd", "C")
    }


@pytest.mark.slow
async def test_another_answer_kills_if_the_campaign_wants_that(lab, tmp_path):
    reader = (lab.root / "parcel" / "reader.py").read_text()
    odd = 'if data[:1] == b"R":\n        return object()\n    if data[:1] == b"N":\n        '
    odd += 'return os.getpid()\n    if data[:1] == b"T"'
    (lab.root / "parcel" / "reader.py").write_text(reader.replace('if data[:1] == b"T"', odd))
    ground = await lab.ready(["parcel.deep", "parcel.reader"])
    shorter = await ground.build(deep('    return "short"', "    return 'brief'"), tmp_path / "b1")
    text = '        raise ValueError("invalid")'
    at = (ground.tree / "parcel/reader.py").read_text().split("\n").index(text) + 1
    other = change("parcel/reader.py", text, '        raise ValueError("other words")', at)
    same = await ground.build(other, tmp_path / "b2")
    texts = ["a", "abcd", "I", "C", "R", "N", "L"]
    inputs = [Input(f, t, t) for f, t in zip(lab.inputs(*texts), texts, strict=True)]
    outputs = ground.outputs()
    assert await outputs.differing(shorter.command, inputs) == {"a": "output"}
    assert await outputs.differing(same.command, inputs) == {}
    assert await outputs.differing(shorter.command, []) == {}


# ---------------------------------------------------------------------------- corpora


@pytest.mark.slow
async def test_what_a_mutant_makes_nothing_of_is_there_for_the_next(lab, ground):
    lab.home.seeds.mkdir()
    for name in ("long", "short"):
        (lab.home.seeds / name).write_text(name)
    corpora = await started(lab, ground)
    batch = ground.batch((), "m1")
    pruned = await corpora.prepare_turn("mutant", "m1", batch, parallel=False)
    assert [one.origin for one in pruned.kept] == ["seed:long", "seed:short"]
    # zest has made one of the two smaller, and found that the other one covers nothing more.
    queue = lab.home.in_slot("m1").out / "m1" / "queue"
    queue.mkdir(parents=True)
    (queue / "id:000000,time:0,execs:1,orig:long").write_text("l")
    (queue / "id:000001,src:000000,time:0,execs:9,op:havoc,rep:2").write_text("found")
    await corpora.transfer_turn("mutant", "m1", batch, (), parallel=False)
    pruned = await corpora.prepare_turn("other", "m2", batch, parallel=False)
    assert [one.path.read_text() for one in pruned.kept] == ["long", "short", "found"]
    names = sorted(file.name for file in lab.home.in_slot("m2").seeds.iterdir())
    assert "m1+000001" in names and "short" in names and len(names) == 3


@pytest.mark.slow
async def test_nothing_to_start_from_is_no_refusal(lab, ground):
    corpora = await started(lab, ground)
    pruned = await corpora.prepare_turn("mutant", "m1", ground.batch((), "m1"), parallel=False)
    assert (pruned.kept, pruned.aside, corpora.matrix.mutants()) == ([], [], ())
    assert [*lab.home.in_slot("m1").seeds.iterdir()] == []
