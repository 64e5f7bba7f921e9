"""``fuzztui schema``: the JSON Schema of campaign files."""

from __future__ import annotations

import argparse
import json

from fuzztui.cli.output import DONE


def schema(options: argparse.Namespace) -> int:
    """Print the schema."""
    from fuzztui.tools.schema.json_schema import document

    print(json.dumps(document(), indent=1))
    return DONE
