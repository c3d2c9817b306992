"""Backends: what runs a captured graph.

A backend is called once per graph, `backend(graph, example_inputs)`, and returns a callable that takes the inputs and
returns a tuple of outputs. Names come from three places: the built-in ones, `register_backend`, and the entry-point group
`suture.backends`, which is looked at only when a name is not known otherwise. A name may be followed by a colon and settings
when the backend takes some: `faulty:op=maximum,kind=wrong_value`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from suture import _core
from suture._config import is_text

if TYPE_CHECKING:
    from suture._core import Graph

Backend = Callable[["Graph", list[Any]], Callable[..., tuple[Any, ...]]]

ENTRY_POINT_GROUP = "suture.backends"


def eager(graph: Graph, example_inputs: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """The captured graph under NumPy. Shows whether a difference comes from capture or from the kernels."""
    return graph.forward()


def lowered_eager(graph: Graph, example_inputs: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """The lowered graph under the reference interpreter: slow and obvious.

    Values, dtypes, shapes and strides are those of the kernels. It looks at values only: no floating-point warnings and errors
    (`1 / np.zeros(2)` is silent), and results own their memory where NumPy gives a view of a temporary (`np.linspace`).
    """
    return graph.interpreter()


def native(graph: Graph, example_inputs: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """Fused C++ kernels. As a callable: for backends that hand on what they do not do themselves."""
    return _core.compile_graph(graph, example_inputs)


_registered: dict[str, Backend] = {"eager": eager, "lowered_eager": lowered_eager}


def _faulty(text: str) -> Backend:
    """Runs graphs under NumPy and fails on purpose (docs/reference/faults.md)."""
    from suture._faulty import Faulty

    return Faulty(text)


def _explain(text: str) -> Backend:
    """Prints and counts graphs and ops, and hands them on to the native compiler."""
    from suture._explain_backend import from_text

    return from_text(text)


# Made from the whole name, which may end in ":settings".
_with_settings: dict[str, Callable[[str], Backend]] = {"explain": _explain, "faulty": _faulty}


def register_backend(name: str, fn: Backend | None = None) -> Any:
    """Makes `backend=name` known; usable as a decorator. A name can be registered again, except "native"."""
    if not isinstance(name, str) or not name:
        raise TypeError("the name of a backend is a non-empty str")
    if not is_text(name):
        raise ValueError(f"a backend cannot be called {name!r:.80}: it holds characters that no text has")
    if name == "native":
        raise ValueError("'native' is the built-in compiler and cannot be replaced")
    if name.partition(":")[0] in _with_settings:
        raise ValueError(
            f"'{name}' cannot be registered: a name with settings, as 'faulty:op=add', belongs to a built-in one"
        )
    if fn is None:
        return lambda function: register_backend(name, function)
    if not callable(fn):
        raise TypeError(f"a backend is a callable(graph, example_inputs), not {type(fn).__name__}")
    _registered[name] = fn
    return fn


def list_backends() -> list[str]:
    """Names that `suture.compile(backend=...)` knows."""
    return sorted({"native", *_registered, *_with_settings, *(point.name for point in _entry_points())})


_BUILT_IN = dict(_registered)


def is_reserved(name: str) -> bool:
    """Whether nothing can be registered under that name."""
    return name == "native" or name.partition(":")[0] in _with_settings


def is_installed(name: str, backend: Backend) -> bool:
    """Whether `name` means this backend in every process, without the program that is running now."""
    if is_reserved(name):
        module = _text_of(type(backend), "__module__")
        return module is not None and module.startswith("suture.")
    if _registered.get(name) is not backend:
        return False
    return _BUILT_IN.get(name) is backend or any(
        point.name == name and point.load() is backend for point in _entry_points()
    )


def package_of(name: str) -> str | None:
    """The package that a process needs for a name to mean a backend; None for built-in names. One that no package
    has which is installed here is paraphrased."""
    if is_reserved(name) or name in _BUILT_IN:
        return None
    found = next((point.dist for point in _entry_points() if point.name == name and point.dist), None)
    return found.name if found else f"the package that has a backend '{name}'"


class BackendInfo(NamedTuple):
    """A line of `describe_backends`."""

    name: str
    origin: str  # built in | registered | the entry point's "module:attribute"
    doc: str  # first line of its docstring


def describe_backends() -> list[BackendInfo]:
    """Every backend that list_backends names, without importing those of other packages."""
    known: dict[str, BackendInfo] = {}
    for point in _entry_points():
        package = getattr(point.dist, "name", "") if point.dist else ""
        known[point.name] = BackendInfo(point.name, point.value, f"from package {package}" if package else "")
    built_in: dict[str, Any] = {"native": native, **_BUILT_IN, **_with_settings}
    for name, function in (built_in | _registered).items():
        own = built_in.get(name) is function
        known[name] = BackendInfo(name, "built in" if own else "registered", _first_line(function))
    return [known[name] for name in list_backends()]


def _first_line(function: Any) -> str:
    return next(iter((_text_of(function, "__doc__") or "").strip().splitlines()), "")


def _text_of(holder: Any, attribute: str) -> str | None:
    """None: there is no such attribute, looking it up fails, or it is no text (half of a surrogate pair is none). What others
    wrote may say anything."""
    try:
        found = getattr(holder, attribute)
        text = str.__str__(found) if issubclass(type(found), str) else None
    except Exception:
        return None
    return text if text is not None and is_text(text) else None


def name_of(backend: Any) -> str:
    """What messages and files call a callable: its `__name__`, or that of its type."""
    return _text_of(backend, "__name__") or name_of_type(type(backend))


def name_of_type(kind: type) -> str:
    """Whatever its metaclass says."""
    found: str = type.__dict__["__name__"].__get__(kind)
    return found


def callable_of(backend: str | Backend) -> Backend:
    """What runs a graph: also for "native", which suture.compile takes another way."""
    return native if not callable(backend) and backend == "native" else resolve(backend)[1]


def resolve(backend: str | Backend) -> tuple[str, Backend]:
    """Name and callable of what the user gave."""
    if callable(backend):
        return name_of(backend), backend
    if not isinstance(backend, str):
        raise TypeError(f"a backend is a name or a callable, not {type(backend).__name__}")
    if make := _with_settings.get(backend.partition(":")[0]):
        return backend, make(backend)
    if backend not in _registered:
        _load_entry_point(backend)
    return backend, _registered[backend]


def _entry_points() -> Iterable[Any]:
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINT_GROUP)


def _load_entry_point(name: str) -> None:
    for point in _entry_points():
        if point.name == name:
            try:
                _registered[name] = point.load()
            except Exception as error:
                raise ValueError(f"backend '{name}' ({point.value}) could not be loaded: {error!r}") from error
            return
    known = list_backends()
    hint = _core.did_you_mean(name, known, f"; known: {', '.join(known)}")
    raise ValueError(f"no backend is named '{name}'{hint}")
