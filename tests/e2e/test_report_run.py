"""``report`` and ``compare`` on real campaigns, and their pages in a real browser."""

import json
import subprocess

import pytest
from chromium import CHROMIUM
from strict_html import StrictPage
from waiting import DEADLINE_S

pytestmark = pytest.mark.slow

MU2 = """\
[campaign]
name = "{name}"
budget = "{trials} trials"
seed = {seed}

[target]
function = "tomllib:loads"
include = ["tomllib"]
expected = ["tomllib.TOMLDecodeError"]

[engine]
kind = "mu2"
"""


@pytest.fixture
def mu2(home):
    """Two runs with other random seeds."""
    for seed in (1, 2):
        file = home.path / f"m{seed}.toml"
        file.write_text(MU2.format(name=f"m{seed}", trials=1500, seed=seed))
        home(str(file), "--headless")
    return home


def test_a_run_with_a_crash_has_a_whole_report(home):
    home("crate-zest.toml", "--headless", code=10)  # to its first crash
    home("report", "runs/crate", "-o", "crate.html")
    text = (home.path / "crate.html").read_text()
    page = StrictPage(text)
    page.check_harmless()
    assert text.count("<figure") >= 4
    data = json.loads(home("report", "runs/crate", "--format", "json"))
    assert data["findings"] and data["state"] == "finished"
    for finding in data["findings"]:
        assert finding["title"] in page.text and finding["reproduce"] in page.text
        words = finding["reproduce"].split()
        assert words[:2] == ["fuzztui", "repro"]
        home(*words[1:], code=10)  # as a reader pastes it
    summary = home("report", "runs/crate")
    assert data["findings"][0]["place"] in summary


def test_mutants_and_runs_are_compared(mu2):
    mu2("report", "runs/m1", "-o", "m1.html")
    StrictPage((mu2.path / "m1.html").read_text()).check_harmless()
    data = json.loads(mu2("report", "runs/m1", "--format", "json"))
    left = sum(map(len, data["survivors"].values()))
    names = ("alive", "pending", "never_reached", "not_run")
    assert left == sum(data["mutants"][name] for name in names)
    assert data["series"]["killed"]["value"][-1] == data["mutants"]["killed"]
    compared = json.loads(mu2("compare", "runs/m1", "runs/m2", "--json"))
    assert compared["at_s"] is None  # both have used the same budget
    for run in compared["runs"]:
        own = json.loads(mu2("status", run["path"], "--json"))
        assert run["figures"]["killed"] == own["mutants"]["killed"]
        assert run["figures"]["execs"] == own["execs"]
    mu2("compare", "a=runs/m1", "b=runs/m2", "-o", "compared.html")
    StrictPage((mu2.path / "compared.html").read_text()).check_harmless()


def test_the_source_has_the_coverage_of_the_command(mu2):
    mu2("report", "runs/m1", "--coverage", "-o", "source.html")
    page = StrictPage((mu2.path / "source.html").read_text())
    page.check_harmless()
    assert "def skip_chars" in page.text
    data = json.loads(mu2("report", "runs/m1", "--coverage", "--format", "json"))["source"]
    wanted = json.loads(mu2("coverage", "runs/m1", "--format", "json"))["files"]
    assert wanted
    for path, file in wanted.items():
        (name,) = [name for name in data if path.endswith(name)]
        assert data[name]["missed_lines"] == file["missing_lines"]
    listed = json.loads(mu2("mutants", "list", "runs/m1", "--json"))["mutants"]
    counts = [n for file in data.values() for n in file["mutants"].values()]
    assert sum(n["killed"] for n in counts) == sum(m["state"] == "killed" for m in listed)


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_browser_draws_the_pages(mu2):
    mu2("report", "runs/m1", "-o", "page.html")
    mu2("compare", "runs/m1", "runs/m2", "-o", "compared.html")
    for name in ("page", "compared"):
        for width in (1200, 400):
            picture = mu2.path / f"{name}-{width}.png"
            done = _chromium(mu2.path / f"{name}.html", f"--screenshot={picture}",
                             f"--window-size={width},2000")  # fmt: skip
            assert picture.stat().st_size > 10_000, done.stderr
        # A page that is wider than a phone would have to be moved sideways to be read.
        shown = _chromium(_measuring(mu2.path / f"{name}.html"), "--dump-dom",
                          "--window-size=500,2000").stdout  # fmt: skip
        width, room = (int(n) for n in shown.partition("<title>")[2].split("<")[0].split())
        assert width <= room


def _measuring(page):
    """A copy of the page that writes how wide it is, and how wide the window, into its title."""
    text = page.read_text()
    start, policy = text.split('<meta http-equiv="Content-Security-Policy"', 1)
    text = start + policy.partition(">")[2]  # the policy forbids scripts, as it should
    script = "document.title = [document.documentElement.scrollWidth, innerWidth].join(' ')"
    copy = page.with_name(f"measured-{page.name}")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    return copy


def _chromium(page, *options):
    argv = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--virtual-time-budget=4000", *options, page.as_uri()]  # fmt: skip
    return subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
