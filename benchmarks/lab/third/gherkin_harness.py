"""gherkin: a feature, plain or in Markdown, as a syntax tree and compiled to pickles."""

from gherkin import Compiler, Parser
from gherkin.token_matcher import TokenMatcher
from gherkin.token_matcher_markdown import GherkinInMarkdownTokenMatcher


def read(text: str) -> list[object]:
    markdown = text.startswith("# ") and not text.startswith("# language")
    matcher = GherkinInMarkdownTokenMatcher() if markdown else TokenMatcher()
    document = Parser().parse(text, matcher)
    return [document, Compiler().compile({**document, "uri": "x.feature"})]
