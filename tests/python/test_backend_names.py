"""Whatever a backend is called or keeps from being read: messages, files and tools find a name for it, and tell it from others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suture
from suture import _backends
from suture._minify import api, modes, repro_file
from suture.testing import check_backend


class Backend:
    """Cannot do maximum."""

    def __call__(self, graph: suture.Graph, example_inputs: list[Any]) -> Callable[..., tuple[Any, ...]]:
        if any(node["target"] == "np.maximum" for node in graph.nodes if node["kind"] != "Input"):
            raise ValueError("no maximum")
        return graph.forward()


class OfNoText(Backend):
    __name__ = 5
    __doc__ = 7  # type: ignore[assignment]
    __module__ = 9  # type: ignore[assignment]


class OfSurrogates(Backend):
    __name__ = "caf\udce9"


class Empty(Backend):
    __name__ = ""


class Loud(str):
    def __str__(self) -> str:
        raise RuntimeError("it ran")

    __repr__ = __format__ = __str__  # type: ignore[assignment]


class OfAnotherText(Backend):
    __name__ = Loud("another")


class OfManyLines(Backend):
    __name__ = "a\nb\x1b[31m"


class Native(Backend):
    __name__ = "native"


class Settings(Backend):
    __name__ = "faulty:op=maximum"


class Closed(Backend):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __repr__(self) -> str:
        raise RuntimeError("shown")

    __bool__ = __len__ = __repr__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("named")


class OfAMetaclass(Backend, metaclass=Meta):
    pass


NAMES = {
    OfNoText: "OfNoText",
    OfSurrogates: "OfSurrogates",
    Empty: "Empty",
    OfAnotherText: "another",
    OfManyLines: "a\nb\x1b[31m",
    Native: "native",
    Settings: "faulty:op=maximum",
    Closed: "Closed",
    OfAMetaclass: "OfAMetaclass",
}
kinds = pytest.mark.parametrize(
    ("make", "name"), NAMES.items(), ids=[str(name.split("\n")[0]) for name in NAMES.values()]
)
X = np.linspace(-1.0, 1.0, 6)


def fails(x: Any) -> Any:
    return np.maximum(np.sin(x), 0.0)


def works(x: Any) -> Any:
    return np.sin(x) + 1


@kinds
def test_it_is_called_by_a_name(make: type[Backend], name: str) -> None:
    """`works` compiles, once."""
    assert _backends.name_of(make()) == name and type(_backends.name_of(make())) is str
    compiled = suture.compile(works, backend=make())
    assert np.array_equal(compiled(X), np.sin(X) + 1)
    status = compiled.status()
    assert (status["backend"], status["graph_count"]) == (name, 1)
    assert suture.explain(compiled).to_dict()


def test_a_callable_without_a_name_is_called_by_its_type() -> None:
    assert _backends.name_of(functools.partial(Backend())) == "partial"


@kinds
def test_a_failure_leaves_a_file_that_tells_it(
    make: type[Backend], name: str, tmp_path: Path, restore_config: None
) -> None:
    """The one graph does not compile: the backend refuses it."""
    suture.config.repro_after, suture.config.compile_debug_dir = "capture", str(tmp_path)
    with pytest.raises(suture.BackendCompilerFailed) as raised:
        suture.compile(fails, backend=make())(X)
    assert raised.value.backend == name and isinstance(raised.value.__cause__, ValueError)
    held = repro_file.load(Path(raised.value.path))
    reserved = _backends.is_reserved(name)
    assert held.case.backend == (f"{name}_of_the_program" if reserved else name)
    said = modes.explained(held)
    place = f"{raised.value.path}:{held.place.backend_line}"
    assert f"(to be written into make_backend() at {place})" in said and said.isascii() and "\x1b" not in said
    with pytest.raises(LookupError, match=rf"(?s){place}, make_backend\(\): .*objects have no source; return it here"):
        modes.install_backend(held, modes.backend_maker(held))


@kinds
def test_tools_take_it(make: type[Backend], name: str) -> None:
    """One graph of `fails` is reduced; check_backend compiles programs of its own."""
    before = dict(_backends._registered)
    try:
        result = suture.minify(fails, X, backend=make())
        assert result.case.op_count == 1 and str(result.signature) == "compile_error, ValueError: no maximum"
        compiled = suture.compile(fails, backend=make())
        (case,) = api.cases_of_call(compiled, [X], {})
        assert not _backends.is_reserved(case.backend)
        suture.register_backend("odd", make())
        (told,) = [each for each in _backends.describe_backends() if each.name == "odd"]
        assert (told.origin, told.doc) == ("registered", "")
    finally:
        _backends._registered.clear()
        _backends._registered.update(before)
    report = str(check_backend(make(), cases="x.T"))
    assert report.startswith("backend ") and "\x1b" not in report


@pytest.mark.parametrize(
    ("take", "error", "told"),
    [
        (lambda odd: suture.compile(works, backend=odd), ValueError, "no backend is named"),
        (lambda odd: suture.compile(works, numerics=odd), ValueError, "numerics cannot be 'caf"),
        (
            lambda odd: suture.compile(works, options={"skip_passes": odd}),
            ValueError,
            "option 'skip_passes' cannot be 'caf",
        ),
        (lambda odd: suture.compile(works, options={odd: 1}), ValueError, "no option is named"),
        (lambda odd: suture.compile(works, **{odd: 1}), TypeError, "has no argument"),
        (lambda odd: suture.config.patch(logs=odd).__enter__(), ValueError, "option 'logs' cannot be 'caf"),
        (lambda odd: suture.register_backend(odd, works), ValueError, "a backend cannot be called 'caf"),
        (lambda odd: suture.minify(works, X, backend=odd), ValueError, "no backend is named"),
    ],
)
def test_what_is_no_text_is_refused_by_name(take: Callable[[str], Any], error: type[Exception], told: str) -> None:
    """As words of a command line that is no UTF-8 are. Nothing compiles."""
    with pytest.raises(error, match=told):
        take("caf\udce9")
