"""Run the tests of one module of the standard library, with hooks around its comparisons.

``python hooked_tests.py MODULE TEST PLAIN|HOOKED``: prints one line of JSON.
"""

import ast
import importlib
import importlib.util
import io
import json
import sys
import unittest
from importlib.machinery import PathFinder, SourceFileLoader
from types import CodeType

from fuzztui.engines.instrument.comparisons import OperandHooks, OperandLog
from fuzztui.engines.instrument.markers import compile_with

LOG = OperandLog()


class Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path), self.path)
        OperandHooks(fullname, LOG.sites).visit(tree)
        return compile_with(tree, self.path, LOG.hooks)


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):  # type: ignore[no-untyped-def]
        spec = super().find_spec(fullname, path, target)
        if fullname != MODULE or spec is None or spec.origin is None:
            return None
        return importlib.util.spec_from_file_location(
            fullname,
            spec.origin,
            loader=Loader(fullname, spec.origin),
            submodule_search_locations=spec.submodule_search_locations,
        )


MODULE, TEST, MODE = sys.argv[1:]
if MODE == "HOOKED":
    for name in [n for n in sys.modules if n == MODULE or n.startswith(f"{MODULE}.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder)
suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(TEST))
pairs = 0


class Result(unittest.TextTestResult):
    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        LOG.begin()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        global pairs
        pairs += len(LOG.take())
        super().stopTest(test)


result = unittest.TextTestRunner(io.StringIO(), resultclass=Result).run(suite)
failed = [str(test) for test, _ in [*result.failures, *result.errors]]
print(json.dumps({"run": result.testsRun, "failed": failed, "skipped": len(result.skipped),
                  "pairs": pairs, "sites": len(LOG.sites)}))  # fmt: skip
