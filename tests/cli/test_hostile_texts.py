"""Each format that text of a log gets into, read back by a parser of the format.

The places are those of the table in SECURITY.md.
"""

from __future__ import annotations

import ast
import html
import io
import json
import os
import re
import shlex
import subprocess
import tomllib
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import HOSTILE
from markdown_it import MarkdownIt
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.text import Text
from strict_html import StrictPage

from fuzztui.cli.output import say
from fuzztui.features.jobs.nodes import worker_command
from fuzztui.features.source.executed import Coverage, FileCoverage
from fuzztui.features.verdicts.block import verdict_block
from fuzztui.features.verdicts.file import VerdictsError, change_verdicts, read_verdicts
from fuzztui.kernel.base.page import Block, Code, Facts, Folded, Item, Note, Page, Section, Table
from fuzztui.kernel.base.patches import renamed_diff, unified_diff
from fuzztui.kernel.base.text import brief, visible
from fuzztui.tools.ci.annotations import github, gitlab
from fuzztui.tools.ci.junit import junit
from fuzztui.tools.ci.markdown import comment, markdown
from fuzztui.tools.ci.outcome import (
    CiOutcome,
    CodeLocation,
    Gate,
    ReportedFinding,
    ReportedKill,
    ReportedSurvivor,
)
from fuzztui.tools.ci.sarif import sarif
from fuzztui.tools.export.cases import TestCase, shown_entry, word_of
from fuzztui.tools.export.coverage import formatted
from fuzztui.tools.export.example_patch import FailingExample, patch
from fuzztui.tools.export.made_examples import MadeExample
from fuzztui.tools.export.pytest_file import TargetNames, TestWriter
from fuzztui.tools.export.recorded import Recorded
from fuzztui.tools.report.html import html_page
from fuzztui.tools.report.markdown import markdown_page
from fuzztui.tools.report.markdown_text import markdown_code, markdown_text
from fuzztui.tools.report.plain import plain_page
from fuzztui.tools.scaffold.files import CampaignDraft
from fuzztui.tools.status.metrics import _braced
from fuzztui.tools.web.page import page as page_to_serve
from fuzztui.tui.base.pictures import in_cells, portable
from fuzztui.tui.base.shell import command as shell_command
from fuzztui.tui.base.text import plain

Check = Callable[[str, Path], None]

# ------------------------------------------------------------------------------ Python


def exported_tests(text: str, tmp_path: Path) -> None:
    recorded = Recorded("success", choices=repr(text.encode("utf-8", "surrogatepass")))
    cases = [
        TestCase(
            shown_entry(text), word_of(text), recorded, ("m",), ("m",), 1, functions=((text, 1),)
        ),
        TestCase(shown_entry(text), word_of(text), recorded, cause=text),
    ]
    names = TargetNames("target:f", generator="target:g")
    made = TestWriter(tmp_path / "test_x.py", names).write(cases, [f"About {text}", text])
    tree = ast.parse(made.text)
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)
    assert isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant)
    assert all(isinstance(node, allowed) for node in tree.body[1:])
    modules = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert set(modules) <= {"pytest", "contextlib", "ast", "sys", "signal"}
    calls = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    assert not {"os.system", "exec", "eval"} & calls
    assert made.tests.keys() <= {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}


SOURCE = "from hypothesis import given\n\n@given(...)\ndef test_a(n): ...\n"


def examples_in_tests(text: str, _: Path) -> None:
    """An expression of the engine's, its names, its arguments' names, and the test's name."""
    for written, names in ((text, {}), (f"x({text!r})", {"x": text}), (repr(text), {})):
        made = MadeExample("t", [("n", written, names)], "")
        diff, _, _ = patch({"test_a.py": SOURCE}, [FailingExample("test_a.py::test_a", made)])
        for line in diff.splitlines():
            if line.startswith("+@"):
                [node] = ast.parse(f"{line[1:]}\ndef f(): ...").body[0].decorator_list
                assert all(ast.literal_eval(k.value) is not ... for k in node.keywords)
    odd = MadeExample("t", [(text, "1", {})], "")
    assert patch({"test_a.py": SOURCE}, [FailingExample("test_a.py::test_a", odd)])[1] == 0
    good = MadeExample("t", [("n", "1", {})], "")
    check_header(patch({text: SOURCE}, [FailingExample(f"{text}::test_a", good)])[0])


