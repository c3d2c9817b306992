"""suture.testing.check_backend: shipped backends keep every law, and a backend that breaks one is told which, with a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import suture
from suture import backends
from suture._contract_cases import all_cases
from suture.testing import BACKEND_LAWS, check_backend

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("backend", ["native", "eager", "explain:print=none,base=native", backends.native])
def test_shipped_backends_keep_every_law(backend):
    report = check_backend(backend)
    report.raise_if_failed()
    assert report.ok and report.cases > 400
    assert str(report).endswith(f"{report.cases} programs, every law holds")


def test_the_reference_interpreter_says_which_laws_it_does_not_promise():
    report = check_backend("lowered_eager")
    assert set(report.broken_laws) <= {"conditions", "aliases"}
    check_backend("lowered_eager", without=report.broken_laws).raise_if_failed()


def test_cases_cover_every_op_that_can_be_captured():
    from suture import _core

    seen: set[str] = set()

    def noting(graph, inputs):
        seen.update(row["op"] for row in graph.nodes)
        return graph.forward()

    check_backend(noting).raise_if_failed()
    ops = {op["name"] for op in _core.op_table()}
    assert sorted(ops - seen) == []


def test_programs_have_names_of_their_own():
    names = [case.name for case in all_cases()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("op=maximum,kind=compile_error", "compiles"),
        ("op=maximum,kind=not_callable", "compiles"),
        ("op=maximum,kind=run_error", "runs"),
        ("op=maximum,kind=second_call_error", "runs"),
        ("op=maximum,kind=oom", "runs"),
        ("op=maximum,kind=wrong_type", "returns a tuple"),
        ("op=maximum,kind=wrong_count", "returns a tuple"),
        ("op=maximum,kind=wrong_dtype", "dtypes"),
        ("op=maximum,kind=wrong_shape", "shapes"),
        ("op=maximum,kind=wrong_stride", "strides"),
        ("op=maximum,kind=wrong_value", "values"),
        ("op=maximum,kind=wrong_value,when=call==2", "values"),
        ("op=maximum,kind=reused_output", "results stay"),
        ("op=maximum,kind=wrong_value,when=call==3", "values"),
        ("op=maximum,kind=mutated_input", "mutation"),
        ("op=maximum,kind=warning", "conditions"),
        ("op=slice,kind=copied_view", "aliases"),
        ("op=sin,kind=wrong_value,when=symbols>0&call==2", "sizes"),
    ],
)
def test_a_fault_breaks_its_law_and_no_other(fault, law):
    programs = "symbolic" if law == "sizes" else "view" if law == "aliases" else "maximum"
    report = check_backend(f"faulty:{fault}", cases=programs)
    assert report.broken_laws == [law]
    failure = report.smallest(law)
    op = fault.split(",")[0].removeprefix("op=")
    assert f" {op} " in failure.graph or f"{op}(" in failure.graph, failure.graph
    assert failure.nodes <= (6 if law == "sizes" else 4)
    text = str(report)
    assert f"\n{law}: {BACKEND_LAWS[law]}\n" in text and failure.case in text and failure.graph.splitlines()[0] in text
    with pytest.raises(AssertionError, match=law):
        report.raise_if_failed()


def test_a_backend_that_answers_at_random_is_found_out():
    report = check_backend("faulty:op=maximum,kind=nondeterministic", cases="maximum")
    assert report.failures and set(report.broken_laws) <= {"values", "deterministic"}


def other_bits(graph, inputs):
    """Right within a few ulp, and never twice the same."""
    forward, calls = graph.forward(), []

    def run(*inputs):
        calls.append(1)
        results = forward(*inputs)
        if len(calls) % 2 or not any(row["op"] == "tanh" for row in graph.nodes):
            return results
        return tuple(np.nextafter(r, np.inf, dtype=r.dtype) if r.dtype.kind == "f" else r for r in results)

    return run


def test_results_within_the_bound_must_still_be_the_same_every_time():
    assert check_backend(other_bits, cases="tanh").broken_laws == ["deterministic"]


def test_a_backend_that_shares_state_between_threads():
    import time

    def shared(graph, inputs):
        forward, state = graph.forward(), {}

        def run(*inputs):
            state["result"] = forward(*inputs)
            time.sleep(0.0002)
            return state["result"]

        return run

    assert check_backend(shared, cases="threads").broken_laws == ["threads"]


def test_a_backend_that_hands_on_all_but_plain_programs():
    """It breaks two laws in the few that it does itself: conditions, and memory that its calls share."""

    def partial(graph, inputs):
        ops = [row["op"] for row in graph.nodes if row["op"] != "placeholder"]
        if len(ops) != 1 or ops[0] not in ("div", "log", "exp", "mul"):
            return backends.native(graph, inputs)
        ufunc = {"div": np.divide, "log": np.log, "exp": np.exp, "mul": np.multiply}[ops[0]]
        scratch = np.empty(inputs[0].shape)

        def run(*inputs):
            with np.errstate(all="ignore"):
                return (ufunc(*inputs, out=scratch).copy(),)

        return run

    report = check_backend(partial, cases="conditions")
    assert report.broken_laws == ["conditions"]
    names = [failure.case.rpartition(": ")[2] for failure in report.failures]
    assert names == ["np.log(x)", "np.exp(x)", "x / y", "x * y"] * 2
    report = check_backend(partial, cases="threads")
    assert report.broken_laws == ["threads"]
    assert {failure.case.partition(": ")[2] for failure in report.failures} <= set(names)


def test_a_backend_that_writes_into_the_examples():
    def scribbling(graph, inputs):
        for each in inputs:
            if isinstance(each, np.ndarray) and each.dtype == np.float64 and each.flags.writeable:
                each *= 2
        return graph.forward()

    assert "compiling changes nothing" in check_backend(scribbling, cases="np.sin").broken_laws


def test_ulp_and_without_loosen_the_contract():
    def sloppy(graph, inputs):
        forward = graph.forward()

        def run(*inputs):
            return tuple(
                np.nextafter(each, np.inf, dtype=each.dtype)
                if getattr(each, "dtype", np.dtype("i8")).kind == "f"
                else each
                for each in forward(*inputs)
            )

        return run

    strict = check_backend(sloppy, cases="np.add, float")
    assert strict.broken_laws == ["values"]
    assert check_backend(sloppy, cases="np.add, float", ulp=1).ok
    assert check_backend(sloppy, cases="np.add, float", without=["values"]).ok
    with pytest.raises(ValueError, match="no law is named 'value'; did you mean 'values'?"):
        check_backend(sloppy, without=["value"])


def test_the_pytest_plugin_makes_one_test_per_program(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(suture.__file__).parents[1]))
    pytester.makepyfile(
        """
        def test_contract(suture_backend_law):
            suture_backend_law("faulty:op=maximum,kind=wrong_value")
        """
    )
    result = pytester.runpytest_subprocess("-q", "-p", "suture.pytest_plugin", "-k", "maximum or np.add")
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"]) == (5, 5)
    result.stdout.fnmatch_lines(["*values: Outputs have NumPy's values*"])


def test_laws_to_leave_out_may_come_one_by_one():
    every = check_backend("faulty:op=add,kind=wrong_dtype", cases="add").broken_laws
    assert every
    assert not set(
        check_backend("faulty:op=add,kind=wrong_dtype", cases="add", without=(law for law in every)).broken_laws
    ) & set(every)
