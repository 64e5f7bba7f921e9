"""The documents: links lead somewhere, examples are campaigns, figures are measured."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import readme

from fuzztui.cli.ctl import ACTIONS
from fuzztui.cli.help import CAMPAIGN, GROUPS
from fuzztui.cli.parser import parse
from fuzztui.run.campaign import load

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(?:python|toml)\n# ([\w.]+).*\n((?:.*\n)*?)^```", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        other = page.parent / name if name else page
        assert other.exists(), link
        assert not anchor or anchor in anchors(other), link


def test_the_list_of_samples_has_each_with_its_budget():
    listed = re.findall(
        r"^\| `(\S+\.toml)` \|.* \| (.+?) \|$", (ROOT / "docs/samples.md").read_text(), re.M
    )
    files = (ROOT / "sample_campaigns").glob("*.toml")
    budgets = {file.name: tomllib.loads(file.read_text())["campaign"]["budget"] for file in files}
    assert sorted(listed) == sorted(budgets.items())


def test_the_first_commands_of_the_readme_install_run_and_test():
    """CI runs them by their number."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.DOTALL)
    install = (
        "python3 -m venv --without-pip .venv && python3 -m pip --python .venv/bin/python install"
    )
    assert blocks[0] == (
        f"{install} -q -e . && .venv/bin/fuzztui sample_campaigns/tomllib-mu2.toml\n"
    )
    assert blocks[1] == f"{install} -e '.[test]' && .venv/bin/pytest\n"


@pytest.mark.parametrize("pages", [["spoton"], ["spoton", "hypothesis"], ["aws"]], ids="-".join)
def test_examples_are_good_when_pasted(pages, tmp_path):
    files = {}
    for page in pages:
        files |= dict(BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text()))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        if name.endswith(".py"):
            compile(text, name, "exec")
    campaigns = [load(tmp_path / name).campaign for name in files if name.endswith(".toml")]
    assert campaigns
    for campaign in campaigns:
        for key in (campaign.target["function"], campaign.target.get("generator", "")):
            if key:
                module, _, function = key.rpartition(":")
                source = files[f"{Path(module).name.removesuffix('.py')}.py"]
                assert re.search(rf"^(def|class) {function}\b", source, re.MULTILINE), key


def test_measured_figures_are_those_of_the_results():
    made, used = readme.blocks(readme.read()), set()
    for page in readme.pages():
        text, names = readme.rewritten(page.read_text(), made)
        assert text == page.read_text(), "python benchmarks/readme.py writes what results.toml has"
        used |= names
    assert used == set(made)


@pytest.mark.parametrize("page", list(readme.pages()), ids=lambda page: page.name)
def test_no_benchmark_is_quoted_outside_of_the_measured_blocks(page):
    rest = re.sub(r"<!-- measured: .*?<!-- end: ", "", page.read_text(), flags=re.DOTALL)
    assert re.findall(r"(?:benchmarks|experiments)/\w+\.py", rest) == [], (
        "its figures belong into results.toml"
    )


def test_a_figure_that_is_not_in_the_results_is_a_mistake():
    row = readme.read()[0]
    with pytest.raises(ValueError, match=r"results\.toml: row .*: figures has no \{unknown\}"):
        row.filled("twice {unknown}")


ONLY_PARSE = """\
import runpy, sys
sys.path.insert(0, {folder!r})
import lab.options as options
parse = options.parse
def only_parse(*args, **smoke):
    parse(*args, **smoke)
    raise SystemExit(99)
options.parse = only_parse
sys.argv = {argv!r}
runpy.run_path({argv[0]!r}, run_name="__main__")
"""


def commands() -> set[str]:
    """Those of the measured figures, and of all tables of the papers."""
    tables = tomllib.loads((ROOT / "experiments/paper.toml").read_text())["table"]
    return {row.command for row in readme.read()} | {
        f"{row['program']} {row[budget]}" for row in tables for budget in ("short", "papers")
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(commands()))
def test_benchmarks_take_the_options_that_the_documents_show(command, tmp_path):
    name, *words = command.split()
    program = ONLY_PARSE.format(folder=str(ROOT / "benchmarks"), argv=[str(ROOT / name), *words])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 99, done.stderr


