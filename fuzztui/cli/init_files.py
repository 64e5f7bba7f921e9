"""The files of a first campaign: check a draft of them, write them all or none."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from fuzztui.kernel.base.atomic import publish_text, replace_bytes
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.campaign import FrozenCampaign, load, refuse_idle_keys
from fuzztui.run.campaign.extras import refuse_missing_extras
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.inprocess.ask import Ready, ask, ready
from fuzztui.tools.scaffold.files import MAX_SEEDS, SEEDS, CampaignDraft


def paths_of(draft: CampaignDraft, file: Path) -> list[Path]:
    """Return what the draft would write: the campaign file first."""
    paths = [file]
    paths += [file.parent / name for name in draft.harnesses]
    if draft.seeds:
        paths.append(file.parent / SEEDS)
    return paths


def checked(
    draft: CampaignDraft, file: Path, progress: Callable[[str], None] = lambda text: None
) -> Ready:
    """Check a draft as ``fuzztui check`` would. Raises CampaignError, SupervisorError.

    The other files are written to a temporary directory for that.
    """
    with _loaded(draft, file) as loaded:
        refuse_idle_keys(loaded)
        refuse_missing_extras(loaded)
        if loaded.campaign.kind == AFL:
            return Ready()
        return ready(loaded.campaign, progress)


def mutants_of(draft: CampaignDraft, file: Path) -> int:
    """Return how many mutants the target has; 0 if that is not known."""
    with contextlib.suppress(SupervisorError), _loaded(draft, file, kind="mu2") as loaded:
        lists = (answer.get("mutants") for answer in ask(loaded.campaign, ["--mutants"]))
        return sum(len(found) for found in lists if isinstance(found, list))
    return 0


@contextlib.contextmanager
def _loaded(draft: CampaignDraft, file: Path, kind: str = "") -> Iterator[FrozenCampaign]:
    """Lay a draft out in a temporary directory, and load it. Raises CampaignError."""
    with temporary_directory() as folder:
        other = Path(folder)
        if draft.seeds:
            (other / SEEDS).mkdir()
            for number, data in enumerate(draft.seeds):
                replace_bytes(other / SEEDS / _seed_name(number), data)
            draft = replace(draft, seeds=(), seed_paths=[str(other / SEEDS)])
        yield load(file, text=draft.laid_out(other).text(), kind=kind)


def write_draft(draft: CampaignDraft, file: Path) -> None:
    """Write all files; if that fails or is interrupted, none of the new ones stays."""
    new = [path for path in paths_of(draft, file) if not path.exists()]
    with _all_or_none(new):
        if draft.seeds:
            folder = file.parent / SEEDS
            folder.mkdir(exist_ok=True)
            for number, data in enumerate(draft.seeds):
                replace_bytes(folder / _seed_name(number), data)
        for name, text in draft.harnesses.items():
            publish_text(file.parent / name, text)
        publish_text(file, draft.text())
        load(file)
    if draft.seeds:  # an earlier init may have written more; files of other names are the user's
        for number in range(len(draft.seeds), MAX_SEEDS):
            with contextlib.suppress(OSError):
                (folder / _seed_name(number)).unlink()


def _seed_name(number: int) -> str:
    return f"{number:02}"


@contextlib.contextmanager
def _all_or_none(new: list[Path]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for path in new:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise
