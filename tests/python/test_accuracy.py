"""The judge of results (suture._minify.accuracy) and of single ops (taps): what is right passes, what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from suture import _core
from suture._minify import accuracy, taps
from suture._minify.analysis_text import text_of
from suture._minify.case import Case
from suture._minify.reference import program_of
from suture._minify.run_case import compile_case
from suture._ulps import same_bits, ulp_distance
from suture.testing import frames_compiled

RNG = np.random.default_rng(5)


def case_of(function, *arguments, **settings) -> Case:
    """The one graph of a function, as backends get it."""
    cases = []

    def keep(graph, examples):
        cases.append(Case.of(graph, examples, **settings))
        return graph.forward()

    with frames_compiled() as frames, np.errstate(all="ignore"):
        suture.compile(function, backend=keep)(*arguments)
    assert frames.count == 1 and len(cases) == 1
    return cases[0]


def compiler(case, spoil=None):
    """Compiles graphs as the case says; `spoil(graph, outputs)` changes the outputs of every call."""

    def compile_graph(graph):
        compiled = compile_case(case.with_(graph_text=graph.to_text()))
        if spoil is None:
            return compiled
        return lambda *inputs: tuple(spoil(graph, [copied(value) for value in compiled(*inputs)]))

    return compile_graph


def copied(value):
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def spoil_node(name, change):
    """Changes the value of one node wherever a graph returns it."""

    def spoil(graph, outputs):
        return [change(value) if node == name else value for node, value in zip(graph.outputs, outputs, strict=True)]

    return spoil


def analysis_of(case, spoil=None):
    return taps.analyze(case.graph, case.objects, compiler(case, spoil))


# --- distances -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ulp_distance_counts_the_floats_between(dtype):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    one = dtype(1)
    a = np.array([1, 0.0, -0.0, tiny, -tiny, huge, np.nan, np.nan, 1], dtype)
    b = np.array([np.nextafter(one, dtype(2)), -0.0, tiny, -tiny, -tiny, np.inf, np.nan, 1, np.nan], dtype)
    assert ulp_distance(a, b).tolist() == [1, 0, 1, 2, 0, 1, 0, np.inf, np.inf]
    assert ulp_distance(a[:1], -a[:1])[0] > 2 ** (np.finfo(dtype).nmant + 1)


def test_ulp_distance_of_complex_numbers_is_that_of_the_farther_part():
    a = np.array([1 + 2j])
    assert ulp_distance(a, a + np.spacing(2.0) * 3j).tolist() == [3]


def test_ulp_distance_of_single_numbers_warns_of_nothing():
    with np.errstate(all="raise"):
        assert ulp_distance(np.asarray(-1.0), np.asarray(1.0)) == 2 * 0x3FF0000000000000


def test_same_bits_tells_zeros_apart_and_not_nans():
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    assert same_bits(np.array([np.nan]), np.array([-np.nan]))


# --- the reference ---------------------------------------------------------------------------------------------------------


def test_the_program_runs_op_by_op_with_views_and_stores_as_in_the_program():
    def f(x):
        y = x[1:] * 2.0
        z = y.T
        y[0] = -1.0
        x += 1
        return z + 1, y.sum(axis=0)

    x = RNG.uniform(-1, 1, (4, 3))
    case = case_of(f, x.copy())
    program, inputs = program_of(case.graph, case.objects()), case.objects()
    outputs = program.outputs(program.run(inputs))
    right = case.objects()
    for got, wanted in zip(outputs, case.graph.eval(*right), strict=True):
        assert same_bits(got, wanted)
    assert same_bits(inputs[0], right[0]) and same_bits(inputs[0], x + 1)


@pytest.mark.parametrize("dtype, wider", [("float32", np.float64), ("float64", np.longdouble)])
def test_the_reference_computes_in_the_next_wider_dtype(dtype, wider):
    x = RNG.uniform(0.1, 3, 50).astype(dtype)
    case = case_of(lambda x: np.exp(x).astype(dtype) * 0.1 + np.full(50, 2, dtype), x)
    program = program_of(case.graph, case.objects())
    exact = program.outputs(program.run(case.objects(), wide=True))[0]
    assert exact.dtype == wider
    factor = wider(x.dtype.type(0.1))  # 0.1 meets the array in the program's precision
    np.testing.assert_array_equal(exact, np.exp(x.astype(wider)) * factor + 2)


def test_what_depends_on_a_bounded_op_is_known_through_views_and_stores():
    def f(x, y):
        a = np.exp(x)
        b = y * 2
        b[1:] = a[1:]
        return b.sum(), y + 1, (x > 0).sum()

    program = program_of((case := case_of(f, RNG.uniform(0, 1, 4), RNG.uniform(0, 1, 4))).graph, case.objects())
    total, plain, count = program.graph.outputs
    assert total in program.tainted and plain not in program.tainted and count not in program.tainted


# --- judging results -------------------------------------------------------------------------------------------------------


def mixed(x, y, n):
    a = np.exp(x) + np.sin(y)
    b = a[1:] * n
    b[0] = 3.0
    c = np.tanh(b).sum(axis=0)
    return c, np.log(x * x), np.power(np.abs(x), 1.7), c.astype(np.float32).mean(), (x > 0.25).sum()


def mixed_case(dtype="float64"):
    x, y = RNG.uniform(-2, 2, (40, 30)).astype(dtype), RNG.uniform(-9, 9, 30).astype(dtype)
    return case_of(mixed, x, y, 2.5)


def judged(case, results, inputs=None):
    program = program_of(case.graph, case.objects())
    return accuracy.judge(program, case.objects, results, inputs if inputs is not None else case.objects())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_results_are_right(dtype):
    case = mixed_case(dtype)
    assert judged(case, compile_case(case)(*case.objects())) == []


def changed(results, index, change):
    out = [copied(value) for value in results]
    out[index] = change(out[index])
    return out


def off_by(ulps, place=(3,)):
    def change(value):
        array = np.asarray(value)
        array[place] += ulps * np.spacing(array[place])
        return array if isinstance(value, np.ndarray) else type(value)(array)

    return change


def test_exact_outputs_must_have_numpys_bits():
    case = case_of(lambda x: (x * 3 - 1, (x * x).sum(axis=0)), RNG.uniform(-1, 1, (9, 5)))
    results = case.graph.eval(*case.objects())
    assert judged(case, results) == []
    for output in (0, 1):
        wrong = judged(case, changed(results, output, off_by(1)))
        assert [(d.what, d.kind, d.allowed) for d in wrong] == [(f"output {output}", "wrong_value", 0.0)]


def test_results_behind_bounded_ops_may_be_rounded_otherwise_and_no_more():
    case = mixed_case()
    results = case.graph.eval(*case.objects())
    assert judged(case, changed(results, 2, off_by(1, (3, 4)))) == []
    wrong = judged(case, changed(results, 2, off_by(40, (3, 4))))
    assert wrong[0].index == (3, 4) and wrong[0].ulp == 40 and "rounding explains" in wrong[0].message


def test_what_cancels_may_be_far_away():
    """exp(x) - exp(x) * (1 + 1e-14): nearly all digits are lost, in right programs, too."""
    x = RNG.uniform(0, 1, 1000)
    case = case_of(lambda x: np.exp(x) - np.exp(x + 1e-15), x)
    results = compile_case(case)(*case.objects())
    wanted = case.graph.eval(*case.objects())
    far = np.nan_to_num(ulp_distance(results[0], wanted[0])).max()
    assert judged(case, results) == [], f"{far} ULP apart"
    assert judged(case, changed(wanted, 0, lambda value: value + 1e-13))


def test_integers_and_truth_values_are_exact():
    case = mixed_case()
    wrong = judged(case, changed(case.graph.eval(*case.objects()), 4, lambda n: type(n)(n + 1)))
    assert [d.what for d in wrong] == ["output 4"]


def test_a_comparison_that_rounding_can_flip_is_not_judged():
    x = np.full(50, 0.3)
    case = case_of(lambda x: np.exp(x) > np.exp(0.3 + 0 * x), x)
    wanted = case.graph.eval(*case.objects())[0]
    assert judged(case, (~wanted,)) == []
    case = case_of(lambda x: np.exp(x) > 1.0, x)
    assert judged(case, (np.zeros(50, bool),))


@pytest.mark.parametrize(
    "change, kind",
    [
        (lambda value: value.astype(np.float32), "wrong_dtype"),
        (lambda value: value[:-1], "wrong_shape"),
        (lambda value: np.where(np.arange(30) == 4, np.nan, value), "wrong_value"),
        (lambda value: np.where(np.arange(30) == 4, np.inf, value), "wrong_value"),
        (lambda value: np.zeros(30), "wrong_value"),
    ],
)
def test_other_types_shapes_and_special_values_are_wrong(change, kind):
    case = mixed_case()
    assert judged(case, changed(case.graph.eval(*case.objects()), 0, change))[0].kind == kind


def test_signs_of_zeros_and_subnormals_count_where_results_are_exact():
    tiny = np.finfo(np.float64).smallest_subnormal
    case = case_of(lambda x: x * 0.5, np.array([-tiny, tiny * 3, 0.0, -0.0, 1.0]))
    results = case.graph.eval(*case.objects())
    for place, value in ((0, 0.0), (2, -0.0), (1, tiny * 3)):
        spoilt = changed(results, 0, lambda a, p=place, v=value: np.where(np.arange(5) == p, v, a))
        assert judged(case, spoilt), (place, value)


def test_inputs_that_the_call_changed_are_judged():
    def f(x):
        x *= 2
        return x.sum()

    case = case_of(f, RNG.uniform(-1, 1, 8))
    inputs = case.objects()
    results = compile_case(case)(*inputs)
    assert judged(case, results, inputs) == []
    inputs[0][3] += 1e-15
    assert judged(case, results, inputs)[0].what == "input 0 after the call"


# --- judging ops -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_op_of_a_right_program_is_ok(dtype):
    case = mixed_case(dtype)
    analysis = analysis_of(case)
    assert not analysis.wrong and analysis.first is None
    assert {row.verdict for row in analysis.rows if row.bound} == {taps.OK}
    assert all(row.ulp <= row.bound + 0.52 for row in analysis.rows)
    assert {row.kernel for row in analysis.rows if row.node == "exp"} != {""}
    assert "no op diverges" in text_of(analysis)


@pytest.mark.parametrize("node, ulps", [("exp", 3), ("log", 2), ("pow", 2), ("add", 1), ("mul_1", 1), ("sum", 1)])
def test_the_first_diverging_op_is_named_with_its_line_and_operands(node, ulps):
    """A few ULP too many in one element of one value; what follows is computed from it."""
    case = mixed_case()
    place = (3,) if node == "sum" else (3, 4)
    analysis = analysis_of(case, spoil_node(node, off_by(ulps, place)))
    assert analysis.first is not None and analysis.found_by == "taps"
    assert (analysis.first.node, analysis.first.index) == (node, place)
    assert analysis.first.file == __file__ and analysis.first.line == line_of(node)
    text = text_of(analysis)
    assert f"FIRST DIVERGING OP: {node}" in text and f"test_accuracy.py:{analysis.first.line}" in text


def line_of(node):
    first = mixed.__code__.co_firstlineno
    return first + {"exp": 1, "add": 1, "sum": 4, "mul_1": 5, "log": 5, "pow": 5}[node]


def test_an_op_is_judged_on_the_values_it_was_given():
    """exp is wrong; what is computed from it, though far from NumPy's, is right for what it was given."""
    case = case_of(lambda x: np.sqrt(np.exp(x) * 3 + 1), RNG.uniform(0, 1, 100))

    def wrong_exp(graph):
        """All values follow from a wrong exp."""

        def call(x):
            values = {"exp": np.exp(x) * 1.01}
            values["mul"] = values["exp"] * 3
            values["add"] = values["mul"] + 1
            values["sqrt"] = np.sqrt(values["add"])
            return tuple(values[name] for name in graph.outputs)

        return call

    analysis = taps.analyze(case.graph, case.objects, wrong_exp)
    assert [row.node for row in analysis.rows if row.verdict == taps.DIVERGES] == ["exp"]
    assert analysis.results and analysis.first.node == "exp"


