"""INI files as configobj reads them, from choices; read, checked against a spec, written.

The first line of an input says how it is to be read: a letter for each option.
"""

from configobj import ConfigObj
from configobj.validate import Validator

SPEC = """
a = integer(0, 10, default=3)
b = float(min=-1.5, default=0.5)
c = boolean(default=True)
d = option('x', 'y', 'z', default='x')
e = string_list(min=1, max=3, default=list('x', 'y'))
f = int_list(default=list(1, 2))
g = ip_addr(default='127.0.0.1')
h = mixed_list('integer', 'float', 'string', default=list(1, 2.5, 'x'))
i = string(min=1, max=5, default=None)
j = float_list(max=2, default=None)
k = bool_list(default=None)
l = ip_addr_list(default=None)
m = force_list(default=None)
n = is_integer(3)
o = tuple(min=1, default=None)
[s]
    a = integer
    [[__many__]]
        b = string(default='many')
[t]
    __many__ = integer(min=1)
""".splitlines()
OPTIONS = {"l": "list_values", "u": "unrepr", "i": "interpolation", "e": "write_empty_values"}
KEYS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"]
VALUES = ["1", "12", "-3", "2.5", "x", "yes", "off", "TRUE", "'x y'", '"x, y"', "x y", "1.2.3.4",
          "None", "1.2.3.400", "''", '""', "'a\"b'", '"it\'s"', "1, 2, 3", "1, 2.5, x", "x,", ",",
          "'a', \"b\", c", "yes, no", "1.2.3.4, 5.6.7.8", "%(a)s", "%(p)s/x", "$a ${b} $$",
          "%(nothing)s", "'# x'", "é", "1e3", "a, 'b, c', d", "1, 2, 3, 4", "x=y", "[x]",
          "'%(q)s, x'"]  # fmt: skip
TEXTS = ["x", "\n", "a, b", "'", '"', "# no", "=", "[s]", " ", "%(a)s"]
LITERALS = [
    "1",
    "'x'",
    "[1, 2]",
    "{'a': 1}",
    "(1, 'x')",
    "None",
    "True",
    "-1.5",
    "1 + 2j",
    "[[], ()]",
]
ODD = ["'x", '"', "x' y", "'a' b", "x, 'y", "'''x", "a b", "%(", "$", '"""', "'a',, b"]
COMMENTS = ["", "", "", "", " # c", "# 'x', \"y\"", "  #"]


def read(text: str) -> tuple[object, object, list[str]]:
    """The values, the validator's verdict, and the lines that it writes again."""
    head, _, rest = text.partition("\n")
    options = {name: letter in head for letter, name in OPTIONS.items()}
    if "$" in head:
        options["interpolation"] = "template"
    found = ConfigObj(rest.split("\n"), configspec=SPEC if "v" in head else None, **options)
    valid = "v" in head and found.validate(Validator(), preserve_errors=True, copy="c" in head)
    lines = found.write()
    found.merge({"s": {"a": "merged"}, "p": "q"})
    return found.dict(), _plain(valid), lines


def _plain(valid: object) -> object:
    """Errors of the validator by their class and words."""
    if isinstance(valid, dict):
        return {key: _plain(value) for key, value in valid.items()}
    return valid if isinstance(valid, bool) else f"{type(valid).__name__}: {valid}"


def document(r) -> str:
    letters = r.below(64)
    head = "".join(letter for bit, letter in enumerate("lievc$") if letters >> bit & 1)
    head += "u" if r.below(8) == 0 else ""
    lines, keys, depth, sections = [], list(KEYS), 0, 0
    for _ in r.more(1, 24, continues=0.85):
        match r.below(10):
            case 0:
                depth = r.integer(1, min(depth + 1, 3))
                sections += 1
                name = r.choose(["s@", "t@", "'q @'", '"x@"', "u v@"]).replace("@", str(sections))
                if depth == 1 and sections < 3:
                    name = r.choose(["s", "t"]) if sections == 1 else name
                lines.append("  " * depth + "[" * depth + name + "]" * depth + r.choose(COMMENTS))
                keys = list(KEYS)
            case 1:
                lines.append(r.choose(["", "# c", "   # c", "#", "; x = 1"]))
            case _:
                key = keys.pop(r.below(len(keys))) if keys else "z"
                key = r.choose([key, key, key, f"'{key}'", f'"{key}"', f"'{key} {key}'"])
                gap = r.choose([" = ", " = ", "=", " ="])
                lines.append("  " * depth + key + gap + value(r, "u" in head) + r.choose(COMMENTS))
        if r.below(48) == 0:
            lines.append(r.choose(["[", "[[[s]", "=", "x", "[]", "a = 1", "[s]", "'x", "x = '''"]))
    return "\n".join([head, *lines])


def value(r, literal: bool) -> str:
    if literal and r.below(6):
        return r.choose(LITERALS)
    match r.below(8):
        case 0:
            quote = r.choose(["'''", '"""'])
            return quote + "".join(r.choose(TEXTS) for _ in r.more(0, 4)) + quote
        case 1:
            return r.choose(ODD) if r.below(6) == 0 else r.choose(["x", ""])
        case _:
            return r.choose(VALUES)
