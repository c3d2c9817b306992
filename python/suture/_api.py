"""The functions users decorate and mark with."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from suture import _core
from suture._config import config, is_text

if TYPE_CHECKING:
    import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Backend = str | Callable[..., Any]

# Called with every compiled callable that is made: the command line watches a program this way.
observers: list[Callable[[Any], None]] = []

_warned_about_python = False
_warned: set[str] = set()


@overload
def compile(fn: F) -> F: ...
@overload
def compile(
    fn: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Backend | None = None,
    numerics: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Callable[[F], F]: ...


def compile(
    fn: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Backend | None = None,
    numerics: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **unknown: Any,
) -> Any:
    """Compiles a function when it is called. Usable as `@suture.compile`, `@suture.compile(...)` and `suture.compile(f)`.

    fullgraph  a graph break is an error (suture.GraphBreak) instead of a detour through the interpreter
    dynamic    None: sizes and ints that change become symbols; True: all are symbols at once; False: never
    backend    "native" (default), "eager", "lowered_eager", a registered name, or a callable(graph, example_inputs);
               "lowered_eager" (for tests of Suture) gives no floating-point warnings and errors
    numerics   "exact" (default): NumPy's own values; "fast": sums may be reassociated
    options    options of suture.config for this function only
    disable    return the function as it is

    The result is a callable, not a Python function: as through functools.partial, the caller keeps the arguments alive until
    the call returns, also those that the function binds anew or deletes before.

    Raises TypeError and ValueError for settings that do not exist or cannot be so; both name what is allowed.
    """
    settings = {
        "fullgraph": fullgraph,
        "dynamic": dynamic,
        "backend": backend,
        "numerics": numerics,
        "options": options,
        "disable": disable,
    }
    _refuse_unknown(unknown, list(settings))
    _check_settings(settings)
    if fn is None:
        return lambda function: _compile(function, settings, 4)
    return _compile(fn, settings, 4)


def _compile(fn: Any, settings: dict[str, Any], depth: int) -> Any:
    """`depth`: frames from _check_python_version to the user's, who decorates by a call of `compile` or of what it returned."""
    if settings["disable"]:
        return fn
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(_compile(fn.__func__, settings, depth + 1))
    if isinstance(fn, MethodType):
        return MethodType(_compile(fn.__func__, settings, depth + 1), fn.__self__)
    if not callable(fn):
        raise TypeError(f"suture.compile needs a function, not {type(fn).__name__}: {fn!r:.80}")
    _check_python_version(depth)
    options = config.texts(settings["options"])
    if config.overrides:
        settings, options = _overridden(settings, options or {})
    from_name, chosen = _resolve_backend(settings["backend"])
    numerics = settings["numerics"]
    compiled = _core.compile(
        _as_function(fn),
        fullgraph=settings["fullgraph"],
        dynamic=settings["dynamic"],
        backend=from_name,
        backend_callable=chosen,
        numerics=config.numerics if numerics is None else numerics,
        options=options,
    )
    for observe in observers:
        observe(compiled)
    if config.repro_level == 4 and config.repro_after:
        from suture._minify import frame_checks

        frame_checks.install()
    return compiled


