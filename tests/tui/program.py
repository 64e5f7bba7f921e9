"""A little program to be mutated: the mutants of ``mutated.py`` lie in these lines."""


def is_digit(ch):
    return "0" <= ch <= "9"


class Parser:
    """Reads numbers and lists of them."""

    def __init__(self, text, pos=0):
        self.text = text
        self.pos = pos + 0
        self.depth = 0

    def number(self):
        value = 0
        while self.pos < len(self.text) and is_digit(self.text[self.pos]):
            value = value * 10 + int(self.text[self.pos])
            self.pos += 1
        return value

    def items(self):
        found = []
        self.depth += 1
        if self.depth > 100:
            raise ValueError("too deep")
        while self.pos < len(self.text):
            found.append(self.number())
            if not self.text.startswith(",", self.pos):
                break
            self.pos += 1
        self.depth -= 1
        return found
