"""The captured graph under NumPy, placed at the user's files, lines and functions.

Used by the runtime when a kernel saw a floating-point or integer condition, and as the `eager` backend. NumPy then issues
its own warnings and raises its own exceptions; they carry the user's file, line, function name and module. A statement
that came from an inlined function runs in a function of its own, called where the user's program calls it, so that
tracebacks show every frame.
"""

from __future__ import annotations

import ast
import math
import sys
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

Frame = tuple[str, int, str]  # file, line, qualified name of the function
_MATH = SimpleNamespace(**vars(math))  # its own functions, whatever a program has put into the module since


def _put_on_line(tree: ast.AST, line: int) -> None:
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]


def _named(function: FunctionType, qualified_name: str) -> FunctionType:
    name = qualified_name.rpartition(".")[2]
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=qualified_name)
    return function


def globals_of_file(file: str) -> dict[str, Any] | None:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType) and vars(module).get("__file__") == file:
            return vars(module)
    return None


def names_of_warnings(module: dict[str, Any] | None) -> dict[str, Any]:
    """What code that stands for lines of a module must have in its globals for filters such as "once per location" to work."""
    if module is None:
        return {}
    registry = module.setdefault("__warningregistry__", {})
    return {"__name__": module.get("__name__", "suture_graph"), "__warningregistry__": registry}


class Replay:
    """A function from the inputs of the compiled graph to the tuple of its outputs, compiled when it is first needed.

    driver/replay.cpp calls `forward()(*arguments(inputs))`.

    source      module text that defines `forward`
    frames      per source line the user's frames it stands for, outermost first; empty where there is none
    count       number of placeholders; further inputs only carry symbols
    symbols     (input, axis) per trailing symbol parameter of `forward`; axis -1: the input is the int itself
    user_globals  globals of the user's function, or None
    numpy       NumPy's own functions by name: a program may have replaced attributes of the module
    """

    __slots__ = (
        "_count",
        "_forward",
        "_frames",
        "_main",
        "_namespaces",
        "_numpy",
        "_source",
        "_symbols",
        "_user_globals",
    )

    def __init__(
        self,
        source: str,
        frames: list[list[Frame]],
        count: int,
        symbols: list[tuple[int, int]],
        user_globals: dict[str, Any] | None,
        numpy: dict[str, Any],
    ) -> None:
        self._source, self._frames = source, frames
        self._count, self._symbols, self._user_globals = count, symbols, user_globals
        self._numpy = numpy
        self._main: Frame = next((line[0] for line in frames if line), ("<suture graph>", 1, "forward"))
        self._namespaces: dict[str, dict[str, Any]] = {}
        self._forward: Any = None

    def forward(self) -> Any:
        """The plain function, compiled now if it was not yet."""
        if self._forward is None:
            self._forward = self._compile()
        return self._forward

    def arguments(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        symbols = tuple(inputs[i] if axis < 0 else inputs[i].shape[axis] for i, axis in self._symbols)
        return inputs[: self._count] + symbols

    def _compile(self) -> FunctionType:
        definition = next(node for node in ast.parse(self._source).body if isinstance(node, ast.FunctionDef))
        main_file, first_line, name = self._main
        variables = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)} - {"np", "math"}
        body, line = [], first_line
        for statement in definition.body:
            frames = self._frames[statement.lineno - 1] or [(main_file, line, name)]
            # What follows in the graph may stand higher in the file (the test of a while loop).
            line = frames[0][1]
            body.append(self._placed(statement, frames, variables))
        _put_on_line(definition.args, first_line)
        definition.lineno = definition.end_lineno = first_line
        definition.body = body
        return self._defined(definition, main_file, name)

    def _placed(self, statement: ast.stmt, frames: list[Frame], variables: set[str]) -> ast.stmt:
        """The statement as it stands in the outermost of its frames: itself, or a call of the next frame."""
        if len(frames) > 1:
            inner: ast.stmt = statement
            has_value = isinstance(statement, ast.Return) or (
                isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
            )
            if isinstance(statement, ast.Assign) and has_value:
                inner = ast.copy_location(ast.Return(statement.value), statement)
            used = {node.id for node in ast.walk(inner) if isinstance(node, ast.Name)} & variables
            function = self._function(sorted(used), self._placed(inner, frames[1:], variables), frames[1])
            key = f"frame {len(self._namespace(frames[0][0]))}"  # no name the source can use
            self._namespace(frames[0][0])[key] = function
            call = ast.Call(ast.Name(key, ast.Load()), [ast.Name(name, ast.Load()) for name in sorted(used)], [])
            if isinstance(statement, ast.Assign) and has_value:
                statement = ast.Assign(statement.targets, call)
            else:
                statement = ast.Return(call) if has_value else ast.Expr(call)
            ast.fix_missing_locations(statement)
        _put_on_line(statement, frames[0][1])
        return statement

    def _function(self, parameters: list[str], statement: ast.stmt, frame: Frame) -> FunctionType:
        text = f"def frame({', '.join(parameters)}): pass"
        definition = ast.parse(text).body[0]
        assert isinstance(definition, ast.FunctionDef)
        _put_on_line(definition, frame[1])
        definition.body = [statement]
        return self._defined(definition, frame[0], frame[2])

    def _defined(self, definition: ast.FunctionDef, file: str, name: str) -> FunctionType:
        made: dict[str, Any] = {}
        exec(compile(ast.Module([definition], []), file, "exec"), self._namespace(file), made)
        return _named(made[definition.name], name)

    def _namespace(self, file: str) -> dict[str, Any]:
        """Globals for code of that file. Filters such as "once per location" work on the registry and name of its module."""
        if file not in self._namespaces:
            own = file == self._main[0] and self._user_globals is not None
            module = self._user_globals if own else globals_of_file(file)
            namespace: dict[str, Any] = {"np": SimpleNamespace(**self._numpy), "math": _MATH}
            self._namespaces[file] = namespace | names_of_warnings(module)
        return self._namespaces[file]
