"""Jinja2: a template in a sandbox, with its extensions, rendered with the same context."""

import re

from jinja2 import DictLoader
from jinja2.sandbox import SandboxedEnvironment, SecurityError

TEMPLATES = {
    "base": "<{% block title %}t{% endblock %}|{% block body scoped %}{% endblock %}>",
    "macros": "{% macro field(name, size=20) %}{{ name }}:{{ size }}{{ caller() if caller }}"
    "{% endmacro %}{% set version = 3 %}",
}
CONTEXT = {
    "users": [{"name": "Ann", "age": 31, "tags": ["a", "b"]}, {"name": "<Bo>", "age": 4}],
    "title": "a Title & more",
    "n": 7,
    "none": None,
}


class Sandbox(SandboxedEnvironment):
    """Without products and powers that take long in C, where they cannot be interrupted."""

    intercepted_binops = frozenset(["*", "**"])

    def call_binop(self, context, operator, left, right):
        if any(not isinstance(of, (int, float)) or abs(of) > 999 for of in (left, right)):
            raise SecurityError("too large")
        return super().call_binop(context, operator, left, right)


ENVIRONMENT = Sandbox(
    autoescape=True,
    line_statement_prefix="%%",
    line_comment_prefix="##",
    loader=DictLoader(TEMPLATES),
    extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols", "jinja2.ext.i18n"],
)
ENVIRONMENT.install_null_translations()
del ENVIRONMENT.filters["random"], ENVIRONMENT.globals["lipsum"]


def render(text: str) -> str:
    text = ENVIRONMENT.from_string(text).render(CONTEXT)
    return re.sub("0x[0-9a-f]+", "0x", text)  # addresses of objects
