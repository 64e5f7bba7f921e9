"""A reader for the reference on a payment slip. There is a bug in it, behind a check character.

::

    check:1  "C" customer:1-6 digits  items...        blanks mean nothing, 25 characters at most
    item:  "A" cents: an article | "D" percent: off the last | "V": the last one is void
           "S": summed up | "M" cents: what was summed up has a mean of at least that

One of 31 references has the right check character: a fuzzer that has come a step further in
here nearly always fails at the door. Mutants of the door let it in, and some of the references
that it makes there are right by chance.
"""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 25
CHECKS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
MAX_DIGITS = 6


class SlipError(Exception):
    """This is no reference of ours."""


def checked(text: str) -> str:
    """What is behind the check character, which is that modulo 31."""
    number = 0
    for c in text[1:]:
        number = number * 36 + int(c, 36)
    if text[0] != CHECKS[number % 31]:
        raise SlipError("wrong check character")
    return text[1:]


def fields(text: str) -> Iterator[tuple[str, int]]:
    """Each letter with the number behind it, -1 if there is none."""
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and text[end].isdigit():
            end += 1
        if text[at].isdigit() or end - at - 1 > MAX_DIGITS:
            raise SlipError("no field")
        yield text[at], int(text[at + 1 : end] or -1)
        at = end


def total(text: str) -> int:
    """What the slip asks for, in cents."""
    text = text.replace(" ", "").upper()
    if not 3 <= len(text) <= LONGEST or not (text.isascii() and text.isalnum()):
        raise SlipError("not 3 to 25 letters and digits")
    found = fields(checked(text))
    if next(found)[0] != "C":
        raise SlipError("no customer")
    articles: list[int] = []
    bought = summed = False
    for letter, number in found:
        if letter == "A" and number > 0:
            articles.append(number)
            bought, summed = True, False
        elif letter == "V" and articles:
            articles.pop()
            summed = False
        elif letter == "D" and articles and 0 < number < 100:
            articles[-1] -= articles[-1] * number // 100
            summed = False
        elif letter == "S":
            summed = True
        elif letter == "M" and bought and summed:
            if sum(articles) // len(articles) < number:
                raise SlipError("another mean")
        else:
            raise SlipError(f"field {letter} is wrong or out of place")
    return sum(articles)
