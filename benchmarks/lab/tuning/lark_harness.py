"""lark: a grammar for small programs, by Earley and by LALR, as trees."""

from lark import Lark

GRAMMAR = r"""
start: statement*
statement: NAME "=" expression ";" -> assign
    | "if" expression block ("else" block)? -> choice
    | "while" expression block -> loop
    | expression ";"
block: "{" statement* "}"
?expression: expression "+" term -> add | expression "-" term -> sub | term
?term: term "*" factor -> mul | term "/" factor -> div | factor
?factor: NUMBER -> number | NAME -> name | STRING -> string | "-" factor -> neg
    | "(" expression ")" | NAME "(" [expression ("," expression)*] ")" -> call
%import common.CNAME -> NAME
%import common.NUMBER
%import common.ESCAPED_STRING -> STRING
%import common.WS
%ignore WS
"""
LALR = Lark(GRAMMAR, parser="lalr", propagate_positions=True)
EARLEY = Lark(GRAMMAR, parser="earley")


def parse(text: str) -> list[object]:
    tree = LALR.parse(text)
    found: list[object] = [tree.pretty(), tree.meta.__dict__.get("end_pos")]
    if len(text) < 24:  # Earley takes up to a thousand times as long
        found.append(EARLEY.parse(text).pretty())
    return found
