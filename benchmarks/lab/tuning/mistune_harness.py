"""mistune: Markdown with all its plugins, as HTML and as Markdown again."""

import mistune
from mistune.renderers.markdown import MarkdownRenderer

PLUGINS = ["strikethrough", "footnotes", "table", "url", "task_lists", "def_list", "abbr", "mark",
           "insert", "superscript", "subscript", "math", "ruby", "spoiler"]  # fmt: skip
HTML = mistune.create_markdown(plugins=PLUGINS)
MARKDOWN = mistune.create_markdown(renderer=MarkdownRenderer())


def render(text: str) -> list[object]:
    return [HTML(text), MARKDOWN(text)]
