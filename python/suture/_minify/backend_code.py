"""The body of make_backend() in a repro file: how a process of its own gets a backend that the user's program made.

    a built-in name, or one from an entry point   nothing is needed
    a function of an imported module              an import of it
    a function of the program itself              its source, with the imports and definitions of the file that it uses (importing
                                                  the program would run it again); where modules beside the program are found, and
                                                  the program's arguments, if that source uses them
    anything else                                 a line that says what to put there

The source is taken from the file by its syntax tree; names are followed through the file's top level, nothing is evaluated but
the cells of a closure, which must hold literals.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import sys
import sysconfig
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from suture import _backends

_TO_REPLACE = "raise LookupError"
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
        return _line_to_replace(name, error)


def code_at(name: str, place: dict[str, Any], command: Sequence[str]) -> str:
    """The same for a function that a process which is gone told of: its module, qualname, file and line. `command`: the process's."""
    try:
        if place["module"] != "__main__" and "<" not in place["qualname"]:
            return _import_line(place["module"], place["qualname"], place["file"])
        where = _Place(place["file"], place["line"], place["qualname"].rpartition(".")[2])
        return _source_at(where, {}, {}, _arguments(place["file"], command))
    except (_NoSource, OSError, SyntaxError, ValueError, RecursionError) as error:
        return _line_to_replace(name, error)


def code_of_the_untold(name: str) -> str:
    """The same for a process that is gone and told of no function; "" when the name is enough."""
    known = _backends.is_reserved(name) or name in _backends.list_backends()
    return "" if known else _line_to_replace(name, _NoSource("it is no function whose source is known"))


def _line_to_replace(name: str, why: Exception) -> str:
    reason = f"backend '{name}': {why}; return it here"
    return f"{_TO_REPLACE}({reason!r})"


def missing_source(code: str) -> str:
    """Why the user has to put the backend into a file with this make_backend(), or its body; "" when it is there."""
    statements: list[ast.stmt] = ast.parse(code).body
    if statements and isinstance(statements[0], ast.FunctionDef) and statements[0].name == "make_backend":
        statements = statements[0].body
    if not statements or not ast.unparse(statements[0]).startswith(_TO_REPLACE + "("):
        return ""
    words = [node.value for node in ast.walk(statements[0]) if isinstance(node, ast.Constant)]
    return str(words[0]) if words else "its source is not in the file"


def _code_for(backend: Callable[..., Any]) -> str:
    if type(backend) is not FunctionType:  # isinstance() would ask a __class__ of the program's
        raise _NoSource(f"{_backends.name_of_type(type(backend))} objects have no source")
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
    if file and not is_installed_file(file):
        lines[:0] = ["import sys", "", f"sys.path.insert(0, {_root_of(module, file)!r})"]
    return "\n".join(lines)


def _root_of(module: str, file: str) -> str:
    """The directory from which a module is imported."""
    root = os.path.dirname(os.path.abspath(file))
    for _ in range(module.count(".") + (os.path.basename(file) == "__init__.py")):
        root = os.path.dirname(root)
    return root


def is_installed_file(file: str) -> bool:
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
    place = _Place(code.co_filename, code.co_firstlineno, code.co_name, arguments)
    return _source_at(place, known, _cells(function), sys.argv)


def _arguments(file: str, command: Sequence[str]) -> list[str]:
    """sys.argv of `python ... FILE words`; empty when the command does not name the file."""
    words = list(command)
    named = [index for index, word in enumerate(words) if index and os.path.basename(word) == os.path.basename(file)]
    return words[named[0] :] if named else []


def _source_at(place: _Place, known: dict[str, str], cells: dict[str, str], arguments: list[str]) -> str:
    """`known`: globals that are literals now, whatever they were assigned from. `cells`: what a function inside of another one
    takes from that, as literals. `arguments`: sys.argv of the program."""
    with tokenize.open(place.file) as file:
        text = file.read()
    tree = ast.parse(text)
    body = _body(text, tree, _node_at(tree, place), place.name, _Needed(text, tree, known), cells)
    return "\n\n".join([*_surroundings(body, os.path.dirname(os.path.abspath(place.file)), arguments), *body])


def _body(
    text: str, tree: ast.Module, node: ast.FunctionDef | ast.Lambda, name: str, needed: _Needed, cells: dict[str, str]
) -> list[str]:
    if node in tree.body:
        needed.use_name(name)
        return [*needed.sources(), f"return {name}"]
    needed.use(node, skip=set(cells))
    parts = [*needed.sources(), *(f"{cell} = {literal}" for cell, literal in cells.items())]
    if isinstance(node, ast.Lambda):
        return [*parts, f"return {_segment(text, node)}"]
    return [*parts, _segment(text, node), f"return {name}"]


def _surroundings(body: list[str], directory: str, arguments: list[str]) -> list[str]:
    """What the process that runs the body must have as the program had it. `directory`: that of the program."""
    nodes = [node for part in body for node in ast.walk(ast.parse(part))]
    roots = dict.fromkeys(root for name in modules_imported(nodes) if (root := _root_to_add(name, directory)))
    lines = [f"sys.path.insert(0, {root!r})" for root in reversed(roots)]
    if arguments and any(_names_arguments(node) for node in nodes):
        lines.append(f"sys.argv = {arguments!r}")
    return ["import sys", *lines] if lines else []


def _names_arguments(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "argv") or (
        isinstance(node, ast.alias) and node.name == "argv"
    )


def modules_imported(nodes: Iterable[ast.AST]) -> list[str]:
    """The packages at the top of what is imported."""
    nodes = list(nodes)
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return [name.partition(".")[0] for name in names]


def _root_to_add(module: str, directory: str) -> str:
    """The directory from which a module is imported that a new process would not find; "" for others."""
    if module in sys.builtin_module_names or module == __name__.partition(".")[0]:
        return ""
    # The program's own directory counts also when this process is not the program.
    spec = importlib.machinery.PathFinder.find_spec(module, [directory, *sys.path])
    if spec is None:
        return ""
    if spec.origin is None:  # a package without __init__.py
        found = [os.path.abspath(place) for place in spec.submodule_search_locations or ()]
        return os.path.dirname(found[0]) if found and not is_installed_file(found[0]) else ""
    return "" if is_installed_file(spec.origin) else _root_of(module, spec.origin)


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
