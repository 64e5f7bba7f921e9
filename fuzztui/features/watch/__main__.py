"""The watcher's process: ``python -m fuzztui.features.watch LOG DIR...``.

Separate from the screen, so that keys never wait for a directory listing. The process ends when its
stdin is closed: a screen that is killed leaves no process behind, and with ``--remove`` no files.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from fuzztui.features.watch.directories import Trees, WatchError
from fuzztui.features.watch.watcher import CampaignWatcher
from fuzztui.kernel.log.files import LogError


def main(arguments: list[str]) -> int:
    """Watch until stdin ends. Returns 1, with a message on stderr, if watching is impossible."""
    remove = arguments[:1] == ["--remove"]
    home, *directories = map(Path, arguments[remove:])
    # Ctrl-C and a closed terminal are handled by the screen.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Sent to the screen and this process: files must be removed nevertheless.
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
