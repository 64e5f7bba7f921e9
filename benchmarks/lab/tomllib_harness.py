"""TOML documents from choices, for ``tomllib:loads``."""

WORDS = ["true", "false", "inf", "-inf", "+nan", "nan", '""', "''", "0", "-0.0", "+0", "0e0"]
ODD = ["01", "1__0", "0x", "1.", ".5", "truE", "2023-02-29", "25:00:00", "'''", '"\\x"', "[", "_1",
       '"\\ud800"', "1979-05-27T", "{", "0b2", "+0x1", "1e", "\x00", '"""', "a"]  # fmt: skip
ESCAPES = ["a", "é", "\\n", "\\t", '\\"', "\\\\", "\\u00e9", "\\U0001F600", "\\b", "\\f", "\\r",
           "'", " ", "#", "="]  # fmt: skip
LONG = ["a", "\n", "\r\n", "\\\n   ", '"', '""', "\\\\", "\\u0041", "'", " ", "# no", "\\ \n\n\t"]
RAW = ["a", "\n", "\\", '"', "'", "''", "é", " ", "\\n", "\t"]
BLANKS = ["", "", "", " ", "\t"]


def document(r) -> str:
    """Lines of a document; a key is used once, unless a choice says otherwise."""
    names = Names(r)
    lines = [line(r, names) for _ in r.more(1, 8, continues=0.5)]
    return r.choose(["\n", "\n", "\n", "\r\n"]).join(lines) + r.choose(["\n", ""])


class Names:
    """Fresh bare keys, and now and then one that was there before."""

    def __init__(self, r) -> None:
        self.r, self.used = r, ["a"]

    def key(self) -> str:
        if self.r.below(24) == 0:
            return self.r.choose(self.used)
        self.used.append(f"k{len(self.used)}")
        name = self.used[-1]
        return self.r.choose([name, name, f'"{name}"', f"'{name}'", f'"{name}\\t"', f"-_{name}"])

    def path(self) -> str:
        dot = self.r.choose([".", ".", " . ", "\t."])
        return dot.join(self.key() for _ in self.r.more(1, 3, continues=0.3))


def line(r, names: Names) -> str:
    indent = r.choose(BLANKS)
    match r.below(12):
        case 0:
            return f"{indent}[{r.choose(BLANKS)}{names.path()}{r.choose(BLANKS)}]{comment(r)}"
        case 1:
            # Tables of an array share a name, and may have tables below.
            name = r.choose(["t", "t", "t.u", "t.u.v", names.path()])
            return r.choose([f"[[{name}]]", f"[[{name}]]", f"[{name}.{names.key()}]"]) + comment(r)
        case 2:
            return indent + comment(r)
        case _:
            blank = r.choose([" ", "", "\t"])
            return f"{indent}{names.path()}{blank}={blank}{value(r, names, 3)}{comment(r)}"


def comment(r) -> str:
    return r.choose(["", "", "", "", " ", " # c", "#é"])


def value(r, names: Names, depth: int) -> str:
    match r.below(10):
        case 0 | 1 if depth > 0:
            return array(r, names, depth - 1)
        case 2 | 3 if depth > 0:
            pairs = [f"{names.path()} = {value(r, names, depth - 1)}" for _ in r.more(0, 3)]
            return f"{{{r.choose(BLANKS)}{', '.join(pairs)}{r.choose(BLANKS)}}}"
        case 4:
            return '"' + "".join(r.choose(ESCAPES) for _ in r.more(0, 5)) + '"'
        case 5:
            return '"""' + "".join(r.choose(LONG) for _ in r.more(0, 5)) + '"""'
        case 6:
            return "'''" + "".join(r.choose(RAW) for _ in r.more(0, 5)) + "'''"
        case 7:
            return "'" + r.text('a\\"é #', 0, 4) + "'"
        case 8:
            return moment(r)
        case _:
            return r.choose(ODD) if r.below(32) == 0 else number(r)


def number(r) -> str:
    sign = r.choose(["", "", "+", "-"])
    match r.below(6):
        case 0:
            return r.choose(WORDS)
        case 1:
            return "0x" + digits(r, "0123456789abcdefABCDEF")
        case 2:
            return r.choose(["0o" + digits(r, "01234567"), "0b" + digits(r, "01")])
        case 3:
            return f"{sign}{decimal(r)}.{digits(r)}{r.choose(['', 'e' + sign + digits(r)])}"
        case 4:
            return f"{sign}{decimal(r)}{r.choose('eE')}{r.choose(['', '+', '-'])}{digits(r)}"
        case _:
            return sign + decimal(r)


def decimal(r) -> str:
    return r.choose("123456789") + r.choose(["", digits(r)])


def digits(r, which: str = "0123456789") -> str:
    text = "".join(
        r.choose(which) + r.choose(["", "", "", "_"]) for _ in r.more(1, 6, continues=0.5)
    )
    return text.rstrip("_")


def moment(r) -> str:
    day = f"{r.integer(1, 9999):04}-{r.integer(1, 12):02}-{r.integer(1, 29):02}"
    time = f"{r.integer(0, 23):02}:{r.integer(0, 59):02}:{r.integer(0, 60) % 60:02}"
    if r.below(3) == 0:
        time += "." + r.text("0123456789", 1, 8)
    zone = r.choose(
        ["", "", "Z", "z", f"{r.choose('+-')}{r.integer(0, 23):02}:{r.integer(0, 59):02}"]
    )
    return r.choose([day, time, day + r.choose("Tt ") + time + zone])


def array(r, names: Names, depth: int) -> str:
    gap = r.choose(["", "", " ", "\n  ", " # c\n"])
    items = [value(r, names, depth) for _ in r.more(0, 4)]
    end = r.choose(["", "", ","]) if items else ""
    return f"[{gap}{(',' + gap).join(items)}{end}{gap}]"
