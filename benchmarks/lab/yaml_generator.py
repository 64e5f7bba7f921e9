"""YAML documents from choices, for PyYAML: 92% of them valid."""

import re

KEYS = ["a", "b", "key", "1", "'q'", '"d"', "!!str a", "&k k", "null", "1.5", "yes", "?", "?", "<<"]
ODD_KEYS = ["*a", "[a, b]", "=", "<<", "{}", "!local a"]
PLAIN = ["x", "plain text", "a#b", "a:b", "-1", "0", "1_000", "0x1F", "0b11", "017", "0o17", "1.5",
         "-.5e+3", "6.8523015e+5", ".inf", "-.INF", ".nan", "190:20:30", "1:30.5", "true", "No",
         "on", "~", "null", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-1-1 1:2:3 Z",
         "2001-12-14 21:59:43", "é☃", "-x", "?x", ""]  # fmt: skip
SINGLE = ["a", " ", "''", "\\", "#", "\n  ", "é", "\n\n  b"]
DOUBLE = ["\\n", "\\t", "\\x41", "\\u00e9", "\\U0001F600", "\\\\", '\\"', "\\0", "\\_", "\\N", " ",
          "\\e", "é", "a", "'", "%", "\n\n  ", " \n   b", "\\\n  "]  # fmt: skip
FOLDED = ["text", " more", "", "# no", "\ttab", "- x", "", "a: b"]
TYPED = ["!!set {a, b: }", "!!omap [a: 1, b: 2]", "!!pairs [a: 1, a: 2]", "! x",
         "!!binary aGVsbG8=", "!!int 0x_1F", "!!int 0b1_0", "!!int -1:30", "!!float 1:30.5",
         "!!float .inf", "!!float 1", "!!bool yes", "!!seq []", "!!map {}", "!!str 1",
         "!!null ''", "!!str", "! 12", "!!int 017", "!!timestamp 2001-12-14 21:59:43.1 +5:30",
         "!<tag:yaml.org,2002:str> 1", "!!timestamp 2001-12-14",
         "!!binary |\n aGVs\n bG8="]  # fmt: skip
ODD = ["!!int x", "!local x", "!!binary =", "!e!x y", "@", "`", "%x", "!!omap [a]", "!!set [a]",
       "'", "!!timestamp x", "2001-13-41", "\x01", "!!seq x", "*z", "[", "!!float ''", "=",
       "a: b: c"]  # fmt: skip
HEADS = ["", "", "", "# c\n", "%YAML 1.1\n---\n", "%TAG !e! tag:yaml.org,2002:\n---\n"]


def stream(r) -> str:
    text = r.choose(HEADS)
    for i in r.more(1, 3, continues=0.25):
        if i:
            text += r.choose(["---\n", "---\n", "...\n---\n", "--- # c\n", "...\n%YAML 1.1\n---\n"])
        text += _bind(node(r, 3, 0).lstrip("\n")) + "\n"
    return text + r.choose(["", "", "...\n", "# c"])


def _bind(document: str) -> str:
    """Give each anchor a name of its own, and let aliases mean the last one before them."""
    names: list[str] = []

    def bind(match: re.Match[str]) -> str:
        if match[1] == "&":
            names.append(f"a{len(names)}")
        return match[1] + names[-1] if names else "z"

    return re.sub(r"([&*])[abk]\b", bind, document)


# ------------------------------------------------------------ in the block style


def node(r, depth: int, indent: int) -> str:
    """What may stand after ``key:`` or ``-``: on the same line, or on lines of its own."""
    if depth <= 0:
        return " " + scalar(r, indent)
    match r.below(8):
        case 0 | 1:
            return mapping(r, depth - 1, indent + r.choose([1, 2, 4]))
        case 2 | 3:
            return sequence(r, depth - 1, indent + r.choose([1, 2]))
        case 4:
            text = r.choose(["", "", "&a "]) + flow(r, depth - 1)
            return " " + text.replace("\n", "\n" + " " * indent)
        case 5:
            return " " + block_scalar(r, indent)
        case _:
            return " " + scalar(r, indent)


