"""The captured graph under NumPy, placed at the user's file and lines.

Used by the runtime when a kernel saw a floating-point or integer condition, and as the `eager` backend. NumPy then issues
its own warnings and raises its own exceptions; they carry the user's file, line, function name and module.
"""

from __future__ import annotations

import ast
from typing import Any


def _place(tree: ast.AST, lines: list[int]) -> None:
    """Gives every node of the generated source the user's line; lines without one inherit the line before."""
    first = next((line for line in lines if line), 1)
    for node in ast.walk(tree):
        generated = getattr(node, "lineno", None)
        if generated is not None:
            # One line per node: what follows in the graph may stand higher in the file (the test of a while loop).
            line = lines[generated - 1] if generated <= len(lines) else 0
            node.lineno = node.end_lineno = line or first  # type: ignore[attr-defined]
        if hasattr(node, "col_offset"):
            node.col_offset = 0
            node.end_col_offset = 0


class Replay:
    """Callable: inputs of the compiled graph -> tuple of its outputs. The source is compiled at the first call.

    source      module text that defines `forward`
    lines       user line per source line; 0 where there is none
    count       number of placeholders; further inputs only carry symbols
    symbols     (input, axis) per trailing symbol parameter of `forward`; axis -1: the input is the int itself
    user_globals  globals of the user's function, or None
    """

    __slots__ = ("_count", "_file", "_forward", "_function", "_lines", "_source", "_symbols", "_user_globals")

    def __init__(
        self,
        source: str,
        file: str,
        lines: list[int],
        function: str,
        count: int,
        symbols: list[tuple[int, int]],
        user_globals: dict[str, Any] | None,
    ) -> None:
        self._source, self._file, self._lines, self._function = source, file, lines, function
        self._count, self._symbols, self._user_globals = count, symbols, user_globals
        self._forward: Any = None

    def forward(self) -> Any:
        """The plain function, compiled now if it was not yet."""
        if self._forward is None:
            self._forward = self._compile()
        return self._forward

    def _compile(self) -> Any:
        import numpy

        tree = ast.parse(self._source)
        _place(tree, self._lines)
        namespace: dict[str, Any] = {"np": numpy, "numpy": numpy}
        if self._user_globals is not None:
            # Filters such as "once per location" work on the registry and name of the module that runs the code.
            namespace["__name__"] = self._user_globals.get("__name__", "suture_graph")
            namespace["__warningregistry__"] = self._user_globals.setdefault("__warningregistry__", {})
        exec(compile(tree, self._file, "exec"), namespace)
        forward = namespace["forward"]
        name = self._function.rpartition(".")[2]
        forward.__code__ = forward.__code__.replace(co_name=name, co_qualname=self._function)
        return forward

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        symbols = [inputs[i] if axis < 0 else inputs[i].shape[axis] for i, axis in self._symbols]
        return self.forward()(*inputs[: self._count], *symbols)