def check_header(diff: str) -> None:
    """A patch is about one file, and the lines of its header have one name each."""
    assert len(re.findall(r"(?m)^(?:---|\+\+\+) ", diff)) in (0, 2)
    assert all(line.rstrip("\t").isprintable() for line in diff.split("\n")[:2])


def diffs_of_mutants(text: str, _: Path) -> None:
    one = unified_diff("a.py", b"x = 1\n", b"x = 2\n")
    for diff in (unified_diff(text, b"x = 1\n", b"x = 2\n"), renamed_diff(one, text)):
        check_header(diff)
        assert diff.split("\n")[2:] == one.split("\n")[2:]


# -------------------------------------------------------------------------------- TOML


def verdict_for_pasting(text: str, _: Path) -> None:
    block = verdict_block(text, text, text)
    if block:
        [row] = tomllib.loads(block)["finding"]
        assert set(row) == {"signature", "verdict", "title", "place", "note"}
        assert (row["signature"], row["verdict"]) == (text, "known")
    else:
        assert not text or len(text) > 1000 or any("\ud800" <= ch <= "\udfff" for ch in text)


def verdicts_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "verdicts.toml"
    try:
        row = dict.fromkeys(("signature", "title", "place", "note"), text)
        change_verdicts(file, [{**row, "verdict": "known"}])
    except VerdictsError:  # too long, or no Unicode
        assert not file.exists()
        return
    assert read_verdicts(file).keys() == {text}


def campaign_file(text: str, _: Path) -> None:
    draft = CampaignDraft(
        text, "zest", {"function": text, "build": text}, remarks=[text],
        notes={"target.build": text, "campaign.name": text},
    )  # fmt: skip
    written = draft.text()
    if any("\ud800" <= ch <= "\udfff" for ch in text):
        return  # not a file that can be read; init refuses names that are no Unicode
    found = tomllib.loads(written)
    assert found.keys() == {"campaign", "target", "engine"}
    for value in (found["campaign"]["name"], *found["target"].values()):
        assert value.strip("\n") == text.strip("\n")
    assert found["target"].keys() == {"function", "build"}


# ---------------------------------------------------------------------- Markdown, HTML


def outcome(text: str) -> CiOutcome:
    place = CodeLocation(text or "x", 3)
    findings = [
        ReportedFinding(text, text, text, text, text, True, text, (), place),
        ReportedFinding(text, "crash", text, "", text, False, text, (), None),
    ]
    survivor = ReportedSurvivor(text, place, text, text, True, True)
    kills = [ReportedKill(place, text, text, text)]
    gates = [Gate("survivors", text, 11), Gate(text, text)]
    return CiOutcome(text, Path("/project"), text, text, findings=findings, survivors=[survivor],
                     kills=kills, gates=gates, notes=[text])  # fmt: skip


def page(text: str) -> Page:
    table = Table((text, "n"), [(text, Code(text)), (Code(text), text)])
    parts = [
        Note(text), Note(text, is_warning=True), Facts([(text, text), (text, Code(text))]), table,
        Block(text), Item(text, [Note(text)], (text,)), Folded(text, [Note(text), table]),
    ]  # fmt: skip
    return Page(text, text, [Section(text, parts)], text)


_TAGS = re.compile(r"</?(?:code|details|summary|sub)>")
_MENTION = re.compile(r"(?:^|[^\w/])[@](?=[A-Za-z0-9])")
_REFERENCE = re.compile(r"(?:^|\W)(?:GH-|#|!)\d")
_ADDRESS = re.compile(r"(?i)(?:https?|ftp)://|(?<![A-Za-z0-9])www\.|(?:mailto|xmpp):|\w@\w")


