"""Names of a program that are copies of something simpler: what each of their uses could say instead.

    n = np                          n.maximum(x, y)   np.maximum(x, y)
    a, b = x, 3                     a + b             x + 3
    import numpy as np              n.sin(x)          np.sin(x)
    import numpy as n

A copy is a name that its scope binds once, by an assignment of a name, of attributes of a name, or of a constant, or by an import of what
an earlier name is as well. Whether the program still does the same is not asked here: `y = x` is a copy although `x` may be bound
again before `y` is read.
Invariants
    - What stands for a copy is bound before it, or is no copy itself: replacing again and again comes to an end.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))


@dataclass(eq=False)
class _Scope:
    """
    bound   name -> how often it is bound here
    copies  name -> what it was given, and the number of that among all copies of the program
    """

    outer: _Scope | None
    is_class: bool = False
    bound: dict[str, int] = field(default_factory=dict)
    copies: dict[str, tuple[ast.expr, int]] = field(default_factory=dict)

    def owner(self, name: str) -> _Scope | None:
        """Where a use in this scope finds the name; None: nowhere, a builtin."""
        scope: _Scope | None = self
        while scope is not None and (name not in scope.bound or (scope.is_class and scope is not self)):
            scope = scope.outer
        return scope


def uses(tree: ast.Module) -> Iterator[tuple[ast.Name, ast.expr]]:
    """(use of a copy, what it could say instead), in the order of the program."""
    reader = _Reader()
    reader.visit(tree)
    for name, scope in reader.uses:
        if (value := reader.value_of(name.id, scope)) is not None:
            yield name, copy.deepcopy(value)


def _root(value: ast.expr) -> str | None:
    """The name that an expression of attributes begins with."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None


def _on(value: ast.expr, root: ast.expr) -> ast.expr:
    """The same attributes of something else."""
    return ast.Attribute(_on(value.value, root), value.attr, value.ctx) if isinstance(value, ast.Attribute) else root


def _is_simple(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, _CONSTANTS)
    return _root(value) is not None


class _Reader(ast.NodeVisitor):
    """Scopes, bindings and uses. Names that are declared `global` or `nonlocal` anywhere are no copies: who binds them is elsewhere."""

    def __init__(self) -> None:
        self._scope = _Scope(None)
        self._declared: set[str] = set()
        self._imported: dict[tuple[str | int | None, ...], list[tuple[str, _Scope]]] = {}
        self._copies = 0
        self.uses: list[tuple[ast.Name, _Scope]] = []

    def value_of(self, name: str, scope: _Scope) -> ast.expr | None:
        """What stands for a copy; never another copy that was bound before it. None: it is none."""
        owner = scope.owner(name)
        if owner is None or not self._is_copy(name, owner):
            return None
        value, number = owner.copies[name]
        root = _root(value)
        source = owner.owner(root) if root else None
        if root is None or source is None or not self._is_copy(root, source):
            return value
        if source.copies[root][1] >= number:
            return None
        earlier = self.value_of(root, source)
        return None if earlier is None else _on(value, earlier)

    def _is_copy(self, name: str, scope: _Scope) -> bool:
        return name in scope.copies and scope.bound[name] == 1 and name not in self._declared

    # --- what binds and what uses ---

    def _bind(self, name: str | None) -> None:
        if name is not None:
            self._scope.bound[name] = self._scope.bound.get(name, 0) + 1

    def _copy(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            if len(target.elts) == len(value.elts) and not any(isinstance(e, ast.Starred) for e in value.elts):
                for each, given in zip(target.elts, value.elts, strict=True):
                    self._copy(each, given)
        elif isinstance(target, ast.Name) and _is_simple(value):
            self._copies += 1
            self._scope.copies[target.id] = value, self._copies

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self._copy(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if node.value is not None:
            self._copy(node.target, node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.uses.append((node, self._scope))
        else:
            self._bind(node.id)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._import(alias.asname or top, alias.name if alias.asname else top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._import(alias.asname or alias.name, node.level, node.module, alias.name)

    def _import(self, name: str, *what: str | int | None) -> None:
        """The earliest name of the same thing is what this one could be."""
        self._bind(name)
        earlier = self._imported.setdefault(what, [])
        for other, scope in earlier:
            if other != name and scope.bound[other] == 1 and self._scope.owner(other) is scope:
                self._copies += 1
                self._scope.copies[name] = ast.Name(other, ast.Load()), self._copies
                return
        earlier.append((name, self._scope))

    def visit_Global(self, node: ast.Global) -> None:
        self._declared.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._declared.update(node.names)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self.generic_visit(node)

    # --- scopes ---

    def _inside(self, parts: Sequence[ast.AST], parameters: Sequence[ast.arg] = (), is_class: bool = False) -> None:
        outer, self._scope = self._scope, _Scope(self._scope, is_class)
        for parameter in parameters:
            self._bind(parameter.arg)
        for part in parts:
            self.visit(part)
        self._scope = outer

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name)
        for each in (*node.decorator_list, node.args, *([node.returns] if node.returns else [])):
            self.visit(each)
        self._inside(node.body, _parameters(node.args))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self._inside([node.body], _parameters(node.args))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bind(node.name)
        for each in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(each)
        self._inside(node.body, is_class=True)

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self._inside(list(ast.iter_child_nodes(node)))

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _visit_comprehension


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*given, *(each for each in (arguments.vararg, arguments.kwarg) if each is not None)]
