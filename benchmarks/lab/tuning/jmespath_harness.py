"""jmespath: an expression on the first line searched in a document, through its cache."""

import json

import jmespath

DOCUMENT = json.loads(
    '{"a": [{"b": 1, "c": ["x", "y"]}, {"b": 2.5, "c": []}, {"b": null}], "d": {"e": {"f": "g"}},'
    ' "s": "text", "n": [3, 1, 2], "t": true, "z": {"k": "v", "l": [[1, 2], [3]]}}'
)


def search(text: str) -> object:
    expression, _, document = text.partition("\n")
    data = DOCUMENT
    if document:
        try:
            data = json.loads(document)
        except ValueError:
            data = document
    return jmespath.search(expression, data)