def check_markdown(written: str) -> None:
    """No element but ours; nothing outside of code that a code host would link or notify."""
    parser = MarkdownIt("gfm-like")
    parser.linkify.set({"fuzzy_link": False})  # a code host links no name without www.
    tokens = parser.parse(written)
    kinds = {token.type for token in tokens}
    assert not kinds & {"code_block", "hr", "ordered_list_open", "lheading_open"}
    assert all(token.markup == "#" * int(token.tag[1]) for token in tokens
               if token.type == "heading_open")  # fmt: skip
    for token in tokens:
        if token.type == "html_block":
            assert not re.sub(r"</?\w+>", "", _TAGS.sub("", token.content)).count("<")
        in_code = False
        for child in token.children or ():
            assert child.type in {"text", "html_inline", "softbreak", "text_special"}, child
            if child.type == "html_inline":
                assert _TAGS.fullmatch(child.content), child.content
                in_code = child.content == "<code>" or (in_code and child.content != "</code>")
            elif not in_code:
                for found in (_MENTION, _REFERENCE, _ADDRESS):
                    assert not found.search(child.content), child.content
    # What is linked before entities are read, also in code.
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", written)
    assert not re.search(r"(?i)(?:https?|ftp)://|(?<![A-Za-z0-9])www\.", outside)


def markdown_words(text: str, _: Path) -> None:
    for line in (markdown_text(text), markdown_code(text), f"# {markdown_text(text)}"):
        assert "\n" not in line
        check_markdown(line)
    shown = MarkdownIt("commonmark").parseInline(f"x{markdown_text(text)}x")[0].children
    got = "".join(child.content for child in shown or ()).replace("\u200b", "")
    assert got == f"x{visible(text)}x"


def markdown_of_ci(text: str, _: Path) -> None:
    marker, _, commented = comment(outcome(text)).partition("\n")
    assert re.fullmatch(r"<!-- fuzztui ci [0-9a-f]{32} -->", marker)
    for written in (markdown(outcome(text)), commented):
        check_markdown(written.replace("❌", "").replace("✅", ""))


def markdown_of_reports(text: str, _: Path) -> None:
    check_markdown(markdown_page(page(text)))


def html_of_reports(text: str, _: Path) -> None:
    found = StrictPage(html_page(page(text)))
    found.check_harmless()
    assert found.tags == StrictPage(html_page(page("x"))).tags
    assert visible(text) in found.texts or not text.strip()


# --------------------------------------------------------------- what servers of CI read

_COMMAND = re.compile(r"::(?P<name>[\w-]+)(?: (?P<properties>[^:]*))?::(?P<data>.*)")


