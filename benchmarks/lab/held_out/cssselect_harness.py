"""cssselect: a group of selectors parsed, printed again, and translated to XPath."""

from cssselect import GenericTranslator, HTMLTranslator, parse

GENERIC, HTML = GenericTranslator(), HTMLTranslator()


def translate(text: str) -> list[object]:
    found = []
    for selector in parse(text):
        found.append((repr(selector), selector.canonical(), selector.specificity()))
        found += [GENERIC.selector_to_xpath(selector), HTML.selector_to_xpath(selector)]
    return found