def test_a_failure_that_goes_when_values_are_looked_at_is_found_by_prefixes():
    """Wrong only where mul is not an output: what a fused kernel hands over from op to op."""
    case = case_of(lambda x: np.sqrt(np.abs(x) * 3 + 1) - 2, RNG.uniform(-1, 1, 100))

    def compile_graph(graph):
        compiled = compiler(case)(graph)
        hidden = "mul" not in graph.outputs and "add" in {node["name"] for node in graph.nodes}
        return (lambda *inputs: tuple(value + 1e-9 for value in compiled(*inputs))) if hidden else compiled

    analysis = taps.analyze(case.graph, case.objects, compile_graph)
    assert analysis.found_by == "prefix" and analysis.first.node == "add"
    assert any("fusion" in note for note in analysis.notes)


def test_results_that_change_from_call_to_call_are_nondeterministic():
    case = case_of(lambda x: np.exp(x) + 1, RNG.uniform(0, 1, 10))
    noise = np.random.default_rng(0)
    analysis = analysis_of(case, spoil_node("add", lambda value: value + noise.uniform(1, 2)))
    assert analysis.nondeterministic == ["output 0"] and analysis.wrong


def test_kernels_are_judged_where_they_meet_conditions_that_numpy_reports():
    """Elsewhere NumPy would do the work again, and its results would be judged."""
    case = case_of(lambda x: np.log(x) + 1 / x, np.array([1.0, -1.0, 0.0, np.inf]))
    assert not analysis_of(case).wrong
    spoil = spoil_node("log", lambda a: np.where(np.isnan(a), 5.0, a))
    assert analysis_of(case, spoil).first.index == (1,)


