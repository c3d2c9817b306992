"""suture.Graph as material: text, parts, other types, compiling it without the frame it came from."""

import numpy as np
import pytest

import suture
from suture import _core

X = np.linspace(0.1, 2.0, 6).reshape(2, 3)


def captured(function, *arguments, **settings):
    """The one graph of a call, and the inputs it was given."""
    found = []

    def keep(graph, inputs):
        found.append((graph, inputs))
        return graph.forward()

    suture.compile(function, backend=keep, **settings)(*arguments)
    assert len(found) == 1
    return found[0]


def program(x, y):
    a = np.sin(x) * y
    a[0] += 1.0
    return a.sum(axis=0), np.exp(a)


def test_text_reads_back():
    graph, _ = captured(program, X, 2.0)
    again = _core.Graph.from_text(graph.to_text())
    assert again.to_text() == graph.to_text()
    assert again.canonical_hash() == graph.canonical_hash()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty text"),
        ('graph "g" captured\n  x = nonsense() : f64[3] ; ""\n', "unknown op nonsense"),
        (
            'graph "g" captured\n  x = placeholder() : f64[3] ; "x"\n  y = add(x, x) : f64[4] ; "+"\n  inputs x\n  return y',
            "law",
        ),
        (
            'graph "g" captured\n  x = placeholder() : f64[3] ; "x"\n  one = constant() {value=1} : py_int ; ""\n'
            '  store = store(x, one) : f64[3] ; "="\n  inputs x\n  return store',
            "law stores_give_no_value broken by store: a store is an output",
        ),
    ],
)
def test_bad_text_is_refused_in_words(text, message):
    with pytest.raises(ValueError, match=message):
        _core.Graph.from_text(text)


@pytest.mark.parametrize("backend", ["native", "eager", "lowered_eager"])
def test_a_graph_compiles_without_its_frame(backend):
    graph, inputs = captured(program, X, 2.0)
    graph = _core.Graph.from_text(graph.to_text())
    compiled = _core.compile_graph(graph, inputs, backend=backend)
    for got, wanted in zip(compiled(*inputs), program(X, 2.0), strict=True):
        np.testing.assert_array_max_ulp(got, wanted, 8)  # sin and exp are not rounded exactly


def test_what_a_backend_raises_comes_out():
    def broken(graph, inputs):
        raise KeyError("no such kernel")

    graph, inputs = captured(program, X, 2.0)
    with pytest.raises(KeyError, match="no such kernel"):
        _core.compile_graph(graph, inputs, backend="broken", backend_callable=broken)


def test_parts_say_where_their_inputs_come_from():
    graph, _ = captured(program, X, 2.0)
    part, origins = graph.subgraph(keep=["exp"], outputs=[])
    assert part.outputs == ["exp"]
    ((value, store),) = origins
    assert value in [node["name"] for node in graph.nodes]
    assert next(node for node in graph.nodes if node["name"] == store)["kind"] == "Effect"


def test_inputs_of_other_types():
    graph, _ = captured(program, X, 2.0)
    small, _ = graph.subgraph(types={graph.placeholders[0]: "f32[1, 2] strides [1, 1]"})
    x = np.ones((2, 1), np.float32).T
    small.check_inputs(x, *[2.0] * (len(small.placeholders) - 1))
    with pytest.raises(ValueError, match="axis 1"):
        small.check_inputs(x[:, :1], *[2.0] * (len(small.placeholders) - 1))
    with pytest.raises(TypeError, match="input 0"):
        small.check_inputs(x.astype(np.float64), *[2.0] * (len(small.placeholders) - 1))
    with pytest.raises(TypeError, match="takes"):
        small.check_inputs(x)


def test_symbols_stay_symbols():
    def shifted(x, n):
        return x[1:] * n

    graph, inputs = captured(shifted, np.arange(5.0), 3, dynamic=True)
    values = graph.symbol_values(*inputs)
    assert sorted(values.values()) == [3, 5]
    graph = _core.Graph.from_text(graph.to_text())
    own = [row for row in graph.symbols if row["input"] >= len(graph.placeholders)]
    compiled = _core.compile_graph(graph, [np.arange(5.0), 3])
    for size in (5, 9):
        x = np.arange(float(size))
        np.testing.assert_array_equal(compiled(x, *[4 for _ in own])[0], shifted(x, 4))


def test_names_that_do_not_exist_are_named():
    graph, _ = captured(program, X, 2.0)
    with pytest.raises(ValueError, match="no node is named 'nowhere'"):
        graph.subgraph(keep=["nowhere"])


def test_types_speak_of_symbols_that_are_fixed_in_the_same_edit():
    text = """graph "f" captured
  symbol s0 "b.shape[0]" hint 2 range 2..max size
  symbol s1 "b.shape[1]" hint 3 range 2..max size
  symbol s2 "c.shape[0]" hint 4 range 2..max size
  symbol s3 "c.shape[1]" hint 5 range 2..max size
  b = placeholder() : f64[s0, s1] ; "b"
  c = placeholder() : i64[s2, s3] ; "c"
  add = add(b, b) : f64[s0, s1] ; "+"
  gt = gt(c, c) : bool[s2, s3] ; ">"
  inputs b, c
  return gt, add
"""
    graph = _core.Graph.from_text(text)
    for fixed, wanted in (
        (["s2", "s3"], ["f64[s0, s1]", "i64[4, 5] strides [1, 4]"]),
        (["s0"], ["f64[2, s0]", "i64[s1, s2] strides [1, s1]"]),
        (["s0", "s1", "s2"], ["f64[2, 3]", "i64[4, s0] strides [1, 4]"]),
    ):
        part, _ = graph.subgraph(types={"c": "i64[s2, s3] strides [1, s2]"}, fixed=fixed)
        assert [row["type"] for row in part.input_types] == wanted


def test_a_store_that_is_asked_for_is_the_memory_it_writes_into():
    text = (
        'graph "g" captured\n  x = placeholder() : f64[3] ; "x"\n  one = constant() {value=1} : py_int ; ""\n'
        '  y = add(x, one) : f64[3] ; "+"\n  store = store(y, one) : f64[3] ; "="\n  inputs x\n  return y\n'
    )
    part, inputs = _core.Graph.from_text(text).subgraph(["store"], ["store"])
    assert part.outputs == ["y"] and [node for node, _ in inputs] == ["y"]
    y = np.zeros(3)
    (result,) = part.forward()(y)
    assert result is y and (y == 1).all()