def workflow_commands(text: str, _: Path) -> None:
    lines = list(github(outcome(text)))
    assert len(lines) == 2
    for line, name in zip(lines, ("error", "warning"), strict=True):
        assert line.isprintable()
        found = _COMMAND.fullmatch(line)
        assert found and found["name"] == name
        pairs = [pair.partition("=") for pair in found["properties"].split(",")]
        assert {key for key, _, _ in pairs} == {"file", "line", "title"}
        named = {key: value for key, _, value in pairs}
        decoded = named["file"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        assert decoded == visible(text or "x")


def messages_in_ci_logs(text: str, _: Path) -> None:
    from contextlib import redirect_stderr
    from io import StringIO

    with redirect_stderr(StringIO()) as written:
        say(text.replace("\n", " "))
    line = written.getvalue()
    assert line.count("\n") == 1
    assert not line.lstrip().startswith("::")
    assert "##[" not in line and "##vso[" not in line


def junit_xml(text: str, _: Path) -> None:
    found = ET.fromstring(junit(outcome(text)))
    tags = [element.tag for element in found.iter()]
    assert tags == [element.tag for element in ET.fromstring(junit(outcome("x"))).iter()]
    assert found[0].get("name") == visible(text)


def sarif_json(text: str, _: Path) -> None:
    [run] = json.loads(json.dumps(sarif(outcome(text))))["runs"]
    for result in run["results"]:
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            parts = urllib.parse.urlsplit(uri)
            assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", "")
    rows = json.loads(json.dumps(gitlab(outcome(text))))
    assert all(row["description"].isprintable() for row in rows)


def coverage_files(text: str, _: Path) -> None:
    name = text or "x"
    found = Coverage([FileCoverage(name, frozenset({1, 2}), frozenset({1}))], Path.cwd())
    lcov = formatted(found, "lcov").splitlines()
    assert [line.partition(":")[0] for line in lcov] == [
        "TN", "SF", "DA", "DA", "LF", "LH", "end_of_record",
    ]  # fmt: skip
    [one] = ET.fromstring(formatted(found, "cobertura")).iter("class")
    assert one.get("filename") == visible(name)
    assert json.loads(formatted(found, "json"))["files"].keys() == {name}


def prometheus(text: str, _: Path) -> None:
    labels = _braced({"campaign": text, "target": text})
    lines = f"# TYPE a gauge\na{labels} 1\n".encode("utf-8", "replace").decode()
    [family] = text_string_to_metric_families(lines)
    [sample] = family.samples
    assert sample.labels["campaign"] == text.encode("utf-8", "replace").decode()


# -------------------------------------------------------------------- shells, terminals


def shell_words(text: str, tmp_path: Path) -> None:
    if "\0" in text:
        return  # no argument of a program can have one
    line = shell_command(["printf", "%s", text])
    assert line.isprintable()
    if text.isprintable():
        assert shlex.split(line) == ["printf", "%s", text]
    done = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, check=True, cwd=tmp_path)
    try:
        assert done.stdout == os.fsencode(text)
    except UnicodeEncodeError:
        assert done.stdout == text.encode("utf-8", "surrogatepass") or "\ud800" in text
    assert not (tmp_path / "hacked").exists()


def remote_words(text: str, _: Path) -> None:
    from fuzztui.features.jobs.config import ClusterConfig
    from fuzztui.kernel.base.ssh import ssh_command

    script = f"exec {shlex.join(worker_command(ClusterConfig(python=text or 'x', tls=text), text))}"
    assert shlex.split(ssh_command("box", script)[-1]) == ["exec", "sh", "-c", script]
    assert text in shlex.split(script)


def lines_on_terminals(text: str, _: Path) -> None:
    for line in (visible(text), brief(text), plain(text)):
        assert line.isprintable()
    assert all(line.isprintable() for line in plain_page(page(text)).splitlines())


def page_of_serve(text: str, _: Path) -> None:
    made = page_to_serve(text, f"ws://127.0.0.1:1/{text}")
    assert (
        made.count("<script") == made.count("</script>") == page_to_serve("", "").count("<script")
    )
    title = made.partition("<title>")[2].partition("</title>")[0]
    assert html.unescape(title) == f"{visible(text)} - fuzztui" and "<" not in title


SVG_TAGS = {"svg", "style", "defs", "clipPath", "rect", "text", "g", "circle"}


def pictures_of_screens(text: str, _: Path) -> None:
    console = Console(record=True, file=io.StringIO(), width=200)
    console.print(Text(plain(text)))
    svg = portable(console.export_svg(title="fuzztui"))
    for picture in (svg, in_cells(svg)):
        root = ET.fromstring(picture)
        assert {node.tag.rpartition("}")[2] for node in root.iter()} <= SVG_TAGS
        drawn = "".join("".join(root.itertext()).split())
        assert "".join(plain(text).split())[:100] in drawn


PLACES: list[Check] = [
    exported_tests, examples_in_tests, diffs_of_mutants,
    verdict_for_pasting, verdicts_file, campaign_file,
    markdown_words, markdown_of_ci, markdown_of_reports, html_of_reports,
    workflow_commands, messages_in_ci_logs, junit_xml, sarif_json, coverage_files, prometheus,
    shell_words, remote_words, lines_on_terminals, pictures_of_screens,
    page_of_serve,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_text_stays_text(place: Check, text: str, tmp_path: Path) -> None:
    place(text, tmp_path)


def test_each_place_is_in_the_table() -> None:
    policy = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    assert [p.__name__ for p in PLACES if f"`{p.__name__}`" not in policy] == []
