"""Suites in campaign files, and what ``fuzztui test`` makes of a project."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from fuzztui.cli import main, origins, suite_patch
from fuzztui.cli import test as command
from fuzztui.cli.output import DONE, FAILED, NOT_RUNNING, USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire import events as ev
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.rundir import SupervisorError, Unfit, prepare_run
from fuzztui.run.inprocess.ask import NoAnswer
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.tools.export.made_examples import MadeExample


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("src/shop/__init__.py", "src/shop/core.py", "tests/test_shop.py", "setup.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("def target(data): ...\ndef price(data): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return tmp_path


def campaign(project, function, kind="zest", **tables):
    text = f"[target]\nfunction = {json.dumps(function)}\n" + "\n".join(
        f"{key} = {json.dumps(value)}" for key, value in {"include": ["shop"], **tables}.items()
    )
    return load(project / "c.toml", text=f'[engine]\nkind = "{kind}"\n{text}')


@pytest.mark.parametrize(
    "function",
    [
        "tests",
        "tests/",
        "tests/test_shop.py::test_x[a:b]",
        ["tests/test_shop.py"],
        ["tests", "shop:price", "tests/test_shop.py:price"],
    ],
)
def test_what_is_a_suite(project, function):
    loaded = campaign(project, function)
    suite = loaded.campaign.target["suite"]
    assert all(part == "shop:price" or Path(part.partition(":")[0]).is_absolute() for part in suite)
    assert str(project) not in loaded.campaign.subject
    directory = project / "out" / "main"
    directory.mkdir(parents=True)
    write_spec(directory / "spec.json", loaded.campaign, directory)
    assert json.loads((directory / "spec.json").read_text())["target"]["suite"] == suite


@pytest.mark.parametrize("function", ["tests/test_shop.py:price", "shop:price"])
def test_what_is_one_function(project, function):
    assert "suite" not in campaign(project, function).campaign.target


@pytest.mark.parametrize(
    ("function", "tables", "words"),
    [
        (["tests", "nowhere/"], {}, "does not exist"),
        ([], {}, "target.function"),
        ([3], {}, "target.function"),
        (["tests"], {"include": []}, "target.include"),
        (["tests"], {"generator": "shop:price"}, "target.generator"),
        (["tests"], {"compare": "shop:price"}, "target.compare"),
    ],
)
def test_what_is_refused(project, function, tables, words):
    with pytest.raises(CampaignError, match=words):
        campaign(project, function, **tables)


@pytest.mark.parametrize("kind", ["spoton", "text"])
def test_other_engines_take_one_function(project, kind):
    with pytest.raises(CampaignError, match="several targets"):
        campaign(project, ["tests"], kind)


def test_the_frozen_copy_is_the_same_suite(project):
    loaded = campaign(project, "tests")
    assert loaded.frozen["target"]["function"] == [str(project / "tests")]


def test_what_is_under_test(project):
    assert list(command._packages(project)) == ["shop"]
    (project / "src" / "shop").rename(project / "shop")
    (project / "src").rmdir()
    (project / "helpers_test.py").touch()
    (project / "single.py").touch()
    assert list(command._packages(project)) == ["shop", "single"]


def test_the_root_of_a_project(project):
    assert command._root_of(project / "tests") == project


def test_the_interpreter_of_a_project(project, monkeypatch):
    for name in (".venv", "other"):
        python = project / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch(0o755)
    assert command._python_of(project) == str(project / ".venv" / "bin" / "python")
    monkeypatch.setenv("VIRTUAL_ENV", str(project / "other"))
    assert command._python_of(project) == str(project / "other" / "bin" / "python")


def test_without_packages_or_tests(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.py").touch()
    assert main(["test"]) == USAGE
    (tmp_path / "tests").mkdir()
    assert main(["test"]) == USAGE
    assert "--include" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nope/"], "nope/: there is no"),
        (["tests/test_shpo.py"], "did you mean tests/test_shop.py"),
        (["tests", "nope.py::test_a[x/y]"], "nope.py::test_a[x/y]: there is no"),
        (["nope.py:price"], "nope.py:price: there is no"),
        (["tests", ""], "an empty text"),
        (["tests", "--include", "shop", "--budget", "soon"], "--budget: campaign.budget"),
        (["tests", "--include", "shop", "--budget", "²"], "--budget: campaign.budget"),
        (["tests", "--include", "shop", "--budget", "9" * 5000], "--budget: campaign.budget"),
        (["tests", "--include", "shop", "--python", "nopy"], "--python: target.python"),
        (["tests", "--include", "shop", "--instances", "-1"], "--instances: engine.instances"),
        (["tests", "--include", "shop", "--set", "stop.crashes=x"], "--set stop.crashes=x: stop."),
    ],
)
def test_errors_name_what_the_user_has_written(argv, words, project, capsys):
    assert main(["test", *argv]) == USAGE
    message = capsys.readouterr().err
    assert words in message
    assert "fuzztui-test.toml" not in message


def test_tests_that_cannot_be_run_get_no_run(project, monkeypatch, capsys):
    asked = []

    def ready(campaign, progress):
        asked.append(campaign.target["suite"])
        raise Unfit("target.function: no test with @given", "target.function")

    monkeypatch.setattr("fuzztui.cli.run.ready", ready)
    for argv in (["tests/"], ["tests/", "--detach"], ["tests/", "--new"]):
        assert main(["test", *argv, "--include", "shop"]) == USAGE
        assert "fuzztui: tests/: target.function: no test" in capsys.readouterr().err
    assert asked == [[str(project / "tests")]] * 3
    assert not (project / "runs").exists()


def test_tests_for_hosts_are_not_collected_here(project, monkeypatch):
    """There other packages may be installed."""

    def ready(campaign, progress):
        raise Unfit("no module named shop", "target.function")

    def prepare_run(where):  # nothing is started
        raise SupervisorError("the end")

    monkeypatch.setattr("fuzztui.cli.run.ready", ready)
    monkeypatch.setattr("fuzztui.cli.run.prepare_run", prepare_run)
    assert main(["test", "tests", "--include", "shop", "--host", "box"]) == FAILED


def selected(project, *parts):
    """Name and target of the campaign that ``fuzztui test`` makes."""
    options = parse(["test", *parts, "--include", "shop"])
    text = command._campaign(options, options.parts or ["tests"], project)
    loaded = load(project / "fuzztui-test.toml", text=text)
    return loaded.campaign.name, loaded.frozen["target"]["function"]


def test_each_selection_has_a_run_of_its_own(project):
    file = project / "tests/test_shop.py"
    (project / "tests/test_shop_2.py").touch()
    whole = selected(project)
    assert whole == (f"{project.name}-tests", [str(project / "tests")])
    assert whole == selected(project, "tests/") == selected(project, str(project / "src/../tests"))
    one = selected(project, "tests/test_shop.py::test_x")
    assert one == (f"{project.name}-tests-test_shop-test_x", [f"{file}::test_x"])
    two = selected(project, "tests/test_shop.py::test_x", "tests/test_shop.py::test_a")
    assert two == selected(
        project, "tests/test_shop.py::test_a", str(file) + "::test_x", "tests/test_shop.py::test_x"
    )
    others = [
        selected(project, part)[0]
        for part in (
            ".", "tests/test_shop.py", "tests/test_shop_2.py", "tests/test_shop.py::test_x[1-2]",
            "tests/test_shop.py::test_x[1 2]", "tests/test_shop.py::test_x[2]",
            f"tests/test_shop.py::test_{'y' * 200}", f"tests/test_shop.py::test_{'y' * 201}",
        )
    ]  # fmt: skip
    names = [whole[0], one[0], two[0], *others]
    assert len(set(names)) == len(names)
    # None looks like the second run of another one.
    assert not [name for name in names if re.search(r"-\d+$", name)]
    assert max(map(len, others)) < len(project.name) + 80


@pytest.mark.parametrize(("options", "kind"), [([], "zest"), (["--mutants"], "mu2")])
def test_mutants_are_another_campaign(project, monkeypatch, options, kind):
    seen = []
    monkeypatch.setattr(
        command, "run_file", lambda file, options, made: seen.append(made.text) or 0
    )
    assert main(["test", "tests", "--include", "shop", *options]) == 0
    tables = tomllib.loads(seen[0])
    assert tables["engine"]["kind"] == kind
    named = tables["campaign"]["name"]
    assert named == project.name + ("-mutants" if options else "-tests")
    one = "tests/test_shop.py::test_x"
    assert main(["test", one, "--include", "shop", *options]) == 0
    named = tomllib.loads(seen[1])["campaign"]["name"]
    assert named == f"{project.name}{'-mutants' if options else ''}-tests-test_shop-test_x"


def test_a_patch_needs_a_run(project, capsys):
    assert main(["test", "--write-examples"]) == NOT_RUNNING
    assert f"{project}: these tests were not fuzzed" in capsys.readouterr().err


def test_the_root_is_found_from_inside_of_the_tests(project, monkeypatch, capsys):
    monkeypatch.chdir(project / "tests")
    for part in (".", "../tests", "test_shop.py"):
        assert main(["test", part, "--write-examples"]) == NOT_RUNNING
        assert f"{project}: these tests were not fuzzed" in capsys.readouterr().err


def test_the_patch_is_of_the_newest_run_of_the_project_or_of_the_named_tests(project, monkeypatch):
    asked = []
    monkeypatch.setattr(command, "print_patch", lambda run, root: asked.append((run, root)) or 0)
    one, file = "tests/test_shop.py::test_x", project / "fuzztui-test.toml"
    begun = iter((1.0, 3.0, 2.0))
    monkeypatch.setattr(origins, "time", lambda: next(begun))
    runs = []
    for part in ("tests", one, "tests/test_shop.py"):
        options = parse(["test", part, "--include", "shop"])
        loaded = load(file, text=command._campaign(options, options.parts, project))
        run = loaded.campaign.output
        prepare_run(run)
        origins.remember(run, loaded.campaign)
        (run / "campaign.toml").write_text(loaded.toml())
        runs.append(run)
    (project / "runs/other").mkdir()
    for argv in ([], ["tests/"], [one], ["tests/test_shop.py"], ["src"]):
        assert main(["test", *argv, "--write-examples", "--include", "shop"]) == DONE
    assert asked == [(run, project) for run in (runs[1], *runs, None)]


HOSTILE = "test_shop.py::test_n(n=os.system('touch hacked'))"


def suite_run(project, files, name="tests/test_shop.py::test_n"):
    """A run of the project's tests; ``files``: the signatures of findings by file."""
    loaded = campaign(project, "tests", path=[str(project / "src")], cwd=str(project))
    run = project / "runs" / "run"
    for folder in ("log", "supervisor"):
        (run / folder).mkdir(parents=True)
    writer = LogWriter(run / "log")
    writer.append(ev.CampaignStarted("shop", "zest", "tests", 0, wall=1e9), 0.0)
    for file, signature in files.items():
        described = ev.FindingDescribed("main", "crash", file, signature, "t", property=name)
        writer.append(described, 1.0)
        shown = ev.InputShown("main", file, text=HOSTILE, length=len(HOSTILE))
        writer.append(shown, 1.0)
        (run / "out/main" / file).parent.mkdir(parents=True, exist_ok=True)
        (run / "out/main" / file).touch()
    writer.close(at_rest=True)
    (run / "campaign.toml").write_text(loaded.toml())
    (project / "tests/test_shop.py").write_text(
        "import os\nfrom hypothesis import given, strategies as st\n"
        "@given(st.integers())\ndef test_n(n): ...\n"
    )
    return loaded, run


