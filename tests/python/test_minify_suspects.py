"""Evidence: what a failure says of its place is asked about first, and costs little where it misleads."""

import time

import numpy as np
import pytest

from bench.minify_faults import chain, dag, ops_of
from suture import _core, register_backend
from suture._minify import suspects
from suture._minify.case import Case, inputs_of
from suture._minify.minimise import minimise
from suture._minify.oracle import Limits, Servers
from suture._minify.signature import Outcome

COMMON = {i: "maximum" for i in range(3, 1000, 5)}  # as often as the other kinds
LENGTH = 200


@pytest.fixture(scope="module")
def servers():
    with Servers() as servers:
        yield servers


def common_chain(length, fault, **settings):
    """Nothing is rare in it."""
    return chain(length, {i: op for i, op in COMMON.items() if i < length}, fault, **settings)


def ops_named(asked):
    return [each.ops for each in asked]


def whys(asked):
    return [each.why for each in asked]


# --- which ops are suspects -----------------------------------------------------------------------------------------------


def failed(message="", **fields):
    return Outcome("run_error", "run", "ValueError", message, **fields)


def test_nodes_that_a_message_names_come_before_kinds_that_it_names():
    case = common_chain(50, "op=floor,kind=run_error")
    assert ops_named(suspects.of(case, failed("no code for maximum_13")))[0] == ("maximum_13",)
    kinds = ops_named(suspects.of(case, failed("no code for maximum")))
    assert kinds[0] == tuple(f"maximum_{i}" for i in range(3, 50, 5))


def test_ops_around_come_after_the_op_alone():
    case = common_chain(50, "op=floor,kind=run_error")
    alone, around, _ = suspects.of(case, failed("no code for maximum_13"))
    assert (alone.ops, around.ops) == (("maximum_13",), ("sin_12", "maximum_13", "tanh_14"))


def test_lines_that_an_exception_went_through_are_the_best_evidence():
    lines = common_chain(50, "op=floor,kind=run_error").graph_text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("tanh_22 ="))
    lines[at] = '  tanh_22 = tanh(cos_21) : f64[6, 4] ; "np.tanh" @ "/home/u/app.py" "f" 33 33 4 9'
    graph = _core.Graph.from_text("\n".join(lines) + "\n")
    case = Case(graph.to_text(), inputs_of([np.zeros((6, 4))]))
    places = ("/usr/lib/runpy.py:88", "/home/u/app.py:33", "/opt/backend.py:5")
    assert ops_named(suspects.of(case, failed("maximum_13 it was", places=places)))[0] == ("tanh_22",)
    assert ops_named(suspects.of(case, failed("error in /home/u/app.py:33")))[0] == ("tanh_22",)


def test_what_the_case_was_made_with_is_no_evidence():
    case = common_chain(50, "op=floor,kind=run_error", options={"inject_fault": "kind=nan,op=maximum"})
    text = f"backend {case.backend!r} failed with options kind=nan,op=maximum"
    assert whys(suspects.of(case, failed(text))) == ["one of each kind"]


def test_kinds_that_are_rare_are_suspects_and_kinds_that_are_not_are_none():
    assert ops_named(suspects.of(chain(50, {7: "floor"}, "op=floor,kind=abort"), None))[0] == ("floor_7",)
    assert whys(suspects.of(common_chain(50, "op=maximum,kind=abort"), None)) == ["one of each kind"]
    assert suspects.of(chain(6, {3: "floor"}, "op=floor,kind=abort"), None) == []  # bisected as fast


def test_one_op_of_each_kind_is_asked_about_last():
    one_of_each = suspects.of(common_chain(50, "op=maximum,kind=abort"), failed("no code for sin_4"))[-1]
    assert one_of_each.ops == ("sin_44", "tanh_46", "abs_47", "maximum_48", "cos_49")
    assert suspects.of(chain(8, {}, "op=maximum,kind=abort"), None) != []
    assert suspects.of(chain(6, {}, "op=maximum,kind=abort"), None) == []


def test_no_more_than_four_questions_are_asked():
    case = chain(60, {7: "floor", 30: "maximum", 50: "minimum"}, "op=floor,kind=abort")
    for failure in (None, failed("sin_4 and cos_9"), failed("maximum"), failed("", places=("a.py:1",))):
        assert len(suspects.of(case, failure, "")) <= 4
        assert len(suspects.of(case, failure, "cos_9")) <= 4


# --- what evidence saves --------------------------------------------------------------------------------------------------


def test_an_op_that_the_message_names_takes_one_call_for_the_graph(servers):
    case = chain(1000, {666: "maximum"}, "op=maximum,kind=compile_error", check="compile")
    result = minimise(case, servers=servers)
    assert ops_of(result.case) == ["maximum"]
    assert (result.graph_calls, result.calls) == (1, 2)


