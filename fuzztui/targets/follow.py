"""One module's part of the graph: its expressions and statements, each by its kind of node."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fuzztui.targets.definitions import Condition, Function, Scope
from fuzztui.targets.graph import NOTHING
from fuzztui.targets.places import Key, key, span
from fuzztui.targets.types import is_telling

if TYPE_CHECKING:
    from fuzztui.targets.flow import Flow

__all__ = ["ModuleFlow"]

_NARROWING = frozenset({"isinstance", "issubclass"})


class ModuleFlow:
    """One module's part of the graph."""

    def __init__(self, flow: Flow, module: str, scope: Scope) -> None:
        self.conditions: dict[Key, Condition] = {}
        self._flow, self._graph = flow, flow.graph
        self._module, self._scope = module, scope
        self._names = flow.types.names.get(module, {})
        self._referents = flow.types.referents.get(module, {})
        self._function: Function | None = None
        self._nodes: dict[ast.AST, int] = {}
        self._tests: list[list[int]] = []
        """Operands of the conditions around, outermost first, within the function."""
        self._raised = self._graph.add()
        """What decides whether something around the place is raised."""

    # ------------------------------------------------------------------- nodes

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
        """Full names of what an expression refers to, beyond variables of functions."""
        if isinstance(node, ast.Name):
            scope = self._scope.find(node.id)
            if scope is not None and scope.prefix + node.id in self._flow.functions:
                return (scope.prefix + node.id,)
        return self._referents.get(span(node), ())

    # -------------------------------------------------------------- expressions

    def expr(self, node: ast.expr) -> int:
        """The node of an expression; everything in it is added once."""
        if node not in self._nodes:
            visit = getattr(self, f"_{type(node).__name__}", self._other)
            self._nodes[node] = visit(node)
        return self._nodes[node]

    def _other(self, node: ast.expr) -> int:
        return self._made_of(node, ast.iter_child_nodes(node))

    def _Constant(self, node: ast.Constant) -> int:
        return NOTHING

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
        # One node for all places where the variable has those types.
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
            iterated = self.expr(g.iter)
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
        if not certain or classes:
            self._links(at, [receiver, *given])
            self._links(self._raised, [at], 0)
            self._hand_over(at, node, [receiver, *given])
        if not certain and not classes:
            self._call_value(at, node.func, given)
        by_name = isinstance(node.func, ast.Name) and node.func.id == "getattr"
        if by_name and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
            self._flow.dynamic = True
        if isinstance(node.func, ast.Name) and node.func.id in _NARROWING:
            self._links(at, [c for argument in node.args[1:] for c in self._classes(argument)])
        return at

    def _call_value(self, at: int, function: ast.expr, given: list[int]) -> None:
        """What is called is a value: it may be any function that is not called by its name."""
        meant = self._meant(function)
        if not meant and isinstance(function, ast.Attribute):
            self._graph.link(at, self._flow.read(function.attr))
        elif not meant or any(map(self._flow.is_ours, meant)):
            self._graph.link(at, self.expr(function))
            self._links(self._flow.unknown, given)

    def _callees(self, node: ast.expr) -> tuple[list[Function], bool]:
        """The application's functions that may be called, and whether there are no others."""
        if isinstance(node, ast.Lambda):
            self.expr(node)
            return [self._flow.of_node[node]], True
        meant = self._meant(node)
        found = [f for name in meant for f in self._flow.meant(name) if not f.is_property]
        if not meant and isinstance(node, ast.Attribute):
            return self._flow.namesakes(node.attr), False
        return list({f.number: f for f in found}.values()), bool(found)

    def _is_class(self, node: ast.expr) -> bool:
        """Is a method looked up in the class itself?"""
        return isinstance(node, ast.Attribute) and any(
            name in self._flow.types.classes for name in self._meant(node.value)
        )

    def _enter(self, at: int, f: Function, bindings: list[tuple[int, int]]) -> None:
        self._graph.call(at, f.result, bindings)
        self._graph.call(self._raised, f.raised, bindings)

    def _bind(
        self, f: Function, node: ast.Call, receiver: int, bound: bool
    ) -> list[tuple[int, int]]:
        """Parameters and what a call gives for them."""
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
        """A call of a class: its constructor, or else its fields in their order."""
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
        """A library calls the functions that it is given, with what else it is given."""
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
        """Nodes for the classes that an expression names."""
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
        """The values that a condition is about; of ``and`` and ``or``, those of all parts."""
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
            self.expr(node)
            return [self.expr(part) for part in [node.left, *node.comparators]]
        return [self.expr(node)]

    def _links(self, node: int, to: Iterable[int], cost: int = 1) -> None:
        for other in to:
            self._graph.link(node, other, cost)

    def _decided(self, node: int) -> None:
        """The value is there because of the conditions around."""
        if self._flow.control:
            for tests in self._tests:
                self._links(node, tests)

    @contextmanager
    def _under(self, tests: list[int]) -> Iterator[None]:
        self._tests.append(tests)
        yield
        self._tests.pop()

    # --------------------------------------------------------------- statements

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

    def _returned(self, value: ast.expr | None) -> None:
        at = self.expr(value) if value is not None else NOTHING
        if self._function is not None:
            self._graph.link(self._function.result, at, 0)
            self._decided(self._function.result)

    def _Return(self, node: ast.Return) -> None:
        self._returned(node.value)

    def _Raise(self, node: ast.Raise) -> None:
        outer, self._raised = self._raised, self._graph.add()  # making an exception raises none
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
            if not functions:  # a library's, whose value nobody wants: it changes the receiver
                self._assign(call.func.value, at, 0)

    def _Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._unpack(target, node.value)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._unpack(node.target, node.value)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self._assign(node.target, self.expr(node.value), 1)

    def _unpack(self, target: ast.expr, value: ast.expr) -> None:
        """Assign; parts of a tuple to parts of a tuple."""
        both = isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
        if both and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            for part, of in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                self._unpack(part, of)
        else:
            self._assign(target, self.expr(value), 0)

    def _assign(self, target: ast.expr, value: int, cost: int) -> None:
        """The target's node depends on the value; a constant, on the condition around."""
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._assign(part, value, cost + 1)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value, cost)
        elif isinstance(target, ast.Subscript):
            self._links(self._value(target), [self.expr(target.value)])
            for stored in (value, self.expr(target.slice)):
                self._assign(target.value, stored, cost + 1)
        elif isinstance(target, ast.Name | ast.Attribute):
            for node in self._stores(target, value):
                self._graph.link(node, value, cost)
                if value == NOTHING and self._flow.control and self._tests:
                    self._links(node, self._tests[-1])

    def _stores(self, target: ast.Name | ast.Attribute, value: int) -> list[int]:
        """The nodes that an assignment changes."""
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

    # ------------------------------------------------------- compound statements

    def _If(self, node: ast.If) -> None:
        with self._under(self._decides(key(node), self._operands(node.test))):
            self.block(node.body)
            self.block(node.orelse)

    _While = _If

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self.expr(node.iter)
        self._assign(node.target, iterated, 1)
        with self._under(self._decides(key(node), [iterated])):
            self.block(node.body)
            self.block(node.orelse)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.expr(item.context_expr)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value, 0)
        self.block(node.body)

    _AsyncWith = _With

    def _Try(self, node: ast.Try) -> None:
        raised = self._graph.add(owner=self._owner())
        outer, self._raised = self._raised, raised
        self.block(node.body)
        self._raised = outer
        self._graph.link(outer, raised, 0)  # a handler may not be of that exception
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