VALUES = {"COMMAND": "score", "MODULE:NAME": "m:f", "PATH": "project",
          "FILE": "c.toml", "CAMPAIGN": "c.toml", "RUN": "run", "DIR": "out", "ID": "main/3",
          "FINDING": "main/crashes/id:000000", "LOG": "log", "OUT": "small", "N": "2", "S": "1",
          "TIME": "10s", "K/N": "1/2", "NAME": "eq-to-ne", "OUTPUT": "status",
          "COLUMN": "applied", "SELECTION": "operator=math", "TYPE": "int", "SOURCE": "a.c",
          "LOCATION": "a.py:3", "key=value": "campaign.seed=1"}  # fmt: skip
"""What a user writes for a placeholder."""


Lines = list[tuple[str, ...]]
"""Command lines; of each tuple one must do: where `a|b X` is written, `a` or `a X`."""


def expanded(words: str) -> Lines:
    """A synopsis without its options, and with each one."""
    words = re.sub(r"\b([A-Z]+)\|[A-Z]+\b", r"\1", words).replace("...", "")
    plain = re.sub(r" *\[[^\]]*\]", "", words)
    found: Lines = [(f"{plain} {option.partition('|')[0]}",)
                    for option in re.findall(r"\[([^\]]*)\]", words)]  # fmt: skip
    first, *others = [w for w in plain.split("|") if re.match(r"[a-z-]{2,}|FILE", w)]
    last = (others or [""])[-1].partition(" ")[2]
    verbs = [first]
    if first.startswith("ctl RUN") and " --" not in first:
        verbs += [f"ctl RUN {other}" for other in others]
    return found + [(verb, f"{verb} {last}") if last else (verb,) for verb in verbs]


def sections() -> dict[str, str]:
    """Text of docs/commands.md, by heading."""
    parts = re.split(r"^## (.*)$", (ROOT / "docs" / "commands.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def shown_in_tables(text: str) -> Lines:
    """The first cells of tables that begin with a command."""
    found: Lines = []
    for row in re.findall(r"^\| (`fuzztui .*?) \| ", text, re.MULTILINE):
        before = ""  # the command that the next span of the row is an abridged form of
        for span in re.findall(r"`([^`]+)`", row.replace("\\|", "|")):
            words = span.removeprefix("fuzztui ")
            if span.startswith("--"):
                words = f"{before} {span}"
            elif words == span and before.startswith("ctl RUN") and not span.startswith("ctl"):
                words = f"ctl RUN {span}"
            found += expanded(words)
            before = re.sub(r"( [a-z]+=\S+| \[.*)+$", "", words)
    return found


@pytest.mark.parametrize("title", GROUPS)
def test_the_list_of_commands_has_the_groups_of_the_help(title):
    text = {heading.lower(): text for heading, text in sections().items()}[title]
    shown = {forms[0].split()[0] for forms in shown_in_tables(text)}
    assert shown == {"FILE" if c.name == CAMPAIGN else c.name for c in GROUPS[title]}


def test_the_list_of_commands_has_every_command_to_a_run():
    shown = {form.split()[2] for forms in shown_in_tables(sections()["Steer"]) for form in forms}
    assert shown == set(ACTIONS)


def shown_in_docs() -> Lines:
    """Lines of code blocks that begin with fuzztui; what stands behind two blanks is a remark."""
    found: Lines = []
    for page in PAGES:
        text = page.read_text()
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            shown = "" if language == "text" else block
            for line in re.findall(r"^(?:\$ )?fuzztui (.*)$", shown, re.MULTILINE):
                found += expanded(re.split(r"  +| #", line)[0].replace(" | ", "|"))
    return found


@pytest.mark.parametrize(
    "lines",
    shown_in_tables("\n".join(sections().values())) + shown_in_docs(),
    ids=lambda lines: lines[0],
)
def test_commands_in_the_documents_are_commands(lines, capsys):
    refused = []
    for line in lines:
        words = [VALUES.get(word.strip("."), word) for word in shlex.split(line)]
        try:
            parse(words)
            return
        except SystemExit:
            refused.append(capsys.readouterr().err)
    raise AssertionError(refused)
