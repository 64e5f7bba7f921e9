"""docutils: reStructuredText as a document's tree, with all transforms of a standalone reader."""

from importlib import import_module

from docutils.core import publish_doctree
from docutils.parsers.rst import directives, roles

SETTINGS = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "report_level": 1,
    "smart_quotes": True,
    "syntax_highlight": "none",
    "warning_stream": False,
}
for module, _ in directives._directive_registry.values():  # else trials would import them
    import_module(f"docutils.parsers.rst.directives.{module}")
del directives._directive_registry["date"]  # looks at the clock


def read(text: str) -> str:
    roles._roles.clear()  # those that an earlier document has defined
    return publish_doctree(text, settings_overrides=SETTINGS).pformat()
