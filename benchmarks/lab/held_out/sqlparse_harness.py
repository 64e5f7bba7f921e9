"""sqlparse: statements split, grouped, and formatted; the first line has the options."""

import sqlparse

OPTIONS = {
    "k": {"keyword_case": "upper"},
    "i": {"identifier_case": "lower"},
    "c": {"strip_comments": True},
    "r": {"reindent": True},
    "a": {"reindent_aligned": True},
    "w": {"strip_whitespace": True},
    "s": {"use_space_around_operators": True},
    "t": {"truncate_strings": 4},
    "f": {"comma_first": True, "reindent": True},
    "p": {"output_format": "python"},
}


def read(text: str) -> list[object]:
    letters, _, sql = text.partition("\n")
    options: dict[str, object] = {}
    for letter in letters:
        options |= OPTIONS.get(letter, {})
    found: list[object] = [sqlparse.format(sql, **options)]
    for statement in sqlparse.parse(sql):
        found.append((statement.get_type(), [_plain(token) for token in statement.tokens]))
    return found


def _plain(token) -> tuple[str, str]:
    return type(token).__name__, str(token.normalized)
