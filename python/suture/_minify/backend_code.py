"""The body of make_backend() in a repro file: how a process of its own gets a backend that the user's program made.

    a built-in name, or one from an entry point   nothing is needed
    a function of an imported module              an import of it
    a function of the program itself              its source, with the imports and definitions of the file that it uses; importing
                                                  the program would run it again
    anything else                                 a line that says what to put there

The source is taken from the file by its syntax tree; names are followed through the file's top level, nothing is evaluated but
the cells of a closure, which must hold literals.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
import sysconfig
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from suture import _backends

_LONGEST_LITERAL = 4096
_LITERAL_TYPES = (int, float, str, bytes, bool, type(None), tuple, list, dict, set)


class _NoSource(Exception):
    """Says why the source of a backend cannot be written down."""


def name_for(name: str, code: str) -> str:
    """The name under which a file makes its backend known: a function may be called as a built-in one is."""
    return f"{name}_of_the_program" if code and _backends.is_reserved(name) else name


def code_for(name: str, backend: Callable[..., Any] | None) -> str:
    """ "" when the name is enough."""
    if backend is None or _backends.is_installed(name, backend):
        return ""
    try:
        return _code_for(backend)
    except (_NoSource, OSError, SyntaxError, ValueError, RecursionError) as error:
        reason = f"backend '{name}': {error}; return it here"
        return f"raise LookupError({reason!r})"


def code_at(name: str, place: dict[str, Any]) -> str:
    """The same for a function that a process which is gone told of: its module, qualname, file and line."""
    try:
        if place["module"] != "__main__" and "<" not in place["qualname"]:
            return _import_line(place["module"], place["qualname"], place["file"])
        return _source_at(_Place(place["file"], place["line"], place["qualname"].rpartition(".")[2]), {}, {})
    except (_NoSource, OSError, SyntaxError, ValueError, RecursionError) as error:
        reason = f"backend '{name}': {error}; return it here"
        return f"raise LookupError({reason!r})"


def _code_for(backend: Callable[..., Any]) -> str:
    if not isinstance(backend, FunctionType):
        raise _NoSource(f"{type(backend).__qualname__} objects have no source")
    if backend.__module__ != "__main__" and _is_reachable(backend):
        return _import_of(backend)
    return _source_of(backend)


def _is_reachable(function: FunctionType) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _import_of(function: FunctionType) -> str:
    file = getattr(sys.modules[function.__module__], "__file__", None)
    return _import_line(function.__module__, function.__qualname__, file)


def _import_line(module: str, qualname: str, file: str | None) -> str:
    lines = [f"from {module} import {qualname.partition('.')[0]}", "", f"return {qualname}"]
    if file and not _is_installed_file(file):
        root = os.path.dirname(os.path.abspath(file))
        for _ in range(module.count(".") + (os.path.basename(file) == "__init__.py")):
            root = os.path.dirname(root)
        lines[:0] = ["import sys", "", f"sys.path.insert(0, {root!r})"]
    return "\n".join(lines)


def _is_installed_file(file: str) -> bool:
    places = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    return any(os.path.abspath(file).startswith(place + os.sep) for place in places if place)


# --- a function of the program itself --------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where a function is written; `arguments` tells lambdas of one line apart."""

    file: str
    line: int
    name: str
    arguments: tuple[str, ...] | None = None


def _source_of(function: FunctionType) -> str:
    code = function.__code__
    known = {name: text for name, value in function.__globals__.items() if (text := _literal(value))}
    arguments = code.co_varnames[: code.co_argcount]
    return _source_at(_Place(code.co_filename, code.co_firstlineno, code.co_name, arguments), known, _cells(function))


