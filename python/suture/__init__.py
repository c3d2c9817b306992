"""Suture compiles ordinary NumPy functions as they run and tells at every step what it did and why.

    import suture

    @suture.compile
    def f(x, n): ...

    suture.explain(f)(x, 3)      # what was compiled, what was not, and why
    SUTURE_LOGS=graph_breaks     # the same as a log
    suture check program.py      # a whole program, examined

Importing this package loads the extension module and what every compile needs; every tool is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The first compile may run in one thread while another one forks: a module that is being imported then stays locked in the
# child for ever. So what compiles import is here already.
from suture import _core, _replay  # noqa: F401
from suture._api import compile, disable, graph_break, mark_dynamic, mark_static, reset
from suture._config import config
from suture._errors import BackendCompilerFailed, GraphBreak, InternalError

if TYPE_CHECKING:
    from suture import backends, cache, testing
    from suture._backends import list_backends, register_backend
    from suture._core import Graph
    from suture._debug import debug, prepare_debug
    from suture._decompile import Decompiled, decompile, same_bytecode
    from suture._dump import dump
    from suture._explain import Explanation, explain
    from suture._guards import guard_functions
    from suture._logs import set_logs
    from suture._minify.api import minify

__version__: str = _core.version

__all__ = [
    "BackendCompilerFailed",
    "Decompiled",
    "Explanation",
    "Graph",
    "GraphBreak",
    "InternalError",
    "backends",
    "cache",
    "compile",
    "config",
    "debug",
    "decompile",
    "disable",
    "dump",
    "explain",
    "graph_break",
    "guard_functions",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "minify",
    "prepare_debug",
    "register_backend",
    "reset",
    "same_bytecode",
    "set_logs",
    "testing",
]

# Name -> module that has it; None: the name is a module itself.
_LAZY = {
    "Decompiled": "suture._decompile",
    "Explanation": "suture._explain",
    "Graph": "suture._core",
    "backends": None,
    "cache": None,
    "decompile": "suture._decompile",
    "debug": "suture._debug",
    "dump": "suture._dump",
    "explain": "suture._explain",
    "guard_functions": "suture._guards",
    "list_backends": "suture._backends",
    "minify": "suture._minify.api",
    "prepare_debug": "suture._debug",
    "register_backend": "suture._backends",
    "same_bytecode": "suture._decompile",
    "set_logs": "suture._logs",
    "testing": None,
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'suture' has no attribute '{name}'")
    from importlib import import_module

    module = _LAZY[name]
    value = import_module(f"suture.{name}") if module is None else getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def _start() -> None:
    """Connects the compiler to what the environment asks for. Nothing here may stop the user's program."""
    from suture import _startup

    _startup.start()


_start()
del _start