def _overridden(settings: dict[str, Any], options: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """With what the option `overrides` says. A mistake in the environment must not stop the program."""
    try:
        texts = config.overriding(config.overrides)
        name = texts.pop("backend", None)
        if name is not None and name != "native":
            from suture import _backends

            _backends.resolve(name)
    except ValueError as error:
        _startup_warning(f"SUTURE_OVERRIDES is left out; {error}")
        return settings, options
    settings = settings | ({} if name is None else {"backend": name})
    settings |= {"numerics": texts.pop("numerics")} if "numerics" in texts else {}
    return settings, options | texts


# What people bring along from torch.compile, Numba and JAX, and what it is here.
_FROM_ELSEWHERE = {
    "mode": "there is one way of compiling; options={...} switches parts of it, see suture.config",
    "nopython": "fullgraph=True makes what cannot be compiled an error",
    "forceobj": "disable=True leaves the function to the interpreter",
    "parallel": "kernels run in one thread, there is nothing to set",
    "nogil": "kernels run with the GIL held, there is nothing to set",
    "fastmath": 'numerics="fast" allows results that differ in the last places',
    "cache": "kernels are always cached on disk, see suture.config.cache_dir",
    "boundscheck": "indices are always checked, as by NumPy",
    "static_argnums": "Python ints are constants until they change; dynamic=False keeps them so",
    "static_argnames": "Python ints are constants until they change; dynamic=False keeps them so",
}


def _refuse_unknown(given: dict[str, Any], known: list[str]) -> None:
    for name in given:
        elsewhere = _FROM_ELSEWHERE.get(name)
        hint = f": {elsewhere}" if elsewhere else _core.did_you_mean(name, known)
        raise TypeError(f"suture.compile has no argument '{name}'{hint} (it takes {', '.join(known)})")


def _check_settings(settings: dict[str, Any]) -> None:
    """What the compiler would refuse in its own words, or take for something else."""
    kinds = {"fullgraph": bool, "dynamic": bool | None, "numerics": str | None, "options": dict | None, "disable": bool}
    for name, kind in kinds.items():
        value = settings[name]
        if not isinstance(value, kind):
            wanted = getattr(kind, "__name__", str(kind))
            raise TypeError(f"{name} is {wanted}, not {type(value).__name__}: {value!r:.80}")
        if isinstance(value, str) and not is_text(value):
            raise ValueError(f"{name} cannot be {value!r:.80}: it holds characters that no text has")


def _as_function(fn: Any) -> FunctionType:
    if _core.is_compiled(fn):
        return _core.wrapped(fn)  # type: ignore[return-value]
    if isinstance(fn, FunctionType):
        return fn

    # A partial, a builtin or an object with __call__: capture starts from a function that calls it.
    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        value = getattr(fn, attribute, None)
        if isinstance(value, str):
            setattr(call, attribute, value)
    assert isinstance(call, FunctionType)
    return call


def _resolve_backend(backend: Backend | None) -> tuple[str, Callable[..., Any] | None]:
    from_option = backend is None
    if backend is None:
        backend = config.backend
    if not callable(backend) and backend == "native":
        return "native", None
    from suture import _backends

    try:
        name, chosen = _backends.resolve(backend)
        if config.check_backend:
            from suture._checked_backend import Checked

            chosen = Checked(name, chosen)
        return name, chosen
    except ValueError as error:
        if not from_option:
            raise
        # config refuses unknown names, so this one came from the environment, which must not stop the program. It is
        # looked up this late because the program may have registered it.
        _startup_warning(f"SUTURE_BACKEND: using 'native'; {error}")
        return "native", None


def _startup_warning(message: str) -> None:
    """Once per process and message."""
    if message in _warned:
        return
    _warned.add(message)
    from suture import _startup

    _startup.warn(message)


def _check_python_version(depth: int) -> None:
    """On a Python without opcode tables everything runs eagerly; said once. `depth`: frames from here to the user's, both
    counted."""
    global _warned_about_python
    if _warned_about_python or _core.supported_python():
        return
    _warned_about_python = True
    import platform
    import warnings

    warnings.warn(
        f"suture: this is Python {platform.python_version()}; functions can be compiled with "
        f"{', '.join(_core.supported_versions())}. Decorated functions run as ordinary Python.",
        RuntimeWarning,
        stacklevel=depth,
    )


def disable(fn: F) -> F:
    """Marks a function that must run in the interpreter: it is never captured, inlined or compiled."""
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(disable(fn.__func__))  # type: ignore[return-value]
    if _core.is_compiled(fn):
        fn = _core.wrapped(fn)  # type: ignore[assignment, arg-type]
    if isinstance(fn, FunctionType):
        fn._suture_disable = True  # type: ignore[attr-defined]
        return fn

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    call._suture_disable = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def graph_break(msg: str = "") -> None:
    """Inside a compiled function: break the graph here. Outside: nothing."""


graph_break._suture_graph_break = True  # type: ignore[attr-defined]


def reset() -> None:
    """Forgets every compiled entry of the process, and what is known about them. Compiled functions stay usable; each counts as a
    new frame from then on, so that compile ids in logs, traces and debug dumps never come twice."""
    _core.reset()


def mark_dynamic(array: np.ndarray, dim: int, min: int | None = None, max: int | None = None) -> None:
    """The size of `array` along `dim` is a symbol from the first compile on, within [min, max].

    array     the object that will be passed to compiled functions; it is marked, not its copies and views
    dim       an axis of it, from -array.ndim to array.ndim - 1
    min, max  what the size may become, in elements; None: from 2 on, and without end

    Raises TypeError for arguments of another type, ValueError for an axis that the array does not have and for min > max.
    """
    _check_mark("mark_dynamic", array, dim)
    for name, value in (("min", min), ("max", max)):
        if value is not None and not _is_int(value):
            raise TypeError(f"mark_dynamic: {name} is an int or None, not {type(value).__name__}: {value!r:.80}")
    _core.mark_dynamic(array, index(dim), *(None if bound is None else index(bound) for bound in (min, max)))


def mark_static(array: np.ndarray, dim: int) -> None:
    """The size of `array` along `dim` is never made a symbol. Arguments and errors as for mark_dynamic."""
    _check_mark("mark_static", array, dim)
    _core.mark_static(array, index(dim))


def _is_int(value: Any) -> bool:
    """An int, or what stands for one as an index, such as np.int64; no bool."""
    return hasattr(type(value), "__index__") and not isinstance(value, bool)


def _check_mark(function: str, array: Any, dim: Any) -> None:
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise TypeError(f"{function}: array is a numpy.ndarray, not {type(array).__name__}: {array!r:.80}")
    if not _is_int(dim):
        raise TypeError(
            f"{function}: dim is an int, an axis of the array (0 is the first), not {type(dim).__name__}: {dim!r:.80}"
        )
    if not -array.ndim <= dim < array.ndim:
        raise ValueError(
            f"{function}: the array has {array.ndim} axes, so dim cannot be {dim}; its shape is {array.shape}"
        )
