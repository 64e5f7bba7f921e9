"""What a Python project has to fuzz is found in its sources; nothing is imported."""

import pytest

from fuzztui.tools.scaffold.arguments import BYTES, EITHER, TEXT, TYPED
from fuzztui.tools.scaffold.python_targets import COMPILED, python_targets
from fuzztui.tools.scaffold.tree import (
    package_files,
    package_of,
    python_files,
    requested_packages,
    source_root,
)


def project(folder, **files: str):
    """A project with these files; two underscores are a slash."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in [*folder.rglob("*.py")]:
        if path.parent != folder and path.parent.name not in ("tests", "src"):
            (path.parent / "__init__.py").touch()
    return list(python_files(folder))


def found(files) -> dict[str, str]:
    return {target.reference: target.takes for target in python_targets(files)}


def test_functions_of_one_input_are_found_the_likeliest_first(tmp_path):
    files = project(
        tmp_path,
        pkg__core="""
def parse(text): ...
def parse_header(value: bytes, strict=False): ...
def helper(text): ...
def two(text, other): ...
def keyword(text, *, must): ...
def _loads(text): ...
def load_file(path: str): ...
async def parse_later(text): ...
def colour(number: int): ...
def describe(text: str) -> str: ...
class Order:
    @classmethod
    def from_bytes(cls, data): ...
    def parse(self, text): ...
""",
    )
    assert list(found(files)) == [
        "pkg.core:parse",
        "pkg.core:parse_header",
        "pkg.core:Order.from_bytes",
        "pkg.core:Order.parse",
        "pkg.core:describe",
        "pkg.core:helper",
    ]
    takes = found(files)
    assert takes["pkg.core:parse"] == TEXT
    assert takes["pkg.core:parse_header"] == BYTES
    assert takes["pkg.core:Order.from_bytes"] == EITHER


@pytest.mark.parametrize(
    "name", ["remove", "write_text", "delete_all", "run", "send", "rm", "exec", "save_data"]
)
def test_functions_that_may_do_harm_are_not_offered(name, tmp_path):
    assert found(project(tmp_path, mod=f"def {name}(text: str): ...\ndef parse(s): ...\n")) == {
        "mod:parse": TEXT
    }


def test_a_public_name_is_better_than_the_private_place(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from ._impl import loads\n")
    (tmp_path / "pkg" / "_impl.py").write_text("def loads(s: str | bytes): ...\n")
    assert found(python_files(tmp_path)) == {"pkg:loads": EITHER}


def test_types_of_the_project_make_inputs(tmp_path):
    files = project(
        tmp_path,
        shop__orders="class Order: ...\n",
        shop__price="from .orders import Order\ndef price(order: Order): ...\n",
        shop__other="from decimal import Decimal\ndef round(value: Decimal): ...\n",
    )
    (target,) = python_targets(files)
    assert (target.reference, target.takes) == ("shop.price:price", TYPED)
    assert target.kind_of_input == "shop.orders:Order"


@pytest.mark.parametrize("annotation", ["list[str]", "Callable[[str], str]", "Mapping"])
def test_what_no_text_or_bytes_is_is_left_out(annotation, tmp_path):
    assert found(project(tmp_path, mod=f"def parse(text: {annotation}): ...\n")) == {}


def test_hypothesis_tests_are_targets_with_the_package_that_they_import(tmp_path):
    files = project(
        tmp_path,
        pkg__core="x = 1\n",
        tests__test_core="""
from hypothesis import given, strategies as st
import pkg.core
@given(st.text())
def test_one(text): ...
class TestMore:
    @given(st.text())
    def test_two(self, text): ...
def test_plain(): ...
""",
    )
    targets = python_targets(files)
    assert {t.reference for t in targets} == {
        "tests/test_core.py:test_one",
        "tests/test_core.py:TestMore.test_two",
    }
    assert {(t.package, t.is_test) for t in targets} == {("pkg", True)}


def test_tests_in_a_package_are_modules(tmp_path):
    given = "from hypothesis import given\n@given()\ndef test(x): ...\n"
    files = project(tmp_path, pkg__core="x = 1\n", tests__unit__test_core=given)
    (tmp_path / "tests" / "__init__.py").touch()
    files = list(python_files(tmp_path))
    assert list(found(files)) == ["tests.unit.test_core:test"]


def test_other_peoples_code_and_broken_files_are_not_read(tmp_path):
    files = project(
        tmp_path,
        pkg__core="def parse(text): ...\n",
        build__pkg__core="def parse(text): ...\n",
        docs__conf="def parse(text): ...\n",
        broken="def parse(text: ...\n",
        setup="def parse(text): ...\n",
    )
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "env" / "mod.py").write_text("def parse(text): ...\n")
    files = list(python_files(tmp_path))
    assert {file.module for file in files} == {"pkg", "pkg.core"}


def test_the_src_layout(tmp_path):
    files = project(
        tmp_path, src__pkg__core="def parse(text): ...\n", tool="def parse(text): ...\n"
    )
    assert source_root(tmp_path) == tmp_path / "src"
    assert list(found(files)) == ["pkg.core:parse"]


@pytest.mark.parametrize("root", ["", "src/"])
def test_a_package_in_a_namespace(root, tmp_path):
    folder = tmp_path / root / "ns" / "pkg"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "core.py").write_text("def parse(text): ...\n")
    files = list(python_files(tmp_path))
    assert list(found(files)) == ["ns.pkg.core:parse"]
    assert package_of(files, "ns.pkg.core") == "ns.pkg"  # nothing else of the namespace
    assert source_root(tmp_path) == tmp_path / root


def test_harnesses_of_an_earlier_init_are_no_modules(tmp_path):
    files = project(tmp_path, mod="def parse(s): ...\n", fuzz_parse="def parse(data): ...\n")
    assert list(found(files)) == ["mod:parse"]


@pytest.mark.parametrize("signature", ["dct: MutableMapping[str, str]", "rows: Collection[str]"])
def test_containers_of_text_are_no_text(signature, tmp_path):
    assert found(project(tmp_path, mod=f"def parse({signature}): ...\n")) == {}


def test_functions_of_a_compiled_module_come_after_those_that_coverage_sees(tmp_path):
    files = project(
        tmp_path,
        pkg__json="from ._core import parse_it as decode, encode, run_parse\n",
        pkg__all="from .fast import *\n__all__ = ['loads', 'dumps']\n",
        pkg__plain="from .other import parse\ndef parse_slowly(text): ...\n",
        pkg__other="from json import loads\n",
    )
    every = {t.reference: t.signature == COMPILED for t in python_targets(files)}
    assert list(every) == ["pkg.plain:parse_slowly", "pkg.all:loads", "pkg.json:decode"]
    assert list(every.values()) == [False, True, True]


def test_packages_that_a_user_has_installed_by_name(tmp_path):
    for name, mark in (("wanted", True), ("dependency", False), ("pytest", True)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("def loads(text): ...\n")
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n{name}-1.0.dist-info/RECORD,,\n")
        if mark:
            (info / "REQUESTED").touch()
    assert requested_packages(tmp_path) == ["wanted"]
    assert list(found(package_files(tmp_path, "wanted"))) == ["wanted:loads"]


def test_deeply_nested_annotations_and_defaults_do_not_stop_the_search(tmp_path):
    union = "|".join(["int"] * 900 + ["str"])
    files = project(
        tmp_path,
        pkg__core=f"""
def parse(text: {union}): ...
def decode(text, other={"+".join("1" * 900)}): ...
class Parser:
    @({union.replace("|", "+")})
    def load(self, text): ...
""",
    )
    assert found(files)["pkg.core:parse"] == TEXT
