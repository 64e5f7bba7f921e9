"""The first pass: follow values through the statements and expressions of each module.

Operators, indices, loops and ``with`` call methods implicitly: ``a + b`` is a call of ``__add__``,
one step of computation, if mypy says that ``a`` may be an instance of one of the application's
classes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from fuzztui.features.targeting.analysis.definitions import (
    Condition,
    Function,
    Key,
    NameScope,
    key,
    span,
)
from fuzztui.features.targeting.analysis.flow import Flow
from fuzztui.features.targeting.analysis.graph import NOTHING
from fuzztui.features.targeting.analysis.overlay import RETURN
from fuzztui.features.targeting.analysis.types import Types, is_telling

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_UNARY = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}
_COMPARED = {
    ast.Eq: ("__eq__", "__eq__"), ast.NotEq: ("__ne__", "__ne__"), ast.Lt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"), ast.Gt: ("__gt__", "__lt__"), ast.GtE: ("__ge__", "__le__"),
}  # fmt: skip
"""The left operand's method, and the right operand's if the left class has none."""
_BUILTINS = {
    "len": "__len__", "bool": "__bool__", "str": "__str__", "repr": "__repr__", "int": "__int__",
    "float": "__float__", "bytes": "__bytes__", "hash": "__hash__", "abs": "__abs__",
    "iter": "__iter__", "next": "__next__",
}  # fmt: skip
_NARROWING = frozenset({"isinstance", "issubclass"})


def first_pass(
    trees: dict[str, ast.Module],
    types: Types,
    *,
    given: dict[tuple[str, str], tuple[str, ...]] | None = None,
    entry: str = "",
) -> Flow:
    """Return the graph of an application, and the operands of its decisions.

    ``trees`` by module; ``given``: known types by full name of a function, and parameter;
    ``entry``: full name of the function that is called with the input.
    """
    flow = Flow(trees, types)
    for name, tree in trees.items():
        module = _ModuleFlow(flow, name, flow.scopes[tree])
        try:
            module.block(tree.body)
        except RecursionError:
            flow.notes.append(f"{name}: nested too deeply for the analysis, so incomplete")
        flow.conditions[name] = module.conditions
    for (function, parameter), names in sorted((given or {}).items()):
        for f in flow.functions.get(function, []):
            at = f.result if parameter == RETURN else f.named.get(parameter)
            if at is not None:
                flow.graph.types[at] = tuple(sorted({*flow.graph.types[at], *names}))
    for f in flow.of_node.values():
        by_value = f.number in flow.values or (flow.dynamic and f.bound)
        if by_value and f.name != entry and not flow.graph.is_called(f.result):
            for formal in f.formals:
                flow.graph.link(formal, flow.unknown)
    flow.graph.summarise()
    return flow


class _ModuleFlow:
    """Adds one module to the graph: each statement, expression by the method of its node class."""

    def __init__(self, flow: Flow, module: str, scope: NameScope) -> None:
        self.conditions: dict[Key, Condition] = {}
        self._flow, self._graph = flow, flow.graph
        self._module, self._scope = module, scope
        self._names = flow.types.names.get(module, {})
        self._referents = flow.types.referents.get(module, {})
        self._function: Function | None = None
        self._nodes: dict[ast.AST, int] = {}
        self._asked: set[int] = set()
        """Nodes computed by special methods of the application."""
        self._tests: list[list[int]] = []
        """Operands of the conditions around, outermost first, within the function."""
        self._raised = self._graph.add()
        """Node of what decides whether an exception is raised here."""

    def _owner(self) -> int:
        return self._function.number if self._function else -1

    def _value(self, node: ast.AST) -> int:
        """A new node for an expression's value."""
        return self._graph.add(self._names.get(span(node), ()), self._owner())

    def _made_of(self, node: ast.AST, parts: Iterable[ast.AST | None], cost: int = 1) -> int:
        made = self._value(node)
        for part in parts:
            if isinstance(part, ast.expr):
                self._graph.link(made, self.expr(part), cost)
        return made

    def _variable(self, name: str) -> int:
        scope = self._scope.find(name)
        if scope is None:
            return self._flow.shared(f"{self._module}.{name}")
        full = scope.prefix + name
        if scope.owner < 0:
            return self._flow.attribute(full) if scope.is_class else self._flow.shared(full)
        if scope.owner != self._owner():
            return self._flow.shared(full)  # of a function around
        return self._graph.named(full, owner=scope.owner)

    def _meant(self, node: ast.expr) -> tuple[str, ...]:
        """Return full names of what an expression refers to, except local variables."""
        if isinstance(node, ast.Name):
            scope = self._scope.find(node.id)
            if scope is not None and scope.prefix + node.id in self._flow.functions:
                return (scope.prefix + node.id,)
        return self._referents.get(span(node), ())

    def expr(self, node: ast.expr) -> int:
        """Return the node of an expression; add it, with its parts, if it is new."""
        if node not in self._nodes:
            visit = getattr(self, f"_{type(node).__name__}", self._other)
            self._nodes[node] = visit(node)
        return self._nodes[node]

    def _other(self, node: ast.expr) -> int:
        return self._made_of(node, ast.iter_child_nodes(node))

    def _Constant(self, node: ast.Constant) -> int:
        return NOTHING

    def _links(self, node: int, to: Iterable[int], cost: int = 1) -> None:
        for other in to:
            self._graph.link(node, other, cost)

    def _is_class(self, node: ast.expr) -> bool:
        """Whether a method is looked up in the class itself."""
        return isinstance(node, ast.Attribute) and any(
            name in self._flow.types.classes for name in self._meant(node.value)
        )

    def _enter(self, at: int, f: Function, bindings: list[tuple[int, int]]) -> None:
        self._graph.call(at, f.result, bindings)
        self._graph.call(self._raised, f.raised, bindings)

    # -------------------------------------------------------------- expressions

    def _Name(self, node: ast.Name) -> int:
        scope = self._scope.find(node.id)
        at = self._variable(node.id)
        self._flow.values |= {f.number for f in self._callees(node)[0]}
        if scope is None or scope.owner < 0:
            for name in self._meant(node):
                if self._flow.is_ours(name) and name != f"{self._module}.{node.id}":
                    self._graph.link(at, self._flow.shared(name), 0)
        types = self._names.get(span(node), ())
        if not types:
            return at
        # One node for all uses of the variable with these types.
        use = self._graph.named(f"{at} as {'|'.join(types)}", types, self._owner())
        self._graph.link(use, at, 0)
        return use

    def _Attribute(self, node: ast.Attribute) -> int:
        value = self.expr(node.value)
        at = self._value(node)
        self._graph.link(at, value)
        meant = self._referents.get(span(node))
        if meant is None:
            self._graph.link(at, self._flow.read(node.attr))
        for name in meant or ():
            functions = self._flow.meant(name)
            for f in functions:
                if f.is_property:
                    self._enter(at, f, [(f.positional[0], value)] if f.positional else [])
                else:
                    self._graph.enter(at, f.result)
                    self._flow.values.add(f.number)
            if not functions and self._flow.is_ours(name):
                self._graph.link(at, self._flow.attribute(name))
        return at

    def _BoolOp(self, node: ast.BoolOp) -> int:
        self._operands(node)
        return self._made_of(node, node.values, 0)

    def _IfExp(self, node: ast.IfExp) -> int:
        at = self._made_of(node, [node.body, node.orelse], 0)
        self._links(at, self._decides(key(node), self._operands(node.test)))
        return at

    def _NamedExpr(self, node: ast.NamedExpr) -> int:
        value = self.expr(node.value)
        self._assign(node.target, value, 0)
        return value

    def _Await(self, node: ast.Await) -> int:
        return self._made_of(node, [node.value], 0)

    def _Starred(self, node: ast.Starred) -> int:
        return self.expr(node.value)

    def _Yield(self, node: ast.Yield | ast.YieldFrom) -> int:
        self._returned(node.value)
        return self._value(node)

    def _YieldFrom(self, node: ast.YieldFrom) -> int:
        return self._made_of(node, [node.value]) if self._Yield(node) else NOTHING

    def _Lambda(self, node: ast.Lambda) -> int:
        f = self._flow.of_node[node]
        self._defaults(f)
        with self._inside(f):
            self._graph.link(f.result, self.expr(node.body), 0)
        at = self._graph.add(owner=self._owner())
        self._graph.enter(at, f.result)
        self._flow.values.add(f.number)
        return at

    def _comprehension(self, node: ast.expr, parts: Sequence[ast.expr]) -> int:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        at = self._value(node)
        tests: list[int] = []
        for g in generators:
            iterated = self._iterated(g.iter)
            self._assign(g.target, iterated, 1)
            self._graph.link(at, iterated)
            tests += [operand for test in g.ifs for operand in self._operands(test)]
        for part in parts:
            self._graph.link(at, self.expr(part))
        self._links(at, self._decides(key(node), tests))
        return at

    def _ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> int:
        return self._comprehension(node, [node.elt])

    _SetComp = _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> int:
        return self._comprehension(node, [node.key, node.value])

    # ---------------------------------------------------------------- operators

    def _special(
        self, at: int, node: ast.expr, methods: str | tuple[str, ...], *given: int
    ) -> bool:
        """Add a call at ``at`` of the first of ``methods`` that the object has; False if none."""
        methods = (methods,) if isinstance(methods, str) else methods
        found: dict[int, Function] = {}
        for name in self._flow.types.instances.get(self._module, {}).get(span(node), ()):
            special = (self._flow.special(name, method) for method in methods)
            found |= {f.number: f for f in next(filter(None, special), [])}
        for f in found.values():
            values = [self.expr(node), *given]
            self._enter(at, f, list(zip(f.positional, values, strict=False)))
        if found:
            self._asked.add(at)
        return bool(found)

    def _BinOp(self, node: ast.BinOp) -> int:
        at = self._other(node)
        self._binary(at, node.left, node.op, node.right)
        return at

    def _binary(self, at: int, left: ast.expr, op: ast.operator, right: ast.expr) -> bool:
        name = _BINARY[type(op)]
        return self._special(at, left, f"__{name}__", self.expr(right)) or self._special(
            at, right, f"__r{name}__", self.expr(left)
        )

    def _in_place(self, node: ast.AugAssign) -> int:
        """Return the node of the value that ``+=`` and similar operators assign."""
        target, value = node.target, self.expr(node.value)
        at = self._graph.add(owner=self._owner())
        in_place = f"__i{_BINARY[type(node.op)]}__"
        found = self._special(at, target, in_place, value) or self._binary(
            at, target, node.op, node.value
        )
        if not found:
            return value
        self._graph.link(at, value, 0)
        return at

    def _UnaryOp(self, node: ast.UnaryOp) -> int:
        at = self._other(node)
        if isinstance(node.op, ast.Not):
            self._truth(at, node.operand)
        else:
            self._special(at, node.operand, _UNARY[type(node.op)])
        return at

    def _truth(self, at: int, node: ast.expr) -> bool:
        return self._special(at, node, ("__bool__", "__len__"))

    def _Compare(self, node: ast.Compare) -> int:
        at = self._other(node)
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                self._special(at, right, ("__contains__", "__iter__"), self.expr(left))
            elif type(op) in _COMPARED:
                asked, other = _COMPARED[type(op)]
                of_left = self._special(at, left, asked, self.expr(right))
                if not of_left and asked == "__ne__":  # of a class that only defines ``==``
                    of_left = self._special(at, left, "__eq__", self.expr(right))
                if not of_left:
                    self._special(at, right, other, self.expr(left))
            left = right
        return at

    def _Subscript(self, node: ast.Subscript) -> int:
        at = self._other(node)
        self._special(at, node.value, "__getitem__", self.expr(node.slice))
        return at

    def _builtin(self, at: int, node: ast.Call) -> None:
        """Add a call of a builtin that calls a special method of its argument."""
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS and node.args:
            self._special(at, node.args[0], _BUILTINS[node.func.id])

    def _iterated(self, node: ast.expr) -> int:
        """Return the node of an iterable, on which its elements depend."""
        at = self.expr(node)
        made = self._graph.add(owner=self._owner())
        found = self._special(made, node, ("__iter__", "__aiter__", "__getitem__"))
        found |= self._special(made, node, ("__next__", "__anext__"))
        if not found:
            return at
        self._graph.link(made, at, 0)
        return made

    def _entered(self, node: ast.expr) -> int:
        """Return the node of the value that ``with`` binds; its exit may raise."""
        at = self.expr(node)
        made = self._graph.add(owner=self._owner())
        end = self._graph.add(owner=self._owner())
        self._special(end, node, ("__exit__", "__aexit__"), NOTHING, NOTHING, NOTHING)
        if not self._special(made, node, ("__enter__", "__aenter__")):
            return at
        self._graph.link(made, at, 0)
        return made

    # -------------------------------------------------------------------- calls

    def _Call(self, node: ast.Call) -> int:
        at = self._value(node)
        given = [self.expr(a) for a in [*node.args, *(k.value for k in node.keywords)]]
        receiver = self.expr(node.func.value) if isinstance(node.func, ast.Attribute) else NOTHING
        functions, certain = self._callees(node.func)
        for f in functions:
            bound = f.bound and (f.is_class_method or not self._is_class(node.func))
            self._enter(at, f, self._bind(f, node, receiver, bound))
        classes = [name for name in self._meant(node.func) if name in self._flow.types.ancestors]
        for name in classes:
            self._construct(at, name, node)
        if not certain or classes or all(f.is_stub for f in functions):
            self._links(at, [receiver, *given])
            self._links(self._raised, [at], 0)
            self._hand_over(at, node, [receiver, *given])
        if not certain and not classes:
            self._call_value(at, node.func, given)
        self._builtin(at, node)
        by_name = isinstance(node.func, ast.Name) and node.func.id == "getattr"
        if by_name and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
            self._flow.dynamic = True
        if isinstance(node.func, ast.Name) and node.func.id in _NARROWING:
            self._links(at, [c for argument in node.args[1:] for c in self._classes(argument)])
        return at

    def _call_value(self, at: int, function: ast.expr, given: list[int]) -> None:
        """Add a call of a value, which may be any function that is used as a value."""
        meant = self._meant(function)
        if not meant and isinstance(function, ast.Attribute):
            self._graph.link(at, self._flow.read(function.attr))
        elif not meant or any(map(self._flow.is_ours, meant)):
            self._graph.link(at, self.expr(function))
            self._links(self._flow.unknown, given)

    def _callees(self, node: ast.expr) -> tuple[list[Function], bool]:
        """Return the application's functions that may be called, and whether these are all."""
        if isinstance(node, ast.Lambda):
            self.expr(node)
            return [self._flow.of_node[node]], True
        meant = self._meant(node)
        found = [f for name in meant for f in self._flow.meant(name) if not f.is_property]
        if not meant and isinstance(node, ast.Attribute):
            return self._flow.namesakes(node.attr), False
        return list({f.number: f for f in found}.values()), bool(found)

    def _bind(
        self, f: Function, node: ast.Call, receiver: int, bound: bool
    ) -> list[tuple[int, int]]:
        """Return pairs of parameters and arguments of a call."""
        pairs = [(f.positional[0], receiver)] if bound else []
        left = f.positional[bound:]
        starred = False
        for argument in node.args:
            given = self.expr(argument)
            starred |= isinstance(argument, ast.Starred)
            if left and not starred:
                pairs.append((left.pop(0), given))
            else:
                pairs += [(formal, given) for formal in [*left, *f.rest]]
        for keyword in node.keywords:
            given = self.expr(keyword.value)
            if keyword.arg is None:
                pairs += [(formal, given) for formal in f.formals]
            elif keyword.arg in f.named:
                pairs.append((f.named[keyword.arg], given))
            else:
                pairs += [(formal, given) for formal in f.rest]
        return pairs

    def _construct(self, at: int, name: str, node: ast.Call) -> None:
        """Add a call of a class: of its constructor, or else assignments to its fields."""
        constructors = self._flow.constructors(name)
        for f in constructors:
            self._enter(at, f, self._bind(f, node, NOTHING, True))
        if constructors:
            return
        fields = self._flow.fields_of(name)
        for field, argument in zip(fields, node.args, strict=False):
            self._graph.link(self._flow.attribute(field), self.expr(argument))
        by_name = {field.rpartition(".")[2]: field for field in fields}
        for keyword in node.keywords:
            if keyword.arg in by_name:
                attribute = self._flow.attribute(by_name[keyword.arg])
                self._graph.link(attribute, self.expr(keyword.value))

    def _hand_over(self, at: int, node: ast.Call, given: list[int]) -> None:
        """Assume that a library calls the functions among its arguments with the others."""
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if not isinstance(argument, ast.Name | ast.Attribute | ast.Lambda):
                continue
            functions, certain = self._callees(argument)
            if certain:
                own = self.expr(argument)
                for f in functions:
                    others = [value for value in given if value != own]
                    self._enter(at, f, [(p, value) for p in f.formals for value in others])

    def _classes(self, node: ast.expr) -> list[int]:
        """Return nodes for the classes that an expression names."""
        if isinstance(node, ast.Tuple):
            return [c for element in node.elts for c in self._classes(element)]
        if isinstance(node, ast.BinOp):
            return [*self._classes(node.left), *self._classes(node.right)]
        names = [n for n in self._meant(node) if n in self._flow.types.classes and is_telling(n)]
        return [self._graph.named(f"class {name}", (name,)) for name in names]

    # --------------------------------------------------------------- conditions

    def _decides(self, branch: Key, operands: list[int]) -> list[int]:
        self.conditions[branch] = Condition(operands, self._function)
        return operands

    def _operands(self, node: ast.expr) -> list[int]:
        """Return a condition's operands; of ``and`` and ``or``, those of all parts."""
        if isinstance(node, ast.BoolOp):
            found: list[int] = []
            for n, value in enumerate(node.values):
                if n:
                    self._decides(("operand", span(value)), list(found))
                found += self._operands(value)
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._operands(node.operand)
        if isinstance(node, ast.Compare):
            return [*self._answers(node), *map(self.expr, [node.left, *node.comparators])]
        truth = self._graph.add(owner=self._owner())
        return [self.expr(node), *[truth] * self._truth(truth, node)]

    def _answers(self, node: ast.Compare) -> list[int]:
        """Return the result of the operands' own methods; [] if they have none."""
        at = self.expr(node)
        return [at] if at in self._asked else []

    def _decided(self, node: int) -> None:
        """Let a value depend on the conditions around it."""
        for tests in self._tests:
            self._links(node, tests)

    def _returned(self, value: ast.expr | None) -> None:
        at = self.expr(value) if value is not None else NOTHING
        if self._function is not None:
            self._graph.link(self._function.result, at, 0)
            self._decided(self._function.result)

    # --------------------------------------------------------------- functions

    @contextmanager
    def _inside(self, f: Function) -> Iterator[None]:
        outer = self._function, self._scope, self._tests, self._raised
        self._function, self._scope = f, self._flow.scopes[f.node]
        self._tests, self._raised = [], f.raised
        yield
        self._function, self._scope, self._tests, self._raised = outer

    def _defaults(self, f: Function) -> None:
        args = f.node.args
        plain = [*args.posonlyargs, *args.args]
        pairs = [
            *zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ]
        for parameter, default in pairs:
            if default is not None:
                self._graph.link(f.named[parameter.arg], self.expr(default), 0)

    # -------------------------------------------------------------- assignments

    def _assign(self, target: ast.expr, value: int, cost: int) -> None:
        """Let the target depend on the value; for a constant, on the condition around."""
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._assign(part, value, cost + 1)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value, cost)
        elif isinstance(target, ast.Subscript):
            at = self._value(target)
            self._links(at, [self.expr(target.value)])
            self._special(at, target.value, "__setitem__", self.expr(target.slice), value)
            for stored in (value, self.expr(target.slice)):
                self._assign(target.value, stored, cost + 1)
        elif isinstance(target, ast.Name | ast.Attribute):
            for node in self._stores(target, value):
                self._graph.link(node, value, cost)
                if value == NOTHING and self._tests:
                    self._links(node, self._tests[-1])

    def _stores(self, target: ast.Name | ast.Attribute, value: int) -> list[int]:
        """Return the nodes that an assignment changes."""
        if isinstance(target, ast.Name):
            return [self._variable(target.id)]
        self.expr(target.value)
        meant = self._referents.get(span(target))
        if meant is None:
            return [self._flow.stored(target.attr)]
        for name in meant:
            for f in self._flow.functions.get(name, []):  # a property's setter
                pairs = [(formal, value) for formal in f.formals]
                self._enter(self._graph.add(owner=self._owner()), f, pairs)
        return [self._flow.attribute(name) for name in meant if self._flow.is_ours(name)]

    # --------------------------------------------------------------- statements

    @contextmanager
    def _under(self, tests: list[int]) -> Iterator[None]:
        self._tests.append(tests)
        yield
        self._tests.pop()

    def block(self, body: Iterable[ast.stmt]) -> None:
        """Add statements."""
        for node in body:
            visit = getattr(self, f"_{type(node).__name__}", self._plain)
            visit(node)

    def _plain(self, node: ast.stmt) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expr(child)

    def _Import(self, node: ast.stmt) -> None:
        pass

    _ImportFrom = _Global = _Nonlocal = _TypeAlias = _Import

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        f = self._flow.of_node[node]
        for decorator in node.decorator_list:
            self.expr(decorator)
        self._defaults(f)
        self._graph.enter(self._variable(node.name), f.result)
        with self._inside(f):
            self.block(node.body)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        for part in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self.expr(part)
        outer, self._scope = self._scope, self._flow.scopes[node]
        self.block(node.body)
        self._scope = outer

    def _Return(self, node: ast.Return) -> None:
        self._returned(node.value)

    def _Raise(self, node: ast.Raise) -> None:
        outer, self._raised = self._raised, self._graph.add()  # making it does not count as raising
        self._plain(node)
        self._raised = outer
        self._decided(self._raised)

    def _Assert(self, node: ast.Assert) -> None:
        self._links(self._raised, self._operands(node.test))
        self._plain(node)

    def _Expr(self, node: ast.Expr) -> None:
        at = self.expr(node.value)
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            functions, _ = self._callees(call.func)
            if not functions:  # a library's method whose value is unused changes the receiver
                self._assign(call.func.value, at, 0)

    def _Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._unpack(target, node.value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._unpack(node.target, node.value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self._assign(node.target, self._in_place(node), 1)

    def _unpack(self, target: ast.expr, value: ast.expr) -> None:
        """Assign a value; elements of a tuple to elements of a tuple."""
        both = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
        if both and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            for part, of in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                self._unpack(part, of)
        else:
            self._assign(target, self.expr(value), 0)

    # ------------------------------------------------------- compound statements

    def _If(self, node: ast.If) -> None:
        with self._under(self._decides(key(node), self._operands(node.test))):
            self.block(node.body)
            self.block(node.orelse)

    _While = _If

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self._iterated(node.iter)
        self._assign(node.target, iterated, 1)
        with self._under(self._decides(key(node), [iterated])):
            self.block(node.body)
            self.block(node.orelse)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self._entered(item.context_expr)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value, 0)
        self.block(node.body)

    _AsyncWith = _With

    def _Try(self, node: ast.Try) -> None:
        raised = self._graph.add(owner=self._owner())
        outer, self._raised = self._raised, raised
        self.block(node.body)
        self._raised = outer
        self._graph.link(outer, raised, 0)  # the handlers may not match
        with self._under(self._decides(key(node), [raised])):
            for handler in node.handlers:
                if handler.type is not None:
                    self.expr(handler.type)
                if handler.name:
                    self._graph.link(self._variable(handler.name), raised)
                self.block(handler.body)
            self.block(node.orelse)
        self.block(node.finalbody)

    _TryStar = _Try

    def _Match(self, node: ast.Match) -> None:
        subject = self.expr(node.subject)
        by_class = self._graph.add(owner=self._owner())
        tests = self._decides(key(node), [subject, by_class])
        for case in node.cases:
            self._pattern(case.pattern, subject, by_class)
            if case.guard is not None:
                tests += self._operands(case.guard)
            with self._under(tests):
                self.block(case.body)

    def _pattern(self, pattern: ast.pattern, subject: int, by_class: int) -> None:
        if isinstance(pattern, ast.MatchValue):
            self._graph.link(by_class, self.expr(pattern.value), 0)
        elif isinstance(pattern, ast.MatchClass):
            self._links(by_class, self._classes(pattern.cls))
        for name in ("name", "rest"):
            if captured := getattr(pattern, name, None):
                self._graph.link(self._variable(captured), subject)
        for child in ast.iter_child_nodes(pattern):
            if isinstance(child, ast.pattern):
                self._pattern(child, subject, by_class)
