"""The graph of an application, its functions and attributes by name.

III-B, "Variable Dependency Pass": uses depend on definitions, parameters on arguments, calls on
returned values; the result of a library's function depends on receiver and arguments. In addition
to the paper, a returned value depends on the conditions under which it is returned, because helpers
may return ``True`` or ``False``.

A variable is one node in its function at all times (variables of comprehensions belong to the
function around); an attribute is one node for its class, for all objects.
"""

from __future__ import annotations

import ast

from fuzztui.features.targeting.analysis.definitions import (
    Condition,
    Function,
    FunctionNode,
    Key,
    NameScope,
    binds,
    define,
    own_nodes,
    parameters,
)
from fuzztui.features.targeting.analysis.graph import Graph
from fuzztui.features.targeting.analysis.types import Types

_MAX_NAMESAKES = 8
"""Maximum number of methods, or attributes, considered for a name on an object of unknown type."""


class Flow:
    """The graph of an application, and the operands of its decisions."""

    def __init__(self, trees: dict[str, ast.Module], types: Types) -> None:
        """``trees`` by module."""
        self.graph = Graph()
        self.types = types
        self.conditions: dict[str, dict[Key, Condition]] = {}
        """Conditions by module and position of the decision."""
        self.functions: dict[str, list[Function]] = {}
        """Functions by full name; several if a name is defined more than once."""
        self.of_node: dict[ast.AST, Function] = {}
        self.scopes: dict[ast.AST, NameScope] = {}
        self.fields: dict[str, list[str]] = {}
        """Annotated names in the bodies of classes."""
        self._methods: dict[str, list[Function]] = {}
        self._own_methods: dict[str, dict[str, None]] = {}
        self._attributes: dict[str, set[str]] = {}
        self._overriding: dict[str, list[Function]] = {}
        self._modules = frozenset(trees)
        self.values: set[int] = set()
        """Numbers of the functions that are used as values."""
        self.dynamic = False
        """Whether ``getattr`` is called with names computed at run time."""
        self.unknown = self.shared("?")
        """The node that stands for arguments of calls whose callee is unknown."""
        self.notes: list[str] = []
        """Messages about modules that are left out."""
        for name, tree in trees.items():
            self._define(tree, NameScope(f"{name}.", -1, binds(tree.body)[0]))
        self._inherit()

    # ----------------------------------------------------------- what there is

    def _define(self, node: ast.AST, scope: NameScope) -> None:
        """Add functions and classes below a node that has a scope."""
        self.scopes[node] = scope
        body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
        for item in body:
            for child in [item, *(() if _is_scope(item) else own_nodes(item))]:
                if isinstance(child, ast.ClassDef):
                    self._define_class(child, scope)
                elif isinstance(child, FunctionNode):
                    self._define_function(child, scope)
                if _is_scope(child):  # decorators, bases and defaults belong to this scope
                    for part in _head(child):
                        for inner in [part, *own_nodes(part)]:
                            if isinstance(inner, ast.Lambda):
                                self._define_function(inner, scope)

    def _define_class(self, node: ast.ClassDef, scope: NameScope) -> None:
        name = scope.prefix + node.name
        bound, elsewhere = binds(node.body)
        self._define(node, NameScope(f"{name}.", -1, bound, scope, True, elsewhere))
        self.fields[name] = [
            s.target.id
            for s in node.body
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        ]
        for attribute in sorted(bound):
            self._attributes.setdefault(attribute, set()).add(f"{name}.{attribute}")

    def _define_function(self, node: FunctionNode, scope: NameScope) -> None:
        if node in self.of_node:
            return
        last = getattr(node, "name", f"<lambda {node.lineno}:{node.col_offset}>")
        name = scope.prefix + last
        number = len(self.of_node)
        prefix = f"{name}@{node.lineno}:"
        f = define(self.graph, number, name, node, prefix, in_class=scope.is_class)
        self.of_node[node] = f
        self.functions.setdefault(name, []).append(f)
        if scope.is_class:
            self._methods.setdefault(last, []).append(f)
            self._own_methods.setdefault(scope.prefix[:-1], {})[last] = None
        bound, elsewhere = binds(node.body if isinstance(node.body, list) else [])
        bound |= {a.arg for a in parameters(node.args)}
        self._define(node, NameScope(prefix, number, bound, scope, False, elsewhere))

    def _inherit(self) -> None:
        for name, ancestors in sorted(self.types.ancestors.items()):
            for last in self._own_methods.get(name, []):
                own = self.functions[f"{name}.{last}"]
                for ancestor in ancestors[1:]:
                    self._overriding.setdefault(f"{ancestor}.{last}", []).extend(own)

    # ----------------------------------------------------------------- look-ups

    def shared(self, name: str) -> int:
        """Return the node of a global, an attribute, or another name that all functions share."""
        node = self.graph.named(name)
        self.graph.shared.add(node)
        return node

    def is_ours(self, name: str) -> bool:
        """Whether a full name belongs to a module of the application."""
        while name:
            name = name.rpartition(".")[0]
            if name in self._modules:
                return True
        return False

    def meant(self, name: str) -> list[Function]:
        """Return the functions of a full name, and those that override them."""
        return [*self.functions.get(name, []), *self._overriding.get(name, [])]

    def special(self, name: str, method: str) -> list[Function]:
        """Return a special method of a class, and those that override it; [] if none."""
        for ancestor in self.types.ancestors.get(name, ()):
            if found := self.meant(f"{ancestor}.{method}"):
                return found
        return []

    def namesakes(self, name: str) -> list[Function]:
        """Return the methods of a name, if there are at most ``_MAX_NAMESAKES``."""
        methods = self._methods.get(name, [])
        return methods if len(methods) <= _MAX_NAMESAKES else []

    def constructors(self, name: str) -> list[Function]:
        """Return the nearest ``__init__`` and ``__new__`` of a class."""
        found: list[Function] = []
        for method in ("__init__", "__new__"):
            for ancestor in self.types.ancestors.get(name, (name,)):
                if functions := self.functions.get(f"{ancestor}.{method}"):
                    found += functions
                    break
        return found

    def fields_of(self, name: str) -> list[str]:
        """Return full names of the annotated fields of a class, in a dataclass's order."""
        fields: dict[str, str] = {}
        for ancestor in reversed(self.types.ancestors.get(name, (name,))):
            for attribute in self.fields.get(ancestor, []):
                fields[attribute] = f"{ancestor}.{attribute}"
        return list(fields.values())

    def stored(self, name: str) -> int:
        """Return the node of an attribute written to an object of unknown type."""
        return self.shared(f"?stored.{name}")

    def attribute(self, full: str) -> int:
        """Return the node of a class's attribute, linked to writes to objects of unknown type."""
        node = self.shared(full)
        last = full.rpartition(".")[2]
        self.graph.link(node, self.stored(last))
        self._attributes.setdefault(last, set()).add(full)
        return node

    def read(self, name: str) -> int:
        """Return the node of an attribute read from an object of unknown type."""
        node = self.shared(f"?read.{name}")
        self.graph.link(node, self.stored(name), 0)
        classes = self._attributes.get(name, set())
        if len(classes) <= _MAX_NAMESAKES:
            for full in sorted(classes):
                self.graph.link(node, self.shared(full))
        return node


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, FunctionNode | ast.ClassDef)


def _head(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a function or class that are evaluated at its definition."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    args: ast.arguments = node.args  # type: ignore[attr-defined]
    defaults = [*args.defaults, *filter(None, args.kw_defaults)]
    return [*getattr(node, "decorator_list", []), *defaults]
