"""One job of a score: ``python -P -m fuzztui.features.mutants.score_job REQUEST.json``, on any
machine.

Asks the engine to score one part of the mutants, and prints its JSON lines. The request names files
by the paths of the machine that made it: the machines have them in common.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CANNOT_START
from fuzztui.kernel.base.bounds import loads
from fuzztui.run.campaign import CampaignError, load
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.inprocess.ask import ask

KIND: Final = "mu2"
"""The engine that scores campaigns of every kind."""


@dataclass(frozen=True, slots=True)
class ScoreWork:
    """What all jobs of one score have in common."""

    campaign: Path
    overrides: Sequence[str]
    cwd: Path
    """The base of relative paths in ``overrides``."""
    directory: Path
    """The instance's directory, whose mutants are scored."""
    inputs: Sequence[str]
    matrix: Path | None

    def request(
        self,
        *,
        shards: Sequence[int] = (),
        of: int = 1,
        only: Sequence[int] | None = None,
        flaky: Sequence[str] = (),
        within_s: float = 0.0,
    ) -> str:
        """The text of a request for a part of the mutants (``engines/mu2/score_part.py``)."""
        part = {"shards": [*shards], "of": of, "only": only, "flaky": [*flaky]}
        return json.dumps(
            {
                "campaign": str(self.campaign),
                "overrides": [*self.overrides],
                "cwd": str(self.cwd),
                "directory": str(self.directory),
                "matrix": "" if self.matrix is None else str(self.matrix),
                "within": within_s,
                "part": {**part, "inputs": [*self.inputs]},
            }
        )


def score_part(request: dict[str, Any]) -> int:
    """Score one part; return the exit status."""
    campaign = load(
        Path(request["campaign"]), request["overrides"], cwd=Path(request["cwd"]), kind=KIND
    ).campaign
    part = Path("part.json").absolute()
    part.write_text(json.dumps(request["part"]))
    question = ["--jobs", "1", "--within", str(request["within"]), "--part", str(part)]
    if request["matrix"]:
        question += ["--matrix", request["matrix"]]
    question += ["--score", str(part)]  # replaced by the inputs of the part
    with closing(ask(campaign, question, Path(request["directory"]))) as answers:
        for answer in answers:
            if "progress" in answer or "result" in answer:
                print(json.dumps(answer), flush=True)
    return 0


def main() -> int:
    """Read the request, and carry it out; exit statuses are those of an engine."""
    try:
        return score_part(loads(Path(sys.argv[1]).read_bytes()))
    except (CampaignError, SupervisorError, OSError) as e:
        print(f"fuzztui: {' '.join(str(e).split())}", file=sys.stderr)
        return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
