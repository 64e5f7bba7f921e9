"""``python -m fuzztui`` is the command ``fuzztui``."""

from fuzztui.cli import main

raise SystemExit(main())
