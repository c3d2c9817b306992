"""suture.minify on functions, graphs and cases."""

import os

import numpy as np
import pytest

import suture
from suture._minify.case import Case
from suture._minify.oracle import MinifyError, NotReproduced
from suture.testing import frames_compiled

X = np.linspace(0.0, 1.0, 12).reshape(3, 4)


def program(x, y):
    a = np.sin(x) + y
    b = np.maximum(a, 0.5) * a
    return b.sum(axis=0), np.floor(b)


def ops_of(result):
    return [node["op"] for node in result.case.graph.nodes if node["kind"] != "Input"]


def test_a_compiled_function_keeps_its_settings():
    backend = "faulty:op=maximum,kind=segfault"
    compiled = suture.compile(program, backend=backend, options={"max_unroll": 9})
    with frames_compiled(expected=1):  # here, with NumPy as the backend
        result = suture.minify(compiled, X, 2.0)
    assert result.original.backend == backend
    assert dict(result.original.options) == {"max_unroll": 9}
    assert (ops_of(result), result.signature.kind) == (["maximum"], "segfault")
    assert compiled.status()["entries"] == []


def test_a_plain_function():
    with frames_compiled(expected=1):
        result = suture.minify(program, X, kwargs={"y": 2.0}, backend="faulty:op=floor,kind=wrong_value", workers=1)
    assert ops_of(result) == ["floor"]


def test_a_graph_with_its_inputs():
    found = []

    def keep(graph, inputs):
        found.append((graph, inputs))
        return graph.forward()

    with frames_compiled(expected=1):
        suture.compile(program, backend=keep)(X, 2.0)
    graph, inputs = found[0]
    result = suture.minify(graph, *inputs, backend="faulty:op=sum,kind=run_error")
    assert ops_of(result) == ["sum"]
    again = suture.minify(result.original, calls=2)
    assert again.case.key == result.case.key


def test_the_graph_that_fails_is_found_among_those_of_the_call():
    def broken(x):
        y = np.cos(x) * 2
        suture.graph_break()
        return np.maximum(y, 0.25) + 1

    with frames_compiled(expected=2):
        result = suture.minify(broken, X, backend="faulty:op=maximum,kind=run_error")
    assert ops_of(result) == ["maximum"]


def test_a_backend_that_is_a_function():
    def refuses_tanh(graph, inputs):
        if any(node["op"] == "tanh" for node in graph.nodes):
            raise NotImplementedError("no kernel for tanh")
        return graph.forward()

    with frames_compiled(expected=1):
        result = suture.minify(lambda x: np.exp(np.tanh(x)) + x, X, backend=refuses_tanh)
    assert ops_of(result) == ["tanh"]
    assert str(result.signature) == "compile_error, NotImplementedError: no kernel for tanh"
    assert result.case.backend == "refuses_tanh"


def test_symbolic_sizes_stay_or_become_constants():
    def program(x, n):
        return np.maximum(x[1:] * n, 0.0).sum()

    needs_symbols = "faulty:op=maximum,kind=run_error,when=symbols>=1"
    with frames_compiled(expected=1):
        result = suture.minify(program, np.arange(9.0), 3, backend=needs_symbols, dynamic=True)
    assert ops_of(result) == ["maximum"]
    assert len(result.case.graph.symbols) == 1
    with frames_compiled(expected=1):
        result = suture.minify(program, np.arange(9.0), 3, backend="faulty:op=maximum,kind=run_error", dynamic=True)
    assert result.case.graph.symbols == []


@pytest.mark.parametrize("where", ["environment", "config"])
def test_candidates_leave_no_traces_logs_and_dumps(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("SUTURE_TRACE", "SUTURE_COMPILE_DEBUG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "written"))
    monkeypatch.setenv("SUTURE_COMPILE_DEBUG", "1")
    monkeypatch.setenv("SUTURE_REPRO_AFTER", "capture")
    with suture.config.patch(repro_after="capture" if where == "config" else ""):
        with frames_compiled(expected=1):
            suture.minify(program, X, 2.0, backend="faulty:op=floor,kind=compile_error")
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_minified_is_said_so():
    with pytest.raises(NotReproduced, match="does not fail"):
        suture.minify(program, X, 2.0)
    with pytest.raises(MinifyError, match="no compiled graph"):
        suture.minify(lambda x: len(x), [1, 2])
    with pytest.raises(MinifyError, match="raises ValueError under NumPy"):
        suture.minify(lambda x: [][x.size] if x.size else int("nan"), np.zeros(0))
    with pytest.raises(TypeError, match="a function, a suture.Graph or a Case, not int"):
        suture.minify(3)
    with pytest.raises(TypeError, match="has its inputs already"):
        suture.minify(Case("graph"), X)
