"""The subjects of spoton's evaluation, and runs of engines on them with a record.

``handlers``: the Lambda functions among the sample campaigns. In ``typed``, libraries whose
functions take typed objects, at exact versions (the extra ``bench`` of pyproject.toml):

- ``tuning``: astral, babel, icalendar; figures on them may lead to changes of the engine.
- ``held-out``: networkx, humanize, pydicom, omegaconf, pypika; chosen by kind (graphs, dates and
  numbers, medical datasets, configurations, queries), with harnesses and generators that were
  fixed before any engine ran on them. Nothing is ever changed because of a figure on them.

The figures of the sets are reported apart.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from fuzztui.features.targeting.analysis import Request, TargetsError, find_targets
from fuzztui.run.campaign import Campaign, CampaignError, load
from fuzztui.run.inprocess.spec import write_spec
from lab.runs import RunFailed, call

__all__ = [
    "SAMPLES",
    "SETS",
    "VARIANTS",
    "Handler",
    "RunFailed",
    "find",
    "prepared",
    "require",
    "run",
]

SAMPLES: Final = Path(__file__).resolve().parent.parent.parent / "sample_campaigns"

_TYPED: Final = Path(__file__).resolve().with_name("typed")
SETS: Final = {
    "handlers": SAMPLES,
    "tuning": _TYPED / "tuning",
    "held-out": _TYPED / "held_out",
}
"""Where the campaign files of each set are."""

_RECORDED: Final = Path(__file__).resolve().with_name("recorded.py")
_OURS: Final = SAMPLES.parent / "engines"
_STATIC: Final = SAMPLES.parent / "fuzztui" / "features" / "targeting"

VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "zest": {"kind": "zest", "constants": False},
    "zest+constants": {"kind": "zest", "constants": True},
    "spoton-global": {"kind": "spoton", "constants": True, "distances": "global"},
    "spoton-untargeted": {"kind": "spoton", "constants": True, "targeted": 0},
    "spoton-frontier": {"kind": "spoton", "constants": True, "distances": "frontier"},
}
"""What is compared: keys of the campaign's table ``engine``."""


@dataclass(frozen=True)
class Handler:
    """One campaign, of a Lambda handler or a typed library, under one interpreter."""

    name: str
    file: Path
    python: str

    @cached_property
    def campaign(self) -> Campaign:
        """The loaded campaign. Raises :class:`RunFailed`."""
        try:
            return load(self.file, [f"target.python={json.dumps(self.python)}"]).campaign
        except CampaignError as e:
            raise RunFailed(f"{self.file.name}: {e}") from None

    @cached_property
    def targets(self) -> str:
        """The text of ``targets.json``, made by the static analysis. Raises :class:`RunFailed`."""
        try:
            return find_targets(Request.of_target(self.campaign.target)).dumps()
        except TargetsError as e:
            raise RunFailed(f"{self.file.name}: {e}") from None

    @cached_property
    def version(self) -> str:
        """A digest of all that results depend on: the campaign, its sources, and our own code."""
        target = self.campaign.target
        files = {self.file, _RECORDED, *_OURS.rglob("*.py"), *_STATIC.rglob("*.py")}
        for name in {target["function"], target.get("generator", "")}:
            where = Path(name.rpartition(":")[0])
            if where.suffix == ".py":
                files |= set(where.parent.glob("*.py"))
        for folder in target.get("path", ()):
            files |= set(Path(folder).rglob("*.py"))
        found = hashlib.sha256()
        for file in sorted(files):
            found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
        return found.hexdigest()[:16]


def find(python: str, names: Iterable[str] = (), prefix: str = "lambda-",
         subjects: str = "handlers") -> list[Handler]:  # fmt: skip
    """The subjects of a set with these names; without names, all. Exits with a message if one is
    unknown.

    ``prefix``: how the names of the handlers' files begin; "": all sample campaigns of spoton.
    """
    begin, end = (prefix, "-spoton.toml") if subjects == "handlers" else ("", ".toml")
    files = {
        f.name.removeprefix(begin).removesuffix(end): f
        for f in sorted(SETS[subjects].glob(f"{begin}*{end}"))
    }
    missing = [n for n in names if n not in files]
    if missing or not files:
        known = ", ".join(files) or f"none in {SETS[subjects]}"
        sys.exit(f"{subjects}: no {', '.join(missing)}; there are {known}")
    return [Handler(name, files[name], python) for name in names or files]


_FIND_SPECS = (
    "import importlib.util, sys\n"
    "print(*[name for name in sys.argv[1:] if importlib.util.find_spec(name) is None])"
)


def require(handlers: Sequence[Handler]) -> None:
    """Exit with the pip command if their interpreter does not have the typed libraries.

    Raises :class:`RunFailed` if a campaign is invalid.
    """
    typed = [h for h in handlers if _TYPED in h.file.parents]
    wanted = sorted(
        {name.partition(".")[0] for h in typed for name in h.campaign.target["include"]}
    )
    if not wanted:
        return
    python = typed[0].python
    argv = [python, "-P", "-c", _FIND_SPECS, *wanted]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} cannot look for {', '.join(wanted)}: {done.stderr.strip()[-500:]}")
    if missing := done.stdout.split():
        sys.exit(f"{python} does not have {', '.join(missing)}:"
                 f" python3 -m pip --python {python} install -e '.[bench]'")  # fmt: skip


@contextmanager
def prepared(handler: Handler, variant: str, seed: int, trials: int = 0,
             **engine: Any) -> Iterator[Callable[..., dict[str, Any]]]:  # fmt: skip
    """Context manager: write a spec into a temporary directory. Yields a function that runs one of
    our scripts with it, and returns the record that the script has written.

    ``engine``: more keys of the table ``engine``. Raises :class:`RunFailed`.
    """
    with tempfile.TemporaryDirectory(prefix="spoton-", ignore_cleanup_errors=True) as name:
        root = Path(name).resolve()
        directory = root / "out" / "main"
        directory.mkdir(parents=True)
        keys = {**handler.campaign.engine, **VARIANTS[variant], "third_party": True, **engine}
        if keys["constants"]:
            keys["targets"] = str(root / "targets.json")
            (root / "targets.json").write_text(handler.targets, "utf-8")
        campaign = replace(handler.campaign, engine=keys, seed=seed)
        spec = directory / "spec.json"
        write_spec(spec, campaign, directory, trials)
        env = {"FUZZTUI_INSTANCE": "main", **campaign.target.get("env", {})}

        def execute(script: Path, *arguments: object, limit_s: float) -> dict[str, Any]:
            record = root / "record.json"
            argv = [handler.python, "-P", str(script), str(spec), str(record)]
            said = call([*argv, *map(str, arguments)], root, directory / "worker.log",
                        limit_s=limit_s, env=env)  # fmt: skip
            try:
                found: dict[str, Any] = json.loads(record.read_bytes())
            except FileNotFoundError:
                raise RunFailed(f"{handler.name}: no record was left: {said[-2000:]}") from None
            return found

        yield execute


def run(handler: Handler, variant: str, seed: int, *, seconds: float = 0.0,
        trials: int = 0) -> dict[str, Any]:  # fmt: skip
    """Run an engine for this many CPU seconds, or trials. Returns the record of ``recorded.py``.

    Raises :class:`RunFailed`.
    """
    with prepared(handler, variant, seed, trials) as execute:
        return execute(_RECORDED, seconds, limit_s=300 + 20 * seconds + trials)
