"""``--confirm FILE``: run exported tests with mutants in the program: do the tests fail?

The request is a JSON file: ``file``, the test file; ``claims``, the test by the id of each mutant
that it must kill; ``jobs``. Each mutant runs in a forked child. Prints JSON lines: ``progress``;
``lacks``, why the file cannot be run; ``verdict`` with the mutant and how the test failed, an empty
string if it passed, and ``result`` at the end.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.mu2.engine import SILENT_LIMITS
from fuzztui.engines.mu2.score import run_all
from fuzztui.engines.mutants.late_modules import import_late_modules
from fuzztui.engines.mutants.listing import load_with_mutants
from fuzztui.engines.mutants.program import CannotSwap, Program, PythonMutant, reload
from fuzztui.kernel.base.text import visible

_MODULE: Final = "_fuzztui_exported_tests"
_LEAST_S: Final = 0.5
_TIMES: Final = 20
_REPORT_S: Final = 0.5


def confirm(spec: Spec, file: Path) -> int:
    """Run the request in ``file`` and print the results. Returns the exit status."""
    try:
        request = json.loads(file.read_bytes())
        test_file, claims = Path(request["file"]), dict(request["claims"])
        jobs = max(1, int(request["jobs"]))
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise CannotStart(f"{file}: {e}") from None
    with answering() as say:
        if importlib.util.find_spec("pytest") is None:
            say({"lacks": f"pytest is not installed for target.python ({sys.executable})"})
            return 0
        loaded = load_with_mutants(spec)
        program: Program = loaded.prepared
        import_late_modules(spec, loaded.executor, loaded.application, suite=loaded.target.suite)
        program.scan()
        program.remember(spec.target)
        confirmer = _Confirmer(spec, program, test_file, say)
        confirmer.load()
        gc.collect()
        gc.freeze()
        mutants = [program.by_id[id_] for id_ in claims if id_ in program.by_id]
        # Neighbours cost about the same: progress is even.
        work = (confirmer.run(m, claims[m.id], loaded.executor.in_child) for m in mutants)
        confirmer.total = len(mutants)
        run_all(work, jobs, float("inf"))
        missing = [id_ for id_ in claims if id_ not in program.by_id]
        for id_ in missing:
            say({"verdict": [id_, ""]})
        say({"result": {"claimed": len(claims), "confirmed": confirmer.confirmed}})
    return 0


class _Confirmer:
    """Runs one test with one mutant."""

    def __init__(self, spec: Spec, program: Program, file: Path, say: Say) -> None:
        self._spec, self._program, self._file, self._say = spec, program, file, say
        self._host = replace(
            ChildHost.of(spec.target, "", limits=SILENT_LIMITS, patient=False), silence_s=60.0
        )
        self._tests: ModuleType | None = None
        self._due = 0.0
        self.done = self.total = self.confirmed = 0

    def load(self) -> None:
        """Import the test file. Raises :class:`CannotStart`."""
        try:
            self._tests = self._imported()
        except BaseException as e:
            raise CannotStart(
                f"{self._file}: importing it raised {visible(f'{type(e).__name__}: {e}'):.300}"
            ) from None

    def _imported(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(_MODULE, self._file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[_MODULE] = module
        spec.loader.exec_module(module)
        return module

    def run(self, mutant: PythonMutant, test: str, enter: Callable[[], None]) -> Iterator[None]:
        """Run the test that claims the mutant; yields while it waits."""
        how = ""
        running = False
        for message in self._host.child(partial(self._work, mutant, test, enter)):
            if message is None:
                yield
            elif isinstance(message, Death):
                if message.how != "exited" and running and not how:
                    how = "timeout" if message.how == "hung" else "died"
            elif message == "running":
                running = True
            else:
                how = str(message)
        self._say({"verdict": [mutant.id, how]})
        self.confirmed += bool(how)
        self.done += 1
        if (now := time.monotonic()) >= self._due or self.done == self.total:
            self._due = now + _REPORT_S
            progress = {"done": self.done, "total": self.total, "killed": self.confirmed}
            self._say({"progress": {**progress, "what": "mutants against the tests"}})

    def _work(self, mutant: PythonMutant, test: str, enter: Callable[[], None], tell: Tell) -> None:
        enter()
        signal.setitimer(signal.ITIMER_REAL, 0)  # the guard's; the tests have their own limit
        tests = self._tests
        assert tests is not None
        began = time.monotonic()
        if _outcome(tests, test):
            return  # fails without the mutant too
        if not self._program.changed():  # else caches of the program would answer the mutant
            self._program.clear_caches()
        limit_s = max(_LEAST_S, _TIMES * (time.monotonic() - began))
        if mutant.ran_at_import or mutant.unrestored:
            tell("running")
            try:
                reload(self._program, self._spec.target, mutant)
                tests = self._imported()
            except BaseException as e:
                tell(f"import: {type(e).__name__}")
                return
        else:
            try:
                self._program.enter(mutant)
            except CannotSwap:
                return
        if hasattr(tests, "LIMIT_S"):
            vars(tests)["LIMIT_S"] = limit_s
        tell("running")
        if how := _outcome(tests, test):
            tell(how)


def _outcome(tests: ModuleType, name: str) -> str:
    """The exception class of the test's failure; an empty string if it passed."""
    test: Any = getattr(tests, name, None)
    try:
        test()
    except BaseException as e:
        return type(e).__name__
    return ""
