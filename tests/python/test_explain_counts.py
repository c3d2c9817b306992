"""Counts of suture.explain against a backend that counts on its own what it is given, and against marks in the sources.

A line that breaks ends in a comment `# breaks: SB...` with one id per record: a break in a loop is one record, whatever it
does to the loop around it; a break in a callee is one, and one of each call that could not be inlined.
"""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest

import suture
from suture import _backends, _core

NO_OPS = {"placeholder", "constant", "symbol", "output"}


class Counter:
    """A backend: the ops of every graph it is given."""

    def __init__(self) -> None:
        self.graphs: list[tuple[str, list[str]]] = []

    def __call__(self, graph: suture.Graph, example_inputs: list[Any]) -> Callable[..., tuple[Any, ...]]:
        self.graphs.append((graph.name, [node["target"] for node in graph.nodes if node["op"] not in NO_OPS]))
        return graph.forward()

    def newest(self) -> list[list[str]]:
        """Of every frame: each function of this file has a name of its own, and so have its resume functions."""
        return sorted(dict(self.graphs).values())


@pytest.fixture
def counter():
    backend = Counter()
    suture.register_backend("explain_counter", backend)
    yield backend
    del _backends._registered["explain_counter"]


def marked_breaks(*functions: Any) -> list[tuple[int, str]]:
    """(line, id) of the marks in their sources."""
    found = []
    for function in functions:
        lines, first = inspect.getsourcelines(function)
        for number, line in enumerate(lines, first):
            if mark := re.search(r"# breaks: (.*)", line):
                found += [(number, identity) for identity in mark[1].split()]
    return sorted(found)


def break_in_loop(x):
    y = x + 1
    for i in range(3):
        y = y * 2 + i
        print(end="")  # breaks: SB203
        y = y - 1
    return y.sum()


def while_on_values(x):
    while x.sum() < 100:  # breaks: SB101
        x = x * 2
    return x


def innermost(x):
    y = x * 3
    print(end="")  # breaks: SB203
    return y - 1


def pure(x):
    return x * 2 + 1


def middle(x):
    return innermost(x) / 2  # breaks: SB206


def nested_callees(x):
    y = pure(middle(x + 1))  # breaks: SB206
    return pure(y) + pure(x)


def two_calls_on_a_line(x):
    return innermost(x) + innermost(x)  # breaks: SB206 SB206


def handled_exception(x):
    y = x + 1
    try:
        y.reshape(3, 100)  # breaks: SB306
    except ValueError:
        y = y * 2
    return y


def print_in_try(x):
    try:
        x = x + 1
        print(end="")  # breaks: SB203
        x = x * 2
    finally:
        x = x - 1
    return x


def consumed_generator(x):
    def scaled():
        for i in range(3):
            yield x * i

    s = x
    for value in scaled():
        s = s + value
    print(end="")  # breaks: SB203
    return s + 1


def generator_that_breaks(x):
    def parts():
        yield x * 2
        print(end="")
        yield x * 3

    return [part + 1 for part in parts()]


class Model:
    def __init__(self):
        self.weights = np.arange(4.0)

    def step(self, x):
        y = x * self.weights
        print(end="")  # breaks: SB203
        return self.doubled + y

    @staticmethod
    def static(x):
        y = np.sin(x) + 1
        print(end="")  # breaks: SB203
        return y * 2

    @classmethod
    def of_class(cls, x):
        y = x - 1
        print(end="")  # breaks: SB203
        return cls.static_pure(y) / 2

    @staticmethod
    def static_pure(x):
        return np.exp(-x)

    @property
    def doubled(self):
        return self.weights * 2


MODEL = Model()


def methods_static_class_and_property(x):
    return MODEL.doubled + Model.static_pure(x) * MODEL.static_pure(x)


def make_closure(k):
    bias = np.arange(4.0)

    def closure(x):
        y = np.exp(x) * k
        print(end="")  # breaks: SB203
        return y + bias

    return closure


