"""suture.guard_functions: the guards of compiled functions as Python functions.

They are printed from the records that the compiled guards walk (src/guard/guard_python), so they answer alike; a file that
holds one imports nothing but the standard library and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture import _core


class GuardFunction:
    """Whether one entry of a compiled function serves a call.

    Called with the arguments of a call it answers as the compiled guards do, and runs none of the program's code.
    `name` ("__guard_0_for_f"), `compile_id` ("0/0"), `source` (a module that defines it), `objects` (what the module's `_K`
    holds: objects that a file cannot), `check` (the function itself: bound arguments, globals, closure, function -> bool).
    """

    def __init__(self, compiled: Any, row: _core.GuardFunctionRow) -> None:
        self.name, self.compile_id, self.source = row["name"], row["compile_id"], row["text"]
        self.objects = row["objects"]
        self._compiled, self._function = compiled, row["function"]
        self.check = bind(self.source, self.name, self.objects)

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        bound = _core.bound_arguments(self._compiled, args, kwargs)
        function = self._function
        return bool(self.check(*bound, function.__globals__, function.__closure__ or (), function))

    def __repr__(self) -> str:
        return f"<guards {self.name} of compile {self.compile_id}>"


def bind(source: str, name: str, objects: list[Any]) -> Callable[..., bool]:
    """The function `name` of the module `source`, with its table of objects filled."""
    file = f"<{name}>"
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(source, file, "exec"), namespace)
    if objects:
        namespace["_K"][:] = objects
    function: Callable[..., bool] = namespace[name]
    return function


def guard_functions(compiled: Any) -> list[GuardFunction]:
    """The guards of every entry of a compiled function, and of the resume and iteration functions that it made, in order
    of compilation. TypeError for anything else."""
    if not _core.is_compiled(compiled):
        raise TypeError(
            f"suture.guard_functions takes a function compiled by suture.compile, not {type(compiled).__name__}"
        )
    return [GuardFunction(row["compiled"], row) for row in _core.guard_functions(compiled)]