def patched(run, project, capsys):
    """The lines with examples that the patch adds."""
    assert suite_patch.print_patch(run, project) == DONE
    return {line for line in capsys.readouterr().out.splitlines() if line.startswith("+@example")}


@pytest.fixture
def answered(monkeypatch):
    """The engine's answers: by file, the test and the expression of ``n``; and what was asked."""
    answers, asked = {}, []

    def made_examples(campaign, files, instance, progress):
        asked.append((campaign.target["suite"], instance, len(files)))
        return {
            file: MadeExample(test, [("n", text, {})], "")
            for file in files
            if (known := answers.get(f"{file.parent.name}/{file.name}"))
            for test, text in [known]
        }

    monkeypatch.setattr(suite_patch, "made_examples", made_examples)
    return answers, asked


TEST = "test_shop.py::test_n"


def test_the_patch_has_the_smallest_input_of_each_signature(project, answered, capsys):
    answers, asked = answered
    findings = {"crashes/id:0": "a", "crashes/id:1": "a", "crashes/id:2": "b"}
    loaded, run = suite_run(project, findings)
    numbers = {"crashes/id:0": "1000", "crashes/id:1": "20", "crashes/id:2": "3000"}
    answers |= {file: (TEST, number) for file, number in numbers.items()}
    assert patched(run, project, capsys) == {"+@example(n=20)", "+@example(n=3000)"}

    # Minimised ones count, except for those that are another test's now.
    small = {"id:0": (TEST, "111"), "id:1": ("test_shop.py::test_m", "1"), "id:2": (TEST, "2")}
    for name, example in small.items():
        (run / "minimised/main" / name).parent.mkdir(parents=True, exist_ok=True)
        (run / "minimised/main" / name).touch()
        answers[f"main/{name}"] = example
    assert patched(run, project, capsys) == {"+@example(n=20)", "+@example(n=2)"}
    suite = loaded.campaign.target["suite"]
    assert asked == [(suite, run / "out" / "main", n) for n in (3, 6)]


