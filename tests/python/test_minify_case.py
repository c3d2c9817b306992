"""Cases: what they keep of a call, how they are written, and how runs of them end."""

import json

import numpy as np
import pytest

import suture
from suture import _core
from suture._minify import run_case
from suture._minify.case import Case, CaseError, Input, inputs_of, make_objects
from suture._minify.run_case import run
from suture._minify.signature import Outcome, Signature, Verdict, normalise

X = np.arange(12.0).reshape(3, 4)


def case_of(function, *arguments, dynamic=None, **settings):
    found = []

    def keep(graph, inputs):
        found.append(Case.of(graph, inputs, **settings))
        return graph.forward()

    suture.compile(function, backend=keep, dynamic=dynamic)(*arguments)
    assert len(found) == 1
    return found[0]


def program(x, y):
    a = np.maximum(x, y) * 2
    a[0] += 1.0
    return a.sum(axis=0), x[::2]


# --- inputs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [X, X[1:], X[::-1, 2]],  # one memory
        [X.T, X.copy(), 2.5, 3, True, np.float32(1.5)],
        [np.broadcast_to(np.float32(3), (2, 5)), np.empty((0, 3)), np.array(7)],
        [np.zeros(9, np.int8)[3:], np.arange(6)[::-2]],
    ],
)
def test_objects_are_like_the_inputs_they_were_made_from(values):
    made = make_objects(inputs_of(values))
    for new, old in zip(made, values, strict=True):
        assert type(new) is type(old)
        np.testing.assert_array_equal(new, old)
        if isinstance(old, np.ndarray):
            assert (new.dtype, new.strides, new.flags.writeable) == (old.dtype, old.strides, old.flags.writeable)
            if old.size:
                assert new.ctypes.data % 64 == old.ctypes.data % 64 or np.shares_memory(new, made[0])
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
                assert np.shares_memory(made[i], made[j]) == np.shares_memory(a, b)


def test_objects_are_fresh_each_time():
    inputs = inputs_of([X])
    make_objects(inputs)[0][...] = 9
    np.testing.assert_array_equal(make_objects(inputs)[0], X)


def test_what_is_no_input_is_refused():
    with pytest.raises(CaseError, match="no inputs of type str"):
        Input.of("text")


# --- text and files -------------------------------------------------------------------------------------------------------


def test_a_case_survives_json_and_files(tmp_path):
    case = case_of(program, X, X[::-1].copy(), options={"fusion": False}, calls=3, backend="eager")
    again = Case.from_dict(json.loads(json.dumps(case.to_dict())))
    assert again == case
    assert again.key == case.key
    assert Case.load(case.save(tmp_path)).key == case.key
    assert not [path for path in tmp_path.iterdir() if path.suffix not in (".json", ".npy")]


def test_numbers_come_back_bit_for_bit():
    values = [float("nan"), -0.0, 2**62, np.float32(1) / np.float32(3), False]
    case = case_of(lambda x, y: x * y, X, 2.0).with_(inputs=inputs_of(values))
    again = Case.from_dict(json.loads(json.dumps(case.to_dict())))
    assert [item.digest for item in again.inputs] == [item.digest for item in case.inputs]
    assert [type(each) for each in again.objects()] == [type(each) for each in values]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 7}, "schema 7"),
        ({"check": "everything"}, "check is one of"),
        ({"calls": 0}, "at least one call"),
        ({"inputs": [{"kind": "pickle"}]}, "kind"),
        ({"inputs": 3}, "no case"),
    ],
)
def test_what_is_no_case_is_refused_in_words(change, message):
    header = case_of(program, X, X.copy()).to_dict() | change
    with pytest.raises(CaseError, match=message):
        Case.from_dict(header)


def test_data_of_one_kind_is_not_taken_for_another(tmp_path):
    values = [np.zeros((2, 1)), np.zeros(2), np.zeros((1, 2)), np.zeros(4, np.float32)]
    inputs = inputs_of(values)
    assert len({item.digest for item in inputs}) == 4
    case = case_of(program, X, X.copy()).with_(inputs=inputs)
    assert [item.shape for item in Case.load(case.save(tmp_path)).inputs] == [value.shape for value in values]


def test_data_files_are_looked_for_beside_the_case_only(tmp_path):
    path = case_of(program, X, X.copy()).save(tmp_path)
    header = json.loads(path.read_text())
    header["inputs"][0]["data"] = "../../etc/passwd"
    path.write_text(json.dumps(header))
    with pytest.raises(CaseError, match="not beside the case"):
        Case.load(path)