def block(r, indent: int, properties: list[str], items: list[str]) -> str:
    """Lines of their own, after the properties of the collection or a comment."""
    pad = "\n" + " " * indent
    head = r.choose(["", "", "", "", " # c", *properties])
    return head + r.choose(["", "", "", "\n"]) + "".join(pad + item for item in items)


def mapping(r, depth: int, indent: int) -> str:
    items = []
    for _ in r.more(1, 4, continues=0.5):
        key = r.choose(ODD_KEYS) if r.below(24) == 0 else r.choose(KEYS)
        if key == "?":
            items.append(f"? {scalar(r, indent)}")
            if r.boolean():
                items.append(f":{node(r, depth, indent)}")
        elif key == "<<":
            items.append(f"<<: {r.choose(['{x: 1}', '[{x: 1}, {y: 2}]', '{x: 1, a: 3}', '{}'])}")
        else:
            items.append(f"{key} :{node(r, depth, indent)}")
    return block(r, indent, [" &a", " !!map"], items)


def sequence(r, depth: int, indent: int) -> str:
    items = []
    for _ in r.more(1, 4, continues=0.5):
        inner = node(r, depth, indent)
        if depth > 0 and r.below(5) == 0:
            # Compact: a collection that begins on the line of the dash.
            inner = " " + r.choose(["a: 1", "- x", "? a", f"b:{node(r, depth - 1, indent + 2)}"])
            inner += r.choose(["", f"\n{' ' * (indent + 2)}c:" if ":" in inner else ""])
        items.append(f"-{inner}")
    return block(r, indent, [" &b", " !!seq"], items)


def scalar(r, indent: int) -> str:
    match r.below(8):
        case 0:
            return r.choose(["*a ", "&a x", "&a", "&b 1"])
        case 1:
            text = "".join(r.choose(SINGLE) for _ in r.more(0, 5))
            return "'" + text.replace("\n", "\n" + " " * indent) + "'"
        case 2:
            text = "".join(r.choose(DOUBLE) for _ in r.more(0, 5))
            return '"' + text.replace("\n", "\n" + " " * indent) + '"'
        case 3:
            typed = r.choose(ODD) if r.below(12) == 0 else r.choose(TYPED)
            return typed.replace("\n", "\n" + " " * indent)
        case 4:
            return f"plain\n{' ' * (indent + 1)}{r.choose(['more', 'and # c', '1', '- x', '?x'])}"
        case _:
            return r.choose(PLAIN) + r.choose(["", "", "", " # c", "  "])


def block_scalar(r, indent: int) -> str:
    width = r.integer(1, 3)
    keep, explicit = r.choose(["", "-", "+"]), r.choose(["", "", str(width)])
    head = r.choose(["|", ">"]) + r.choose([keep + explicit, explicit + keep])
    pad = "\n" + " " * (indent + width)
    lines = "".join(pad + r.choose(FOLDED) for _ in r.more(0, 5))
    return head + r.choose(["", "", " # c"]) + lines


# ------------------------------------------------------------- in the flow style


def flow(r, depth: int) -> str:
    if depth < 0 or r.below(3) == 0:
        return r.choose(
            ["a", "'q'", '"d"', "1", "~", "&a x", "!!str 1", "x y", "0x1", "a:b", "*a "]
        )
    end = r.choose(["", "", "", " # c\n  "])
    if r.boolean():
        items = [pair(r, depth) if r.below(4) == 0 else flow(r, depth - 1) for _ in r.more(0, 4)]
        return f"[{', '.join(items)}{end}]"
    return f"{{{', '.join(pair(r, depth) for _ in r.more(0, 4))}{end}}}"


def pair(r, depth: int) -> str:
    key = r.choose(["a", "'q'", '"d"', "? k", "1", "<<", "b", "&k k"])
    if key == "<<":
        return "<<: {x: 1}"
    return key + r.choose([": ", ": ", " : ", ": # c\n   "]) + flow(r, depth - 1)
