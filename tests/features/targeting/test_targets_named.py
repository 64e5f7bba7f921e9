"""Is there what a campaign names, as far as sources tell?"""

import ast
import os
import sys
import textwrap
import venv

import pytest

from fuzztui.features.targeting.analysis import Request, TargetsError, find_targets
from fuzztui.features.targeting.analysis.__main__ import has

TEXT = """
    from .loading import load
    import json as j

    try:
        from fast import dump
    except ImportError:
        dump = None

    def plain(): ...

    class Test(Base):
        def test_one(self): ...

        class Inner:
            def test_two(self): ...

    def _set():
        global made
        made = 1

    match load:
        case [_, *rest] as whole: ...
"""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("plain", True), ("load", True), ("j", True), ("dump", True), ("made", True),
        ("Test", True), ("Test.test_one", True), ("Test.Inner.test_two", True),
        ("Test.inherited", None), ("load.part", None),
        ("test_one_", False), ("loading", False), ("Nope.test", None),
        ("whole", True), ("rest", True),
    ],
)  # fmt: skip
def test_what_a_module_has(name, found):
    assert has(ast.parse(textwrap.dedent(TEXT)), name) is found


@pytest.mark.parametrize(
    "more",
    [
        "from x import *",
        "from x import __getattr__",
        "def __getattr__(name): ...",
        "globals()['made'] = 1",
        "sys.modules[__name__] = Lazy()",
        "setattr(module, 'made', 1)",
    ],
)
def test_what_is_made_at_run_time_is_unknown(more):
    tree = ast.parse(f"import sys\ndef plain(): ...\n{more}\n")
    assert has(tree, "nope") is None
    assert has(tree, "plain") is True


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("nosuch.deep:entry", 'target.function = "nosuch.deep:entry": no module nosuch'),
        ("app:entri", 'target.function = "app:entri": app.py has no entri; did you mean entry?'),
    ],
)
def test_what_is_not_there_is_refused(lab, function, words):
    lab.write(app="def entry(x): pass\n")
    with pytest.raises(TargetsError) as raised:
        find_targets(lab.request(function, include=("app",)), cache=lab.cache)
    assert words in str(raised.value)


@pytest.mark.slow
def test_what_only_an_import_tells_is_told_of(lab):
    lab.write(app="class Base: ...\nclass A(Base): ...\n")
    request = lab.request("app:A.entry", generator="binascii:hexlify")
    for _ in range(2):  # the second time as it was kept
        assert find_targets(request, cache=lab.cache).unsure == (
            "target.function", "target.generator",
        )  # fmt: skip
    assert not find_targets(lab.request("app:A"), cache=lab.cache).unsure


DEPENDENCY = """
    class Date:
        year: int = 2008
    def read(text: str) -> {kind}:
        return {kind}()
"""


@pytest.mark.slow
def test_what_is_installed_to_be_edited_counts(lab):
    """A package that a ``.pth`` file leads to, as ``pip install --editable`` writes one."""
    dependency = lab.directory / "elsewhere"
    packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    venv.create(lab.directory / "venv", with_pip=False)
    link = lab.directory / "venv" / packages / "dependency.pth"
    link.write_text(f"{dependency}\n")
    lab.write(
        app="""
            from dependency.kinds import read

            def entry(text: str) -> None:
                if read(text).year == 2008:
                    pass
        """
    )
    kinds = dependency / "dependency" / "kinds.py"
    kinds.parent.mkdir(parents=True)
    for name in "__init__.py", "py.typed":
        (kinds.parent / name).touch()
    text = textwrap.dedent(DEPENDENCY)
    kinds.write_text(text.format(kind="Date"))
    request = Request(
        "app:entry", str(lab.directory / "venv/bin/python"), path=(str(lab.directory),),
        include=("app",),
    )  # fmt: skip

    def found(said):
        document = find_targets(request, said.append, cache=lab.cache)
        return {t.name for t in document.types}, "following values through the application" in said

    assert found([]) == ({"dependency.kinds.Date"}, True)
    assert found([]) == ({"dependency.kinds.Date"}, False)
    kinds.write_text(text.format(kind="Day").replace("class Date", "class Day"))
    assert found([]) == ({"dependency.kinds.Day"}, True)
    assert found([]) == ({"dependency.kinds.Day"}, False)
    os.truncate(kinds, 0)
    assert found([]) == (set(), True)
