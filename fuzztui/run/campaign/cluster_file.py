"""Read ``[cluster]`` of any TOML file: a campaign file, or a file of its own for several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli

from fuzztui.run.campaign.cluster import ClusterConfig, ClusterError
from fuzztui.run.campaign.lines import key_lines
from fuzztui.run.campaign.pyproject import PREFIX, is_pyproject, tables_of
from fuzztui.run.campaign.schema import CLUSTER
from fuzztui.run.campaign.values import check, nearest

_MAX_BYTES = 1 << 20


def read_cluster(file: Path) -> ClusterConfig:
    """Return the configuration. Raises :class:`ClusterError` with file, line and key."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_MAX_BYTES).decode()
        data: Any = tomli.loads(text)
    except OSError as e:
        raise ClusterError(f"{file}: {e.strerror}") from None
    except ValueError as e:
        raise ClusterError(f"{file}: is not valid TOML: {e}") from None
    of_project = is_pyproject(file)
    lines = key_lines(text, PREFIX if of_project else "")
    data = (tables_of(data) or {}) if of_project else data

    def wrong(key: str, problem: str) -> ClusterError:
        line = lines.get(f"cluster.{key}") or lines.get("cluster")
        return ClusterError(f"{file}{f':{line}' if line else ''}: cluster.{key}: {problem}")

    table = data.get("cluster")
    if not isinstance(table, dict):
        raise ClusterError(f"{file}: has no table [cluster]; see docs/cluster.md")
    keys = {key.name: key for key in CLUSTER}
    resolved: dict[str, Any] = {}
    for name, value in table.items():
        if name not in keys:
            raise wrong(name, f"is unknown{nearest(name, keys)}; choose from {', '.join(keys)}")
        try:
            _, resolved[name] = check(keys[name], value, file.absolute().parent)
        except (ValueError, OSError) as e:
            raise wrong(name, str(e)) from None
    config = ClusterConfig.of(resolved)
    for key, problem in config.problems():
        raise wrong(key, problem)
    return config