def array_methods(x):
    y = (x + 1).clip(0, 1).reshape(2, 2).T.astype(np.float32)
    return y.max(), abs(y), y @ y, ~(y > 1), y.mean(axis=0), y[0].copy()


def nothing(x):
    return x


def creation_only(x):
    return np.zeros(4)


# function -> (functions whose marks count, graphs, ops)
CASES: dict[Any, tuple[tuple[Any, ...], int, int]] = {
    break_in_loop: ((break_in_loop,), 4, 5),
    while_on_values: ((while_on_values,), 2, 5),
    nested_callees: ((nested_callees, middle, innermost), 5, 11),
    two_calls_on_a_line: ((two_calls_on_a_line, innermost), 3, 3),
    handled_exception: ((handled_exception,), 1, 1),
    print_in_try: ((print_in_try,), 2, 3),
    consumed_generator: ((consumed_generator,), 2, 7),
    generator_that_breaks: ((), 0, 0),  # runs in the interpreter as a whole, which is a skip
    MODEL.step: ((Model.step,), 2, 3),
    Model.static: ((Model.static,), 2, 3),
    Model.of_class: ((Model.of_class,), 2, 4),
    methods_static_class_and_property: ((), 1, 7),
    make_closure(2.0): ((make_closure,), 2, 3),
    array_methods: ((), 1, 13),
    nothing: ((), 0, 0),
    creation_only: ((), 1, 1),
}
each_case = pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)


def counts(explanation):
    """All of them, which hold for one another first."""
    ops = explanation.ops_per_graph
    assert explanation.graph_count == len(explanation.graphs) == len(ops)
    assert explanation.op_count == sum(map(len, ops)) == sum(graph["op_count"] for graph in explanation.graphs)
    assert [[op["name"] for op in graph["ops"]] for graph in explanation.graphs] == ops
    assert explanation.graph_break_count == len(explanation.break_reasons)
    breaks = sorted((reason["line"], reason["reason_id"]) for reason in explanation.break_reasons)
    return explanation.graph_count, explanation.op_count, sorted(ops), breaks


@each_case
def test_counts_are_those_of_a_backend_that_counts_itself(function, counter):
    marked, graphs, ops = CASES[function]
    explanation = suture.explain(function, backend="explain_counter")(np.ones(4))
    counted = counter.newest()
    assert counts(explanation) == (len(counted), sum(map(len, counted)), counted, marked_breaks(*marked))
    assert (explanation.graph_count, explanation.op_count) == (graphs, ops)
    assert sum(graph["compiles"] for graph in explanation.graphs) == len(counter.graphs), "recompiles included"


@each_case
def test_counts_do_not_depend_on_the_backend_nor_on_what_is_compiled_already(function, counter):
    first = suture.explain(function, backend="explain_counter")(np.ones(4))
    compiled = suture.compile(function, backend="explain_counter")
    compiled(np.ones(4))
    counter.graphs.clear()
    assert counts(suture.explain(compiled)) == counts(first)
    assert not counter.graphs, "records are read, nothing is compiled"
    again = suture.explain(function, backend="explain_counter")(np.ones(4))
    assert counts(again) == counts(first) and len(counter.newest()) == first.graph_count
    assert counts(suture.explain(function)(np.ones(4))) == counts(first)


@each_case
def test_status_has_the_same_counts(function):
    compiled = suture.compile(function, backend="eager")
    compiled(np.ones(4))
    target = getattr(compiled, "__func__", compiled)
    explanation, status = suture.explain(compiled), _core.status(target)
    assert status["graph_count"] == explanation.graph_count
    assert status["graph_break_count"] == explanation.graph_break_count


ONE_OP = {
    "x += 1": ["+="],
    "np.add(x, 1, out=x)": ["np.add"],
    "y = x.T.ravel()": ["ndarray.T", "ndarray.ravel"],
    "y = x.T.flatten()": ["ndarray.T", "ndarray.flatten"],
    "y = x.T.reshape(-1)": ["ndarray.T", "ndarray.reshape"],
    "y = np.linspace(0, 1, 5)": ["np.linspace"],
}


