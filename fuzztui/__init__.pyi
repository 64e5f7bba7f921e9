"""The names that scripts and notebooks may import from fuzztui: stable (docs/interfaces.md)."""

from fuzztui.api import Run as Run
from fuzztui.api import RunEntry as RunEntry
from fuzztui.api import RunError as RunError
from fuzztui.api import RunFinding as RunFinding
from fuzztui.api import RunMutant as RunMutant
from fuzztui.api import RunSeries as RunSeries
from fuzztui.api import RunState as RunState
from fuzztui.api import Steering as Steering
from fuzztui.api import open_run as open_run

__version__: str