def test_pickles_are_not_opened(tmp_path):
    path = case_of(program, X, X.copy()).save(tmp_path)
    header = json.loads(path.read_text())
    np.save(tmp_path / header["inputs"][0]["data"], np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(CaseError, match="allow_pickle"):
        Case.load(path)


def test_names_and_places_do_not_count_in_keys():
    case = case_of(program, X, X.copy())
    assert case.with_(graph_text=case.graph.canonical_text()).key == case.key
    assert case.with_(calls=2).key != case.key
    assert case.with_(inputs=inputs_of([X, X + 1])).key != case.key


def test_symbols_without_a_carrier_become_ints():
    case = case_of(lambda x, n: x[1:] * n, np.arange(5.0), 3, dynamic=True)
    assert [item.kind for item in case.inputs] == ["array", "int"]
    assert run(case).kind == "pass"


# --- outcomes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["native", "eager", "lowered_eager"])
def test_a_good_backend_passes(backend):
    assert run(case_of(program, X, X[::-1].copy(), backend=backend, calls=2)).kind == "pass"


@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        ("compile_error", "compile_error", 1),
        ("not_callable", "compile_error", 1),
        ("run_error", "run_error", 1),
        ("second_call_error", "run_error", 2),
        ("warning", "warning", 1),
        ("wrong_value", "wrong_value", 1),
        ("oom", "oom", 1),
        ("wrong_dtype", "wrong_dtype", 1),
        ("wrong_shape", "wrong_shape", 1),
        ("wrong_stride", "wrong_strides", 1),
        ("wrong_type", "run_error", 1),
        ("wrong_count", "run_error", 1),
        ("reused_output", "wrong_alias", 2),
        ("mutated_input", "wrong_value", 1),
    ],
)
def test_faults_show_as_what_they_are(fault, kind, calls):
    outcome = run(case_of(program, X, X[::-1].copy(), backend=f"faulty:op=maximum,kind={fault}", calls=calls))
    assert (outcome.kind, outcome.call) == (kind, 0 if kind == "compile_error" else calls)
    assert Signature.of(outcome).judge(outcome) is Verdict.SAME


def test_a_copied_view_shows():
    outcome = run(case_of(lambda x: np.exp(x)[0] + x[1:], X).with_(backend="eager"))
    assert outcome.kind == "pass"
    outcome = run(case_of(lambda x: x[1:], X, backend="faulty:op=slice,kind=copied_view"))
    assert outcome.kind == "wrong_alias"


def test_where_numpy_raises_nothing_can_be_said():
    with np.errstate(invalid="raise"):
        outcome = run(case_of(lambda x: np.sqrt(x) + 1, X).with_(inputs=inputs_of([-X])))
    assert (outcome.kind, outcome.stage) == ("invalid", "reference")
    assert Signature("wrong_value").judge(outcome) is Verdict.INFRA


def test_inputs_that_do_not_fit_the_graph_are_not_run():
    outcome = run(case_of(program, X, X.copy()).with_(inputs=inputs_of([X.T, X])))
    assert (outcome.kind, outcome.stage) == ("invalid", "build")


# --- signatures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no kernel for mul_17 of shape (3, 4)", "no kernel for mul_2 of shape (8,)"),
        ("bad pointer 0x7f12ab in /tmp/a/b.cpp:12", "bad pointer 0x12 in /home/u/c.cpp:9"),
        ("cpp_fused_add_sin_0 takes 4 inputs", "cpp_fused_sin_3 takes 12 inputs"),
        ("size s0 * 12 of [s0, 4]", "size s1 * 3 of [2]"),
    ],
)
def test_messages_of_one_cause_are_one(one, other):
    assert normalise(one) == normalise(other)


def test_messages_of_two_causes_stay_two():
    assert normalise("no kernel for maximum") != normalise("no kernel for minimum")


def test_another_failure_is_told_apart():
    signature = Signature.of(Outcome("run_error", "run", "ValueError", "bad axis 3"))
    assert signature.judge(Outcome("run_error", "run", "ValueError", "bad axis 1")) is Verdict.SAME
    assert signature.judge(Outcome("run_error", "run", "ValueError", "bad dtype")) is Verdict.OTHER
    assert signature.judge(Outcome("run_error", "run", "TypeError", "bad axis 3")) is Verdict.OTHER
    assert signature.judge(Outcome("wrong_value")) is Verdict.OTHER
    assert signature.judge(Outcome("pass")) is Verdict.PASS
    assert Signature.from_dict(json.loads(json.dumps(signature.to_dict()))) == signature


def test_a_signature_needs_a_failure():
    with pytest.raises(ValueError, match="no failure"):
        Signature.of(Outcome("pass"))


def test_rounding_to_float32_is_no_wrong_value_of_a_float64():
    """The last place of a sine in float32 is 2**29 places of the float64 that it becomes."""
    text = """graph "f" captured
  a = placeholder() : f32[64] ; "a"
  b = placeholder() : i64[64] ; "b"
  sin = sin(a) : f32[64] ; "np.sin"
  add = add(b, b) : i64[64] ; "+"
  mul = mul(sin, add) : f64[64] ; "*"
  inputs a, b
  return mul
"""
    graph = _core.Graph.from_text(text)
    given = [np.linspace(-3, 3, 64, dtype=np.float32), np.arange(64)]
    case = Case(graph.to_text(), inputs_of(given))
    right = graph.forward()(*given)[0]
    off = right + np.spacing(np.float32(np.abs(right).max()))
    assert run_case.compare(case, (off,), given) is None
    assert run_case.compare(case, (right + 0.5,), given).kind == "wrong_value"
    exact = Case(graph.subgraph(["add"])[0].to_text(), inputs_of([given[1]]))
    assert run_case.coarseness(exact) == 0
