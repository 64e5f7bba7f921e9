"""Types and branches of a real spoton campaign: told of while it runs, steered, told of after."""

import json

import psutil
import pytest
from homes import logged
from waiting import wait_until

from fuzztui.kernel.wire.events import Message

pytestmark = pytest.mark.slow

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
YEAR, SIGN, LONG = (
    f"shop.py:{SHOP[: SHOP.index(text)].count(chr(10)) + 1}:then"
    for text in ("if order.made", "if order.price", "if len(order.name)")
)


@pytest.fixture
def shop(home):
    home.file.write_text(CAMPAIGN)
    (home.path / "shop.py").write_text(SHOP)
    (home.path / "gens.py").write_text(GENERATORS)
    return home


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
    wait_until(lambda: "(2 instances)" in shop("ctl", run, "targeted", "60%", code=None))
    wait_until(lambda: status().get("frontier", 0) >= 3 and told("types")[DATE]["picks"])
    assert {YEAR, SIGN} <= told("left").keys()
    # Each instance's first trial makes it so: a row is told again when that has changed.
    wait_until(lambda: all(row["frontier"] for row in told("left").values()))
    assert told("left")[SIGN]["types"][0]["name"] == PRICE

    assert shop("ctl", run, "ban", "date").startswith(f"applied: {DATE} is banned")
    for _ in range(2):  # each by what the one before has left
        answer = shop("ctl", run, "weigh-type", PRICE, "x2")
        assert answer.startswith("applied: ")
        assert f"{PRICE} weighs " in answer
    wait_until(lambda: told("types")[PRICE]["probability"] > 0)
    now = told("types")
    assert (now[DATE]["weight"], now[DATE]["probability"]) == (0, 0)
    assert (now[PRICE]["weight"], now[PRICE]["differs"]) == (4, False)
    shop("ctl", run, "weigh-type", "date", "x2", code=2)
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
    assert shop("ctl", run, "unignore", SIGN).startswith(f"applied: {SIGN} is no longer ignored")
    wait_until(lambda: status()["ignored"] == [YEAR])
    assert (told("left")[YEAR]["ignored"], told("left")[SIGN]["ignored"]) == (True, False)
    assert shop("types", run).rstrip().endswith("; 1 ignored")
    shop("ctl", run, "ignore", YEAR.replace("then", "them"), code=2)
    assert f"did you mean {YEAR}" in shop.stderr
    assert shop("ctl", run, "demote", "main/0").startswith("applied by main")
    assert "types     60% of mutations are targeted; most probable " in shop("status", run)

    shop("ctl", run, "stop")
    wait_until(lambda: shop.status()["state"] == "stopped")
    after = json.loads(shop("types", run, "--json"))
    assert (after["targeted"], after["pinned"], after["banned"]) == (0.6, None, [DATE])
    assert after["ignored"] == [YEAR]
    assert after["left"]
    assert json.loads(shop("replay", run, "--json"))["types"] == status()


@pytest.mark.timeout(600)
def test_a_program_that_is_edited_is_aimed_at_again(shop):
    """Edit, stop, start: what daily work is; and what is said while it is not analysed yet."""
    program = shop.path / "shop.py"
    shop.file.write_text(CAMPAIGN.replace("instances = 2\n", ""))
    shop.detach()
    run = str(shop.run)

    def now():
        return shop.status()["types"] or {}

    def told():
        return json.loads(shop("types", run, "--json"))

    def start():
        """Start it again; what the terminal says meanwhile."""
        shop("ctl", run, "stop")
        shop.detach()
        said = shop.stderr
        wait_until(lambda: shop.status()["state"] == "running" and now().get("frontier"))
        return said

    def messages():
        return {message.text for message in logged(shop.run, Message)}

    wait_until(lambda: now().get("frontier", 0) >= 3)
    shop("ctl", run, "weigh-type", PRICE, "3")
    shop("ctl", run, "pin", SIGN)
    shop("ctl", run, "ignore", YEAR)
    shop("ctl", run, "ignore", LONG)
    assert "analysed" not in start(), "nothing has changed"
    assert (now()["pinned"], now()["ignored"]) == (SIGN, [YEAR, LONG])

    # Another branch comes, one goes; the others stay where they are.
    program.write_text(SHOP.replace("if len(order.name) > 100:", "").replace(
        '        return "nor this"\n    return ""', '    return "a" if order.name == "x" else ""'
    ))  # fmt: skip
    words = "shop.py has changed: its types are analysed again"
    assert words in start()
    wait_until(lambda: now()["ignored"] == [YEAR])
    assert (now()["pinned"], now()["changed"]) == (SIGN, [])
    wait_until(lambda: {YEAR, SIGN} <= {row["location"] for row in told()["left"]})
    assert {row["name"]: row["weight"] for row in told()["types"]}[PRICE] == 3
    ended = f"{LONG} is no longer ignored: not a goal now"
    wait_until(lambda: {words, ended} <= messages())

    # While it runs: what a worker loads that is started again is not what was analysed.
    program.write_text(program.read_text() + "\n# a remark\n")
    nanny = json.loads((shop.run / "out/main/process.json").read_text())["pid"]
    for worker in psutil.Process(nanny).children():
        worker.kill()
    wait_until(lambda: now()["changed"] == ["shop.py"])
    words = "shop.py has changed since its types were analysed: stop and start the campaign"
    assert words in shop("status", run)
    assert words in shop("types", run)
    assert (now()["targets"], now()["pinned"]) == (0, None)
    start()
    wait_until(lambda: now()["pinned"] == SIGN)
    assert (now()["changed"], now()["ignored"]) == ([], [YEAR])
