"""Counters of extension modules in the coverage map."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled_extension import COUNTERS, counters, extension

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import EngineSpec, Spec, TargetSpec
from fuzztui.engines.execute.loading import LoadedTarget
from fuzztui.engines.execute.loading import load as load_spec
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.extensions import BUILD
from fuzztui.engines.instrument.sparse import SparseProbes
from fuzztui.engines.instrument.units import Census
from fuzztui.kernel.base.atomic import replace_bytes

GUARDS = "-fsanitize-coverage=trace-pc-guard"
ATHERIS = "-fsanitize=fuzzer-no-link"


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Give back what a test has changed in the import system, its directory and its output."""
    path, finders, modules = list(sys.path), list(sys.meta_path), set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fuzztui.engines.execute.loading.Fixture.open", lambda self: None)
    yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def load(
    folder: Path,
    *names: str,
    table: EdgeTable | None = None,
    coverage: str = "edges",
    **keys: object,
) -> LoadedTarget:
    keys = {"include": names, "extensions": names, "counters": counters(), **keys}
    target = TargetSpec(f"{names[0]}:parse", path=(str(folder),), **keys)  # type: ignore[arg-type]
    spec = Spec("main", folder, folder, target, EngineSpec(coverage=coverage))
    return load_spec(
        spec, folder=folder, table=table or EdgeTable(), draw=random.Random(1).randbytes
    )


@pytest.mark.parametrize(
    "flags",
    [COUNTERS, COUNTERS.replace(",pc-table", ""), GUARDS, f"{GUARDS},pc-table", ATHERIS],
)
def test_each_comparison_that_holds_is_new_coverage(tmp_path: Path, flags: str) -> None:
    extension(tmp_path, "ext_deep", flags)
    loaded = load(tmp_path, "ext_deep")
    runs = [loaded.executor.run(data).observed for data in (b"", b"F", b"FU", b"B", b"BU")]
    assert all(runs) and len({*runs}) == len(runs)
    seen = runs[0]
    for observed in runs[1:]:
        assert observed | seen != seen
        seen |= observed
    assert loaded.executor.run(b"").observed == runs[0]  # nothing is left of other trials
    module = loaded.table.modules["ext_deep"]
    assert loaded.executor.coverage.size == len(module.edges) == loaded.table.reachable
    assert module.file == str(tmp_path / "ext_deep.so")
    has_addresses = "pc-table" in flags or flags == ATHERIS
    assert {edge.kind for edge in module.edges} == {"edge"} | (
        {"function"} if has_addresses else set()
    )
    assert all(edge.qualname.startswith("+0x" if has_addresses else "#") for edge in module.edges)


@pytest.mark.parametrize("flags", [COUNTERS, GUARDS])
def test_counts_are_buckets(tmp_path: Path, flags: str) -> None:
    extension(tmp_path, "ext_counts", flags)
    counts = load(tmp_path, "ext_counts", coverage="counts").executor
    assert counts.run(b"++").observed != counts.run(b"++++++").observed
    assert counts.run(b"+++++").observed == counts.run(b"++++++").observed
    edges = load(tmp_path, "ext_counts").executor
    assert edges.run(b"++").observed == edges.run(b"++++++").observed


def test_a_trial_leaves_out_what_is_covered_and_nothing_else(tmp_path: Path) -> None:
    extension(tmp_path, "ext_trial", COUNTERS)
    loaded = load(tmp_path, "ext_trial")
    executor = loaded.executor
    census = Census(loaded.application)
    executor.sparse = SparseProbes(loaded.application, census)
    inputs = [b"", b"+", b"F", b"FU", b"FUX", b"B", b"BU", b"BUX", b"+F"]
    whole = {data: executor.run(data).observed for data in inputs}
    rng = random.Random(3)
    for _ in range(100):
        covered = 0
        for data in rng.sample(inputs, rng.randrange(len(inputs))):
            covered |= whole[data]
        data = rng.choice(inputs)
        execution = executor.trial(data, covered)
        assert execution.observed == whole[data] & ~covered
        executor.complete(execution)
        assert execution.observed == whole[data]
        if rng.random() < 0.3:
            assert executor.run(data).observed == whole[data]


def test_cells_belong_to_the_object_in_whatever_order_objects_are_loaded(tmp_path: Path) -> None:
    for name in ("ext_one", "ext_two"):
        extension(tmp_path, name, GUARDS)
    edges = tmp_path / "edges.json"
    table = EdgeTable(edges)
    first = load(tmp_path, "ext_one", "ext_two", table=table).executor.run(b"FU").observed
    table.save(replace_bytes)
    again = EdgeTable(edges)
    loaded = load(tmp_path, "ext_two", "ext_one", table=again)
    assert {n: m.base for n, m in again.modules.items()} == {
        n: m.base for n, m in table.modules.items()
    }
    second = loaded.executor.run(b"FU").observed
    assert first and second and not first & second


def test_what_cannot_be_counted_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    extension(tmp_path, "ext_bare")
    (tmp_path / "ext_python.py").write_text("def parse(data): return data")

    def problem(name: str, **keys: object) -> str:
        with pytest.raises(CannotStart) as caught:
            load(tmp_path, "ext_python", extensions=(name,), **keys)
        text = str(caught.value)
        assert f"target.extensions = ['{name}']" in text
        return text

    bare = problem("ext_bare")
    assert str(tmp_path / "ext_bare.so") in bare and "no counters" in bare and BUILD in bare
    assert "target.exclude" in problem("ext_python")
    assert 'such as "package._parser"' in problem("./ext_bare.so")
    assert "install it" in problem("ext_nowhere")
    why = problem("ext_bare", counters={"library": "", "why": "no C compiler: install gcc"})
    assert "no C compiler: install gcc" in why
