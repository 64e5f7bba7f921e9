"""The samples of spoton: what is known of their branches, and what is found in a few trials."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, names, stats

from fuzztui.features.targeting.analysis import Request, TargetingAnalysis, find_targets
from fuzztui.run.campaign import load
from fuzztui.run.inprocess.spec import write_spec

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[2] / "sample_campaigns"


def spec(lab: Lab, sample: str, trials: int, **engine: Any) -> tuple[Path, TargetingAnalysis]:
    """As the supervisor would start it; ``engine`` changes keys of that table."""
    campaign = load(SAMPLES / sample, [f"campaign.output={lab.root / 'run'}"]).campaign
    document = find_targets(Request.of_target(campaign.target), lambda words: None)
    (lab.root / "targets.json").write_text(document.dumps())
    table = {**campaign.engine, "targets": str(lab.root / "targets.json"), **engine}
    folders = lab.root / "folders"
    folders.mkdir()
    target = {**campaign.target, "env": {"TMPDIR": str(folders)}}
    main = lab.out / "main"
    main.mkdir(parents=True)
    file = main / "spec.json"
    write_spec(file, replace(campaign, engine=table, target=target), main, trials)
    return file, document


def types(document: TargetingAnalysis, location: str) -> list[str]:
    (found,) = (t for t in document.targets if t.location == location)
    return [influence.name for influence in found.types]


def line(file: str, text: str) -> int:
    return (SAMPLES / file).read_text().partition(text)[0].count("\n") + 1


def test_the_year_is_found(lab: Lab) -> None:
    # Comparisons find the year without any type. Without them 20 of 20 random seeds needed 13 to
    # 3,568 trials (experiments/spoton_section2.py), so the budget does not depend on the order.
    file, document = spec(lab, "thumbnails-spoton.toml", 5000, comparisons=False)
    assert all(target.types for target in document.targets)
    year = f"thumbnails/year.py:{line('thumbnails/year.py', 'if year_taken(path)')}:then"
    assert types(document, year)[0] == "datetime.datetime"
    assert "os.stat_result" in types(document, year)
    main = lab.finish(file)
    assert execs(main) == 5000
    assert not names(main, "crashes")
    assert not names(main, "hangs")
    # Of the year's branch, and of all that lies behind it.
    told = json.loads((main / ".types").read_text())
    left = {row["location"] for row in told["left"]}
    assert year not in left
    assert not left, "all that there is can be covered"
    assert told["types"]["datetime.datetime"]["matches"] > 0
    assert not list((lab.root / "folders").iterdir()), "a trial leaves nothing"


def test_the_chain_is_followed(lab: Lab) -> None:
    file, document = spec(lab, "thumbnails-chained-spoton.toml", 400)
    for text in ("if taken.year", "if taken.month", "if time_seen"):
        at = line("thumbnails/holiday.py", text)
        assert types(document, f"thumbnails/holiday.py:{at}:then")[0] == "datetime.datetime"
    main = lab.finish(file)
    left = {row["location"] for row in json.loads((main / ".types").read_text())["left"]}
    year = line("thumbnails/holiday.py", "if taken.year")
    assert f"thumbnails/holiday.py:{year}:then" not in left
    assert not names(main, "crashes")


def test_an_album_has_goals_for_long(lab: Lab) -> None:
    file, document = spec(lab, "thumbnails-album-spoton.toml", 600)
    assert len(document.targets) > 50
    assert all(target.types for target in document.targets)
    main = lab.finish(file)
    assert not names(main, "crashes")
    told = json.loads((main / ".types").read_text())
    assert told["uncovered"] < len(document.targets) / 2
    assert told["uncovered"] > 5, "rare days are not found in some hundred trials"
    assert told["types"]["datetime.datetime"]["matches"] > 0


def test_two_ends_talk(lab: Lab) -> None:
    """h11 0.16: a request that is sent when the server has closed is an AttributeError."""
    file, document = spec(lab, "h11-spoton.toml", 1500)
    with_types = sum(bool(target.types) for target in document.targets)
    assert with_types > 0.9 * len(document.targets)
    main = lab.finish(file)
    assert execs(main) == 1500
    assert int(stats(main)["edges_found"]) > 250
    titles = {event["title"] for event in events(main, "finding_described")}
    assert not [title for title in titles if title.startswith("AssertionError")]
    told = json.loads((main / ".types").read_text())
    assert {"h11._events.Request", "h11._headers.Headers"} <= {
        name for name, row in told["types"].items() if row["matches"]
    }