def _source_at(place: _Place, known: dict[str, str], cells: dict[str, str]) -> str:
    """`known`: globals that are literals now, whatever they were assigned from. `cells`: what a function inside of another one
    takes from that, as literals."""
    with tokenize.open(place.file) as file:
        text = file.read()
    tree = ast.parse(text)
    node = _node_at(tree, place)
    needed = _Needed(text, tree, known)
    if node in tree.body:
        needed.use_name(place.name)
        return "\n\n".join([*needed.sources(), f"return {place.name}"])
    needed.use(node, skip=set(cells))
    parts = [*needed.sources(), *(f"{cell} = {literal}" for cell, literal in cells.items())]
    if isinstance(node, ast.Lambda):
        return "\n\n".join([*parts, f"return {_segment(text, node)}"])
    return "\n\n".join([*parts, _segment(text, node), f"return {place.name}"])


def _node_at(tree: ast.Module, place: _Place) -> ast.FunctionDef | ast.Lambda:
    kind = ast.Lambda if place.name == "<lambda>" else ast.FunctionDef
    found = [node for node in ast.walk(tree) if isinstance(node, kind) and _first_line(node) == place.line]
    found = [node for node in found if isinstance(node, ast.Lambda) or node.name == place.name]
    if place.arguments is not None:
        found = [node for node in found if _positional(node) == place.arguments]
    if len(found) != 1:
        raise _NoSource(f"its source is not found at {place.file}:{place.line}")
    return found[0]


def _positional(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    return tuple(argument.arg for argument in [*node.args.posonlyargs, *node.args.args])


def _first_line(node: ast.AST) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])  # type: ignore[attr-defined]


def _cells(function: FunctionType) -> dict[str, str]:
    cells: dict[str, str] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        text = _literal(cell.cell_contents)
        if not text:
            raise _NoSource(f"it uses {name} of the function around it, which is no literal")
        cells[name] = text
    return cells


def _literal(value: Any) -> str:
    """Text that gives the value back; "" where there is none."""
    if type(value) not in _LITERAL_TYPES:
        return ""
    try:
        text = repr(value)
        return text if len(text) < _LONGEST_LITERAL and ast.literal_eval(text) == value else ""
    except Exception:
        return ""


def _segment(text: str, node: ast.AST) -> str:
    """The source of a statement with its decorators, at column 0; of an expression as it stands."""
    if isinstance(node, ast.expr):
        return ast.get_source_segment(text, node) or ""
    lines = text.splitlines()[_first_line(node) - 1 : node.end_lineno]  # type: ignore[attr-defined]
    return textwrap.dedent("\n".join(lines))


class _Needed:
    """The top-level statements of a file that some names come from, and the names these use in turn."""

    def __init__(self, text: str, tree: ast.Module, known: dict[str, str]) -> None:
        self._text, self._tree, self._known = text, tree, known
        self._taken: set[int] = set()
        self._seen: set[str] = set(dir(builtins))

    def use(self, node: ast.AST, skip: set[str]) -> None:
        self._seen |= skip
        for name in _names_read(node):
            self.use_name(name)

    def use_name(self, name: str) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        for index, statement in enumerate(self._tree.body):
            if name in _names_bound(statement) and index not in self._taken:
                self._taken.add(index)
                if self._known_value(statement) is None:
                    self.use(statement, set())

    def _known_value(self, statement: ast.stmt) -> str | None:
        """ "how = 'fast'" for an assignment to one name that holds a literal now."""
        if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return None
        names = _names_bound(statement)
        name = next(iter(names), "")
        return f"{name} = {self._known[name]}" if len(names) == 1 and name in self._known else None

    def sources(self) -> Iterator[str]:
        for index in sorted(self._taken):
            statement = self._tree.body[index]
            yield self._known_value(statement) or _segment(self._text, statement)


def _names_read(node: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]


def _names_bound(statement: ast.stmt) -> set[str]:
    """Names that the statement, or one inside an `if` or `try` of it, binds at the top level. A main block is not looked into."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return {
            each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
    if isinstance(statement, ast.If) and "__name__" not in _names_read(statement.test):
        return set().union(*(_names_bound(inner) for inner in [*statement.body, *statement.orelse]))
    if isinstance(statement, ast.Try):
        handlers = [inner for handler in statement.handlers for inner in handler.body]
        return set().union(*(_names_bound(inner) for inner in [*statement.body, *handlers, *statement.orelse]))
    return set()
