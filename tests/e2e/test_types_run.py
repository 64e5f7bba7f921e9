"""Types and branches of a real spoton campaign: told of while it runs, steered, told of after."""

import json

import pytest
from homes import eventually

CAMPAIGN = """\
[campaign]
name = "e2e"
output = "run"
seed = 1

[target]
function = "shop:run"
generator = "gens:gen_order"
path = ["."]

[engine]
kind = "spoton"
instances = 2
constants = false
"""
SHOP = """\
import datetime
from dataclasses import dataclass
from decimal import Decimal


@dataclass
class Order:
    name: str
    price: Decimal
    made: datetime.date


def run(order: Order) -> str:
    if order.made.year == 5000:
        return "never"
    if order.price < 0:
        return "nor this"
    if len(order.name) > 100:
        return "nor this"
    return ""
"""
GENERATORS = """\
import datetime
from decimal import Decimal

from fuzztui.generators import Source, generator
from shop import Order


@generator
def gen_date(r: Source) -> datetime.date:
    return datetime.date(1900 + r.below(256), 1 + r.below(12), 1)


@generator
def gen_price(r: Source) -> Decimal:
    return Decimal(r.below(256))


@generator
def gen_order(r: Source) -> Order:
    return Order(r.text("abc", 1, 8), gen_price(r), gen_date(r))
"""
DATE, PRICE = "datetime.date", "decimal.Decimal"
YEAR, SIGN = (
    f"shop.py:{SHOP[: SHOP.index(text)].count(chr(10)) + 1}:then"
    for text in ("if order.made", "if order.price")
)


@pytest.fixture
def shop(home):
    home.file.write_text(CAMPAIGN)
    (home.path / "shop.py").write_text(SHOP)
    (home.path / "gens.py").write_text(GENERATORS)
    return home


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_types_are_told_of_and_steered(shop):
    shop.detach()
    run = str(shop.run)

    def status():
        return shop.status()["types"] or {}

    def told(key):
        """Rows of ``types --json`` by name or location."""
        rows = json.loads(shop("types", run, "--json"))[key]
        return {row.get("name") or row["location"]: row for row in rows}

    # Both instances, as their weights are asked for below.
    eventually(lambda: "(2 instances)" in shop("ctl", run, "targeted", "60%", code=None), 120)
    eventually(lambda: status().get("frontier", 0) >= 3 and told("types")[DATE]["picks"])
    assert {YEAR, SIGN} <= told("left").keys()
    # Each instance's first trial makes it so: a row is told again when that has changed.
    eventually(lambda: all(row["frontier"] for row in told("left").values()))
    assert told("left")[SIGN]["types"][0]["name"] == PRICE

    assert shop("ctl", run, "ban", "date").startswith(f"applied: {DATE} is banned")
    for _ in range(2):  # each by what the one before has left
        assert shop("ctl", run, "weigh", PRICE, "x2").startswith(f"applied: {PRICE} weighs ")
    eventually(lambda: told("types")[PRICE]["probability"] > 0)
    now = told("types")
    assert (now[DATE]["weight"], now[DATE]["probability"]) == (0, 0)
    assert (now[PRICE]["weight"], now[PRICE]["differs"]) == (4, False)
    shop("ctl", run, "weigh", "date", "x2", code=2)
    assert "is banned" in shop.stderr
    shop("ctl", run, "ban", "datetime.dat", code=2)
    assert f"did you mean {DATE}?" in shop.stderr

    shop("ctl", run, "pin", SIGN)
    assert status()["pinned"] == SIGN
    assert told("left")[SIGN]["pinned"]
    text = shop("types", run)
    assert f"; pinned {SIGN}; " in text
    assert "banned" in text
    assert shop("ctl", run, "unpin").startswith("applied")
    assert shop("ctl", run, "ignore", YEAR).startswith(f"applied: {YEAR} is ignored")
    assert shop("ctl", run, "ignore", SIGN).startswith(f"applied: {SIGN} is ignored")
    assert shop("ctl", run, "unignore", SIGN).startswith(f"applied: {SIGN} is not ignored any more")
    eventually(lambda: status()["ignored"] == [YEAR])
    assert (told("left")[YEAR]["ignored"], told("left")[SIGN]["ignored"]) == (True, False)
    assert shop("types", run).rstrip().endswith("; 1 ignored")
    shop("ctl", run, "ignore", YEAR.replace("then", "them"), code=2)
    assert f"did you mean {YEAR}" in shop.stderr
    assert shop("ctl", run, "demote", "main/0").startswith("applied by main")
    assert "types     aims 60% at types; likeliest " in shop("status", run)

    shop("ctl", run, "stop")
    eventually(lambda: shop.status()["state"] == "stopped")
    after = json.loads(shop("types", run, "--json"))
    assert (after["targeted"], after["pinned"], after["banned"]) == (0.6, None, [DATE])
    assert after["ignored"] == [YEAR]
    assert after["left"]
    assert json.loads(shop("replay", run, "--json"))["types"] == status()