def test_special_values_are_ok_where_numpy_has_them_and_named_where_not():
    x = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-320, 709.0, -745.0, 0.5])
    case = case_of(lambda x: np.arctan(x) * 2, x)
    assert not analysis_of(case).wrong
    for place, value in ((0, np.nan), (3, 0.0), (4, 0.0), (1, np.inf)):
        spoil = spoil_node("arctan", lambda a, p=place, v=value: np.where(np.arange(8) == p, v, a))
        analysis = analysis_of(case, spoil)
        assert analysis.first.node == "arctan" and analysis.first.index == (place,)


def test_a_case_is_analyzed_in_a_child_and_crashes_cost_nothing():
    case = case_of(
        mixed, RNG.uniform(-2, 2, (4, 3)), RNG.uniform(-9, 9, 3), 2.5, backend="faulty:op=pow,kind=wrong_value"
    )
    analysis = taps.analyze_case(case)
    assert analysis.first.node == "pow" and analysis.first.line == line_of("pow")
    assert taps.Analysis.from_dict(analysis.to_dict()) == analysis
    died = taps.analyze_case(case.with_(backend="faulty:op=pow,kind=segfault"))
    assert died.wrong and "SIGSEGV" in text_of(died)
    assert "within 1 s" in taps.analyze_case(case.with_(backend="faulty:op=pow,kind=hang"), seconds=1).died