@pytest.mark.parametrize("statement", ONE_OP)
def test_an_operation_is_one_op(statement, write_function):
    explanation = suture.explain(write_function(statement))(np.ones((3, 4)))
    assert explanation.ops_per_graph == [ONE_OP[statement]]
    assert explanation.op_count == len(ONE_OP[statement])


@pytest.fixture
def write_function(tmp_path):
    """write_function(statement): def f(x) with it, in a file of its own."""

    def write(statement: str) -> Callable[..., Any]:
        path = tmp_path / "one_op.py"
        path.write_text(f"def f(x):\n    {statement}\n    return {'y' if statement.startswith('y') else 'x'}\n")
        namespace: dict[str, Any] = {"np": np}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        return namespace["f"]

    return write


def breaking_closure(x):
    def part(y):
        y = y * 2
        print(end="")
        return y + 1

    return part(x) - 3


class Breaking:
    weights = np.arange(4.0)

    @property
    def part(self):
        y = self.weights * 2
        print(end="")
        return y + 1

    @classmethod
    def of_class(cls, x):
        y = x * 2
        print(end="")
        return y + 1


BREAKING = Breaking()


def breaking_property(x):
    return x - BREAKING.part


def breaking_classmethod(x):
    return Breaking.of_class(x) - 3


def callee_break(function):
    explanation = suture.explain(function, backend="eager")(np.ones(4))
    (reason,) = [reason for reason in explanation.break_reasons if reason["reason_id"] == "SB206"]
    return explanation, reason["explanation"]


@pytest.mark.parametrize("function", [breaking_closure, breaking_property, breaking_classmethod])
def test_a_callee_that_no_source_names_is_said_to_run_as_it_is(function):
    explanation, text = callee_break(function)
    assert text.endswith("so it is called as it is instead of being inlined.")
    assert sorted(explanation.ops_per_graph) == [["-"]], "its two graphs are not there"


def breaking_function(y):
    y = y * 2
    print(end="")
    return y + 1


def calls_function(x):
    return breaking_function(x) - 3


def test_a_callee_said_to_be_compiled_on_its_own_is():
    explanation, text = callee_break(calls_function)
    assert text.endswith("so it is called and compiled on its own instead of being inlined.")
    assert sorted(explanation.ops_per_graph) == [["*"], ["+"], ["-"]]


def recompiled(x):
    y = x + 1
    if x.shape[0] == 4:
        return y
    print(end="")  # breaks: SB203
    return y * 2


def test_the_newest_graph_of_a_frame_counts_and_recompiles_add_nothing(counter):
    compiled = suture.compile(recompiled, backend="explain_counter", dynamic=False)
    for size in (4, 5, 6):
        compiled(np.ones(size))
    assert [ops for _, ops in counter.graphs] == [["+"], ["+"], ["*"], ["+"], ["*"]]
    explanation = suture.explain(compiled)
    assert counts(explanation) == (2, 2, [["*"], ["+"]], marked_breaks(recompiled))
    assert [graph["compiles"] for graph in explanation.graphs] == [3, 2]
    assert explanation.break_reasons[0]["hits"] == 2 and len(explanation.recompiles) == 3


# --- one run, and what it leaves behind ----------------------------------------------------------------------------------


def prints(x):
    y = x * 2
    print("run", int(x[0]))
    return y + 1


def test_a_fresh_explanation_runs_the_function_once_and_leaves_caches_alone(counter, capsys):
    compiled = suture.compile(prints, backend="explain_counter")
    compiled(np.ones(3))
    status, records = _core.status(compiled), _core.explain_records(compiled)
    suture.explain(prints)(np.full(5, 2.0))
    suture.explain(compiled, dynamic=True)(np.full(5, 3.0))
    suture.explain(compiled)(np.full(5, 4.0))
    assert capsys.readouterr().out == "run 1\nrun 2\nrun 3\nrun 4\n"
    assert _core.status(compiled) == status and _core.explain_records(compiled) == records
    graphs = len(counter.graphs)
    compiled(np.ones(3))
    assert len(counter.graphs) == graphs, "what was compiled before is still there"
    assert _core.status(compiled)["hits"] > status["hits"]


