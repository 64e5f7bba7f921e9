import asyncio
from pathlib import Path

from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.session import LiveClock, Session
from fuzztui.kernel.wire.events import CampaignStarted, Stats
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, prepare_run
from fuzztui.run.supervise.campaign_log import CampaignLog
from fuzztui.run.supervise.resume import CampaignStartup


def take_up(run: Path) -> None:
    """As a supervisor does it that finds no budget left."""
    campaign = Campaign(
        file=run / "campaign.toml",
        name="name",
        output=run,
        seed=7,
        budget_s=30.0,
        budget_trials=0,
        stop_crashes=0,
        stop_idle_s=0.0,
        kind="zest",
        instances=1,
        target={"python": "/usr/bin/python3", "function": "module:parse"},
        engine={"kind": "zest"},
    )
    home = RunDir(run)
    journal = CampaignLog(home, lambda event: None, lambda trouble: None)
    beginning = CampaignStartup(campaign, home, journal, observation=None)
    asyncio.run(beginning.take_up({}, None, journal.repairs, spent=True))
    journal.close()


def folded(run: Path) -> Session:
    session = Session(run, LiveClock())
    while session.poll().records or session.behind:
        pass
    return session


def starts(run: Path) -> int:
    records = LogReader(run).records(after_seq=0)
    return sum(isinstance(record.event, CampaignStarted) for record in records)


def test_what_a_campaign_is_called_survives_the_loss_of_its_first_records(tmp_path):
    run = tmp_path / "run"
    prepare_run(run)
    take_up(run)
    take_up(run)
    assert starts(run) == 1
    writer = LogWriter(RunDir(run).log)
    for n in range(3000):
        writer.append(Stats("main", n), 1.0 + n / 1000)
        if n % 500 == 0:
            writer.flush()
    writer.close(at_rest=True)
    path = RunDir(run).log / SEALED
    first, second, *_ = LogReader(run)._source.index
    path.write_bytes(path.read_bytes()[second.offset :])
    assert folded(run).state.name == ""
    before = folded(run).state.instances["main"].stats.execs
    take_up(run)
    take_up(run)
    session = folded(run)
    state = session.state
    assert (state.name, state.engine, state.seed) == ("name", "zest", 7)
    assert state.lost >= first.last
    assert state.instances["main"].stats.execs == before == 2999
    assert starts(run) == 1
    assert not session.problems