def test_two_ops_of_which_the_message_names_one(servers):
    # Two or three questions find the pair; the others see that neither op nor a path can go.
    for path, calls in (("any", 13), ("yes", 14)):
        fault = f"op=maximum,with=floor,path={path},kind=compile_error"
        result = minimise(chain(1000, {2: "maximum", 997: "floor"}, fault), servers=servers)
        assert ops_of(result.case) == ["maximum", "floor"]
        assert result.graph_calls <= calls


def test_the_first_wrong_value_is_looked_for_where_results_are_wrong(servers):
    case = common_chain(LENGTH, "op=maximum,kind=wrong_value")
    result = minimise(case, servers=servers)
    assert result.steps[0].what == f"return the values of all {LENGTH} ops"
    assert "the first wrong value" in result.steps[1].what
    assert ops_of(result.case) == ["maximum"]
    assert result.graph_calls == 2


@pytest.mark.parametrize("kind", ["segfault", "abort", "hang"])
def test_a_process_that_dies_leaves_the_line_it_was_at(kind, servers):
    register_backend("dies_in_maximum", dies_in(kind))
    lines = common_chain(60, "op=maximum,kind=abort").graph_text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("cos_41 ="))
    lines[at] = (
        f'  cos_41 = cos(sin_40) : f64[6, 4] ; "np.cos" @ "{__file__}" "deadly" {LINE_OF_DEATH} {LINE_OF_DEATH} 4 9'
    )
    graph = _core.Graph.from_text("\n".join(lines) + "\n")
    case = Case(graph.to_text(), inputs_of([np.linspace(-1, 2, 24).reshape(6, 4)]), backend="dies_in_maximum")
    result = minimise(case, limits=Limits(seconds=2))
    assert (result.signature.kind, ops_of(result.case)) == (kind, ["cos"])
    assert "at the line where it failed" in result.steps[0].what
    assert result.graph_calls == 1


def dies_in(kind):
    def backend(graph, inputs):
        forward = graph.forward()
        deadly_here = any(node["line"] == LINE_OF_DEATH for node in graph.nodes)
        return (lambda *values: deadly(kind)) if deadly_here else forward

    return backend


def deadly(kind):
    import ctypes
    import os

    while True:
        {"segfault": lambda: ctypes.string_at(0), "abort": os.abort, "hang": lambda: time.sleep(1)}[kind]()


LINE_OF_DEATH = deadly.__code__.co_firstlineno + 5


def test_one_op_of_many_alike_that_nothing_names(servers):
    result = minimise(common_chain(LENGTH, "op=maximum,kind=not_callable", check="compile"), servers=servers)
    assert ops_of(result.case) == ["maximum"]
    assert result.graph_calls <= 6


# --- what evidence that misleads costs ------------------------------------------------------------------------------------


def blames_another(graph, inputs):
    """Cannot do a maximum, and says it was a sin."""
    if any(node["op"] == "maximum" for node in graph.nodes):
        raise RuntimeError("no code for sin_4")
    return graph.forward()


def blames_nothing(graph, inputs):
    if any(node["op"] == "maximum" for node in graph.nodes):
        raise RuntimeError("no code")
    return graph.forward()


def test_a_message_that_names_the_wrong_op_costs_two_calls():
    register_backend("blames_another", blames_another)
    register_backend("blames_nothing", blames_nothing)
    case = common_chain(LENGTH, "op=maximum,kind=abort", check="compile")
    misled, plain = (minimise(case.with_(backend=f"blames_{what}")) for what in ("another", "nothing"))
    assert ops_of(misled.case) == ops_of(plain.case) == ["maximum"]
    assert misled.calls <= plain.calls + 2


def test_rare_ops_that_are_innocent_cost_two_calls(servers):
    marked = {i: op for i, op in COMMON.items() if i < LENGTH} | {50: "floor", 120: "ceil"}
    fault = "op=maximum,kind=abort"
    misled = minimise(chain(LENGTH, marked, fault), servers=servers)
    plain = minimise(common_chain(LENGTH, fault), servers=servers)
    assert ops_of(misled.case) == ops_of(plain.case) == ["maximum"]
    assert misled.calls <= plain.calls + 3


def test_evidence_makes_no_difference_to_the_result_with_two_workers(servers):
    case = dag(150, {70: "maximum", 71: "floor"}, "op=maximum,with=floor,path=no,kind=wrong_value", 3)
    alone, both = (minimise(case, workers=workers, servers=servers) for workers in (1, 2))
    assert both.case == alone.case
    assert (both.calls, both.graph_calls, both.log()) == (alone.calls, alone.graph_calls, alone.log())
