"""The map of the target: boxes by size, filled by coverage; from a box to its lines."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from sourced import PATH, sourced

from fuzztui.features.source.screen.map import CodeMap
from fuzztui.features.source.tree import CodeNode, node_key
from fuzztui.features.source.treemap import code_map


@st.composite
def programs(draw):
    rows = {}
    for n, sizes in enumerate(draw(st.lists(st.lists(st.integers(0, 90), max_size=9), max_size=6))):
        path, line = f"m{n}.py", 1
        for f, size in enumerate(sizes):
            key = node_key(path, line, f"f{f}")
            rows[key] = CodeNode(key, path, path, f"f{f}", line, line + size, statements=size)
            line += size + 1
        rows[path] = CodeNode(path, path, path, last=line, statements=sum(sizes))
    return rows


@given(programs(), st.integers(1, 220), st.integers(1, 60))
def test_boxes_are_side_by_side_and_functions_are_in_their_file(rows, width, height):
    boxes = code_map(rows, width, height)
    for key, box in boxes.items():
        assert rows[key].statements > 0
        assert 0 <= box.left < box.right <= width
        assert 0 <= box.top < box.bottom <= height
    files = [key for key in boxes if not rows[key].function]
    if len(files) == sum(not row.function and row.statements > 0 for row in rows.values()):
        cells = sum(boxes[key].width * boxes[key].height for key in files)
        assert cells == (width * height if files else 0)
    for kind in (False, True):
        of_kind = [box for key, box in boxes.items() if bool(rows[key].function) is kind]
        for a, b in combinations(of_kind, 2):
            assert a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
    for key, box in boxes.items():
        if rows[key].function:
            around = boxes[rows[key].path]
            assert around.left <= box.left < box.right <= around.right
            assert around.top < box.top < box.bottom <= around.bottom


def test_areas_are_in_proportion_to_statements():
    rows = {name: CodeNode(name, name, name, statements=size)
            for name, size in (("a", 600), ("b", 300), ("c", 200), ("d", 100))}  # fmt: skip
    boxes = code_map(rows, 120, 40)
    for name, box in boxes.items():
        assert abs(box.width * box.height - 4 * rows[name].statements) < box.width + box.height
        assert 0.4 < box.width / (2 * box.height) < 2.5  # about as high as wide on a terminal


async def test_the_signs_of_the_map_are_explained_on_it(drive):
    async with drive(sourced(), size=(120, 40), press="8", shows="def is_digit") as d:
        await d.press("v")
        await d.until_shows("█ covered  ▓ covered, mutants survive  ░ not covered  ✗ findings")


async def test_from_a_box_to_its_lines_and_back(drive):
    async with drive(sourced(), size=(120, 40), press="8", shows="def is_digit") as d:
        await d.press("v")
        await d.until(lambda: d.screen.map.has_focus and d.screen.map.cursor)
        boxes = d.screen.map._boxes
        key = next(key for key in boxes if key.endswith("\nParser.number"))
        d.screen.map.move_to(key)
        await d.until(lambda: d.screen.files.cursor == key)
        await d.until_shows("100% of 6 statements")
        here = boxes[key]
        ways = {"right": "left", "left": "right", "down": "up", "up": "down"}
        moved = set()
        for way, back in ways.items():
            await d.press(way)
            if (there := d.screen.map.cursor) != key:
                moved.add(way)
                assert there in boxes
                await d.press(back)
                d.screen.map.move_to(key)
        assert moved
        await d.pilot.click("#map", offset=(here.left, here.top))
        await d.press("enter")
        await d.until(lambda: d.screen.code.cursor == "16")
        assert d.screen.has_class("-code")
        assert not d.screen.map.display
        await d.press("escape")
        await d.until(lambda: d.screen.map.has_focus and d.screen.map.cursor == key)
        await d.press("escape")
        await d.until(lambda: d.screen.files.has_focus)


def test_a_function_that_has_moved_has_a_box_of_its_own():
    def rows(first):
        key = node_key("a.c", first, "f")
        return {
            "a.c": CodeNode("a.c", "a.c", "a.c", last=30, statements=10),
            key: CodeNode(key, "a.c", "a.c", "f", first, 20, statements=10, covered=5),
        }

    code_map_ = CodeMap()
    for first in (10, 11):
        code_map_._rows = rows(first)
        code_map_.paint(40, 12)
        assert set(code_map_._boxes) == set(rows(first))


async def test_the_map_fills_during_a_replay(drive):
    async with drive(sourced(), size=(120, 40), replay_at=0.0, press="8") as d:
        await d.press("v")
        covered = []
        for t in (65.0, 130.0, 200.0, 1000.0):
            d.app.seek(t)
            await d.until(lambda t=t: d.app.campaign.t <= t and d.app.campaign.seq > 1)
            await d.until(lambda: d.screen.map._rows.get(PATH))
            await d.still()
            covered.append(sum(line.count("█") + line.count("▓") for line in d.lines()[2:-3]))
        assert covered == sorted(covered)
        assert covered[0] < covered[-1]
