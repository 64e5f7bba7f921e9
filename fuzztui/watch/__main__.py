"""The watcher's process: ``python -m fuzztui.watch LOG DIR...``.

Of its own, so that keys never wait for a listing. It lives as long as its stdin is open: a
screen that is killed leaves no process behind, and with ``--remove`` no files.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from fuzztui.log.files import LogError
from fuzztui.watch.directories import Trees, WatchError
from fuzztui.watch.watcher import CampaignWatcher


def main(arguments: list[str]) -> int:
    """Watch until stdin ends; 1 with words on stderr when that cannot be done."""
    remove = arguments[:1] == ["--remove"]
    home, *directories = map(Path, arguments[remove:])
    # The terminal's keys are the screen's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Told along with the screen: what is ours must go anyway.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        watch = CampaignWatcher(Trees(directories), home / "log")
        threading.Thread(target=_wait_for_the_end, args=(watch,), daemon=True).start()
        try:
            watch.begin()
            watch.run()
        finally:
            watch.close()
    except (WatchError, LogError, OSError) as e:
        print(e, file=sys.stderr)
        return 1
    finally:
        if remove:
            shutil.rmtree(home, ignore_errors=True)
    return 0


def _wait_for_the_end(watch: CampaignWatcher) -> None:
    while os.read(0, 1):
        pass
    watch.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
