"""html5lib: a document and a fragment parsed, with the errors, and serialised."""

import html5lib
from html5lib.serializer import serialize


def parse(text: str) -> list[object]:
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"))
    document = parser.parse(text)
    errors = [(position, code) for position, code, _ in parser.errors]
    fragment = html5lib.parseFragment(text, container="td")
    return [errors, serialize(document, tree="etree"), serialize(fragment, tree="etree")]
