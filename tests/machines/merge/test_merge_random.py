"""Merging random logs, also damaged and hostile ones: nothing raises, nothing is counted twice."""

import json
import shutil

import pytest
from examples import examples
from merged_runs import CAMPAIGN
from random_logs import random_log, write_log

from fuzztui.cli.output import DAMAGED, DONE
from fuzztui.kernel.log.files import tail_name
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.codec import decode_record, encode_record
from fuzztui.kernel.wire.events import CampaignStarted


def run_of(tmp_path, name, seed, junk):
    run = tmp_path / name
    (run / "log").mkdir(parents=True)
    (run / "supervisor").mkdir()
    (run / "out").mkdir()
    (run / "campaign.toml").write_text(
        CAMPAIGN.format(run=run, function="tomllib:loads", kind="mu2")
    )
    records = random_log(seed)
    write_log(run / "log" / tail_name(1), records, junk)
    return run


def folded(run):
    state = State()
    apply(state, LogReader(run).records())
    return state


@pytest.mark.parametrize("seed", range(examples(48)))
def test_random_logs(ask, tmp_path, seed):
    runs = [run_of(tmp_path, f"{n}", 3 * seed + n, junk=seed % 3) for n in range(3)]
    states = [folded(run) for run in runs]
    code, _, err = ask("merge", *runs, "-o", tmp_path / "m")
    if not (tmp_path / "m").exists():
        assert len(err.splitlines()) <= 12
        assert "Traceback" not in err
        return
    assert code in (DONE, DAMAGED)
    merged = folded(tmp_path / "m")
    kept = {row["run"] for row in json.loads((tmp_path / "m/merged.json").read_text())["parts"]}
    mine = [s for s, run in zip(states, runs, strict=True) if str(run) in kept]
    named = [i for s in mine for i in s.instances if i]
    assert len([i for i in merged.instances if i]) >= len(named) - sum(bool(s.shards) for s in mine)
    assert len(merged.findings) >= max((len(s.findings) for s in mine), default=0)
    ids = {id_ for s in mine for id_ in s.mutants}
    assert set(merged.mutants) == ids
    for record in LogReader(tmp_path / "m").records():
        assert decode_record(encode_record(record)) == record
    assert sum(isinstance(r.event, CampaignStarted) and not r.host
               for r in LogReader(tmp_path / "m").records()) == 1  # fmt: skip
    shutil.rmtree(tmp_path / "m")