def test_values_that_nobody_reads_any_more_are_let_go():
    case = mixed_case()
    program = program_of(case.graph, case.objects())
    every = program.run(case.objects())
    few = program.run(case.objects(), keep_all=False)
    assert set(few) == {*program.placeholders, *program.graph.outputs} < set(every)
    assert all(same_bits(np.asarray(few[name]), np.asarray(every[name])) for name in few)
    assert program.bytes_of_values() == sum(
        np.asarray(every[op.name]).nbytes for op in program.ops if op.kind != "View"
    )


def test_graphs_whose_values_do_not_fit_into_memory_are_judged_by_their_results(monkeypatch):
    monkeypatch.setattr(taps, "_free_memory", lambda: 100_000)
    case = mixed_case()
    analysis = analysis_of(case, spoil_node("log", off_by(99, (3, 4))))
    assert analysis.rows == [] and analysis.results and "minimise the case first" in text_of(analysis)


@pytest.mark.parametrize("seed", range(6))
def test_right_programs_raise_no_alarm(seed):
    """A sample of what bench/accuracy.py measures: 0 alarms in thousands of runs."""
    from bench.accuracy import random_program, with_data

    case = random_program(seed, ("float64", "float32")[seed % 2])
    for kind in ("around 1", "wide", "bits"):
        each = with_data(case, kind, np.random.default_rng(seed))
        analysis = analysis_of(each)
        assert not analysis.wrong, text_of(analysis)


def test_symbolic_sizes_are_analyzed_at_the_sizes_of_the_case():
    cases = []

    def keep(graph, examples):
        cases.append(Case.of(graph, examples))
        return graph.forward()

    def f(x):
        return np.exp(x) * x.shape[0]

    compiled = suture.compile(f, backend=keep, dynamic=True)
    compiled(RNG.uniform(0, 1, 11))
    case = cases[0]
    assert case.graph.symbols and not analysis_of(case).wrong
    assert analysis_of(case, spoil_node("mul", off_by(1))).first.node == "mul"
    assert _core.Graph.from_text(case.graph_text).symbols
