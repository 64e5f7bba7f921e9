"""What an engine builds for the loop: its parts, and what is called at which moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.instrument.sparse import SparseProbes
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable
from fuzztui.engines.loop.feedback import CoverageFeedback, Feedback
from fuzztui.engines.loop.stages import Stage
from fuzztui.kernel.wire.commands import Command


@dataclass(slots=True)
class Parts:
    """What an engine builds for the loop; the modules of this package describe each part."""

    executor: Executor
    corpus: Corpus
    scheduler: Steerable
    stages: Sequence[Stage]
    coverage: CoverageFeedback
    feedbacks: Sequence[Feedback]
    """All feedbacks, including ``coverage``."""
    sparse: SparseProbes | None = None
    """The code of trials. None: every feedback needs all covered cells of each trial."""
    shrink_runs: int = 0
    """Most runs to trim a new entry; 0: no trimming."""
    whole: Callable[[], tuple[str, ...]] = tuple
    """Returns why an input that was trimmed is also kept as it was; usually empty."""
    before: Callable[[Candidate], None] = lambda candidate: None
    """Called with each trial's candidate before it runs."""
    before_recall: Callable[[], None] = lambda: None
    """Called before an input runs again for its coverage: each queue entry after a restart."""
    tick: Callable[[], None] = lambda: None
    """Called between trials, about every 50 ms by the clock: for statistics, not for decisions."""
    finish: Callable[[], None] = lambda: None
    """Called when the budget is used up, for work that remains."""
    on_modules: Callable[[], object] = lambda: None
    """Called between trials when modules were imported late."""
    connect: Callable[[Callable[[CorpusEntry], None], Callable[[], bool]], None] = lambda *_: None
    """Called once with :meth:`InputReports.describe`, which reports a changed entry, and
    :meth:`Loop.pulse`."""
    saved: Callable[[Candidate, str], None] = lambda candidate, folder: None
    """Called when an input was saved, with the folder: ``queue``, ``crashes`` or ``hangs``."""
    found: Callable[[str, bytes], None] = lambda file, data: None
    """Called when a finding was saved, with its path in the instance directory and its input."""
    execute: Callable[[Command], str] | None = None
    """Executes commands that only this engine has; raises ``SteerError``. None: there are none."""