def test_records_are_read_without_a_run(counter, capsys):
    compiled = suture.compile(prints, backend="explain_counter")
    events: list[str] = []
    token = _core.subscribe(None, events.append)
    try:
        assert counts(suture.explain(compiled)) == (0, 0, [], []), "not called yet"
        assert not events and not counter.graphs
        compiled(np.ones(3))
        before = len(events), len(counter.graphs), _core.status(compiled)
        explanation = suture.explain(compiled)
        str(explanation), explanation.to_json(), explanation._repr_html_(), repr(explanation)
        assert (len(events), len(counter.graphs), _core.status(compiled)) == before
    finally:
        _core.unsubscribe(token)
    assert capsys.readouterr().out == "run 1\n"
    assert counts(explanation)[:3] == (2, 3, counter.newest())


def make_failing(runs):
    def failing(x):
        y = x + 1
        print(end="")  # breaks: SB203
        runs.append(1)
        y = y * 2
        return {}[float(y[0])]

    return failing


def test_an_exception_reaches_the_caller_once_and_what_ran_is_counted(counter):
    runs: list[int] = []
    failing = make_failing(runs)
    with pytest.raises(KeyError, match=r"4\.0"):
        suture.explain(failing)(np.ones(3))
    compiled = suture.compile(failing, backend="explain_counter")
    with pytest.raises(KeyError, match=r"4\.0"):
        compiled(np.ones(3))
    assert runs == [1, 1]
    explanation = suture.explain(compiled)
    counted = counter.newest()
    assert len(counted) >= 2
    assert counts(explanation)[:3] == (len(counted), sum(map(len, counted)), counted)
    assert set(marked_breaks(make_failing)) <= set(counts(explanation)[3])


class Decorated:
    weights = np.arange(3.0)

    @suture.compile(backend="eager")
    def step(self, x):
        return x * self.weights

    @staticmethod
    @suture.compile(backend="eager")
    def static(x):
        return x + 1

    @classmethod
    @suture.compile(backend="eager")
    def of_class(cls, x):
        return x + cls.weights


@pytest.mark.parametrize("name", ["step", "static", "of_class"])
def test_compiled_methods_are_explained_from_their_records_and_again_with_their_settings(name):
    method = getattr(Decorated(), name)
    function = method.__func__ if isinstance(method, MethodType) else method
    suture.reset()
    method(np.ones(3))
    status = _core.status(function)
    explanation = suture.explain(method)
    assert explanation.graph_count == explanation.op_count == 1
    for fresh in (explanation(np.ones(3)), suture.explain(method, dynamic=True)(np.ones(3))):
        assert fresh.ops_per_graph == explanation.ops_per_graph
        assert fresh.to_dict()["backend"] == "eager"
    assert fresh.to_dict()["symbols"] and _core.status(function) == status
    assert json.loads(suture.explain(Decorated.__dict__[name]).to_json()) == explanation.to_dict()


def replayed_at_every_call(x, n):
    return np.log(x) * n


def test_what_happens_at_every_call_leaves_room_for_what_compiles_say():
    compiled = suture.compile(replayed_at_every_call)
    with np.errstate(all="ignore"):
        compiled(np.ones(3), 2.0)
    with np.errstate(divide="warn"), warnings.catch_warnings(action="ignore"):
        for _ in range(5_000):
            compiled(np.zeros(3), 2.0)
    compiled(np.ones((2, 2)), 2.0)
    told = suture.explain(compiled).to_dict()
    assert [replay["count"] for replay in told["replays"]] == [5_000]
    assert len(told["recompiles"]) == 1
    assert len(_core.explain_records(compiled)) < 100
