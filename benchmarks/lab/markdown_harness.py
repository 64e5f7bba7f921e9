"""markdown-it: tokens and HTML, with tables, strike-through and the typographer."""

from markdown_it import MarkdownIt

PARSER = MarkdownIt("commonmark", {"typographer": True})
PARSER.enable(["table", "strikethrough", "replacements", "smartquotes"])


def render(text: str) -> tuple[list[object], str]:
    tokens = PARSER.parse(text)
    return [token.as_dict() for token in tokens], PARSER.render(text)