def test_inputs_of_a_test_with_slashes_in_a_parameter(project, answered, capsys):
    call = "test_shop.py::test_n[a/b::c]"
    answered[0]["crashes/id:0"] = (call, "9")
    _, run = suite_run(project, {"crashes/id:0": "a"}, f"tests/{call}")
    assert patched(run, project, capsys) == {"+@example(n=9)"}


def test_the_text_of_the_log_never_becomes_code(project, answered, capsys):
    """Not even if the input cannot be made again."""
    _, run = suite_run(project, {"crashes/id:0": "a"})
    for why in ("cannot be made again", "os.system is not a class"):
        assert suite_patch.print_patch(run, project) == DONE
        out, err = capsys.readouterr()
        assert out == ""
        assert why in err
        answered[0]["crashes/id:0"] = (TEST, "os.system('touch hacked')")


def test_no_patch_if_the_tests_cannot_be_loaded(project, monkeypatch):
    _, run = suite_run(project, {"crashes/id:0": "a"})

    def made_examples(*_):
        raise NoAnswer("no module named shop")

    monkeypatch.setattr(suite_patch, "made_examples", made_examples)
    with pytest.raises(CliError, match="no module named shop"):
        suite_patch.print_patch(run, project)


def test_a_report_lists_properties(tmp_path, capsys):
    run = tmp_path / "run"
    for name in ("log", "supervisor"):
        (run / name).mkdir(parents=True)
    writer = LogWriter(run / "log")
    writer.append(ev.CampaignStarted("shop", "zest", "tests", 0, wall=1e9), 0.0)
    writer.append(ev.InstanceState("main", "running"), 0.1)
    writer.append(ev.PropertiesFound("main", {"t.py::<b>": "", "t.py::off": "no <i>db"}, 4), 0.2)
    row = {"trials": 12345, "share": 1_000_000, "weight": 1.0}
    writer.append(ev.PropertyFigures("main", {"t.py::<b>": row}), 0.3)
    writer.append(ev.CampaignEnded("finished", "budget"), 1.0)
    writer.close(at_rest=True)
    assert main(["report", str(run), "-o", str(tmp_path / "a.html")]) == 0
    page = (tmp_path / "a.html").read_text()
    assert "12,345" in page and "no &lt;i&gt;db" in page and "4 tests without @given" in page
    capsys.readouterr()
    assert main(["status", str(run)]) == 0
    text = capsys.readouterr().out
    assert "1 property, 1 not run, 4 tests without @given" in text
    assert "not run   t.py::off: no <i>db" in text
