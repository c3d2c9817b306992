"""The option inject_fault: each kind does what its table says, where it is told to, loudly, and never unasked."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import suture
from suture import _core

X = np.linspace(-2.0, 2.0, 48).reshape(6, 8)
KINDS = {name: stage for name, stage, _ in _core.fault_tables()["kinds"]}


def chain(x):
    y = np.sin(x) - 1.5
    return np.maximum(y * x, x) * 3


def two_kernels(x):
    return x - x.sum()


def with_fault(text, function=chain, frames=1, **options):
    """The function compiled with this fault."""
    return suture.compile(function, options={"inject_fault": text, **options})


def records(compiled, event="fault_injected"):
    lines = map(json.loads, _core.explain_records(compiled))
    return [line["fields"] for line in lines if line["event"] == event]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and np.array_equal(a, b)


# --- the language ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind=nan,op=coss", "no op is named 'coss'; did you mean 'cos'?"),
        ("kind=nann", "no kind of fault is named 'nann'; did you mean 'nan'?"),
        ("stage=pass", "no stage is named 'pass'; did you mean 'passes'?"),
        ("op=add", "a fault has a kind or a stage"),
        ("stage=kernel,kind=drop_node", "kind=drop_node belongs to stage passes, not kernel"),
        ("kind=nan,kind=hang", "'kind' is there twice"),
        ("kind", "'kind' is no pair key=value"),
        ("kinds=nan", "no key is named 'kinds'; did you mean 'kind'?"),
        ("kind=nan,pass=fold_casts", "nan happens in stage kernel, so pass=fold_casts has no meaning"),
        ("kind=drop_node,pass=fold_cast", "no pass is named 'fold_cast'; did you mean 'fold_casts'?"),
        ("kind=drop_node,when=call==2", "'call==2' is known in kernels, and drop_node happens in stage passes"),
        ("kind=nan,when=nodes", "the condition 'nodes' has no comparison"),
        ("kind=nan,when=nods>3", "no word of a condition is named 'nods'; did you mean 'nodes'?"),
        ("kind=nan,when=nodes>x", "nodes is a number, not 'x'"),
        ("kind=nan,when=dtype==f8", "no dtype is named 'f8'; known: bool, int8"),
        ("kind=wrong_value,error=z", "error is a number, not 'z'"),
        ("kind=drop_guard,guard=constnt", "no kind of guard is named 'constnt'; did you mean 'constant'?"),
        ("kind=drop_guard,op=add", "drop_guard happens in stage guards, so op=add has no meaning"),
        ("kind=nan,guard=size", "nan happens in stage kernel, so guard=size has no meaning"),
        ("stage=resume,when=rank==2", "'rank==2' is known of ops, and swapped_locals happens in stage resume"),
    ],
)
def test_a_text_that_describes_no_fault_is_refused(text, message):
    with pytest.raises(ValueError) as caught:
        with_fault(text)
    assert str(caught.value).startswith(f"option 'inject_fault' cannot be '{text}': ") and message in str(caught.value)


def test_a_stage_alone_is_its_first_kind():
    compiled = with_fault("stage=codegen")
    with suture.testing.frames_compiled(expected=1):
        compiled(X)
    assert records(compiled)[0]["kind"] == "wrong_operator"


# --- kinds ----------------------------------------------------------------------------------------------------------------

WRONG_RESULTS = {
    "drop_node": ("op=maximum", lambda x: (np.sin(x) - 1.5) * x * 3),
    "swap_operands": ("op=sub", lambda x: np.maximum((1.5 - np.sin(x)) * x, x) * 3),
    "stale_value": ("op=sub", lambda x: np.maximum(np.sin(x) * x, x) * 3),
    "wrong_operator": ("op=sub", lambda x: np.maximum((np.sin(x) + 1.5) * x, x) * 3),
    "wrong_value": ("op=maximum,error=0.5", None),
    "nan": ("op=mul,when=nth==2", lambda x: np.full_like(x, np.nan)),
    "wrong_strides": ("op=mul", None),
    "wrong_dtype": ("op=mul", None),
}


@pytest.mark.parametrize("kind", WRONG_RESULTS)
def test_results_are_wrong_in_the_way_the_kind_says(kind):
    where, expected = WRONG_RESULTS[kind]
    compiled = with_fault(f"kind={kind},{where}")
    with suture.testing.frames_compiled(expected=1):
        result = compiled(X)
    assert not same(result, chain(X))
    if expected:
        np.testing.assert_allclose(result, expected(X), rtol=1e-14)
    assert result.shape == X.shape and compiled(X).shape == X.shape
    (record,) = records(compiled)
    assert (record["kind"], record["stage"]) == (kind, KINDS[kind])
    assert (record["file"], record["line"]) == (__file__, chain.__code__.co_firstlineno + (1 if "sub" in where else 2))


def test_wrong_values_of_kernels_by_dtype():
    for value, wrong in [
        (np.array([1.0, 4.0], np.float32), np.array([2.0, 8.0], np.float32)),
        (np.array([2, 5], np.int8), np.array([3, 4], np.int8)),
        (np.array([True, False]), np.array([False, True])),
    ]:
        compiled = with_fault("kind=wrong_value,op=copy,error=1", lambda x: x.copy())
        with suture.testing.frames_compiled(expected=1):
            assert same(compiled(value), wrong)


def test_swapped_arguments():
    def difference(a, b):
        return a - b

    compiled = with_fault("kind=swapped_arguments", difference)
    with suture.testing.frames_compiled(expected=1):
        np.testing.assert_array_equal(compiled(X, X * 3), X * 3 - X)


def test_swapped_steps_find_what_the_call_before_left():
    compiled = with_fault("kind=swapped_steps", two_kernels)
    with suture.testing.frames_compiled(expected=1):
        compiled(X + 1)
        np.testing.assert_array_equal(compiled(X), X - (X + 1).sum())


def test_nondeterministic_kernels():
    compiled = with_fault("kind=nondeterministic,op=maximum,error=1")
    with suture.testing.frames_compiled(expected=1):
        assert len({compiled(X).tobytes() for _ in range(64)}) > 2


def branching(x, name):
    x = x * 2
    z = x + (1 if name == "one" else 2)
    if z.sum() > 0:
        z = z + 1
    return z - x


# fault -> frames that compile, results of the calls with "one", "two"
OF_FRAMES = {
    "kind=drop_guard": (2, (2.0, 2.0)),  # the name that the entry was made for
    "kind=swapped_locals": (3, (0.0, -1.0)),  # z = x + 1 and x = z
    "kind=stale_local": (3, (3.0, 4.0)),  # z + 1 - x with the x of the caller
}


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("fault", OF_FRAMES)
def test_guards_and_resume_functions_go_wrong_with_every_backend(fault, backend):
    """The function compiles for each name whose guard is there, and the rest behind the branch once."""
    frames, wrong = OF_FRAMES[fault]
    compiled = suture.compile(branching, backend=backend, dynamic=False, options={"inject_fault": fault})
    with suture.testing.frames_compiled(expected=frames):
        got = [compiled(np.ones(3), name) for name in ("one", "two")]
    assert [branching(np.ones(3), name)[0] for name in ("one", "two")] == [2.0, 3.0]
    for result, expected in zip(got, wrong, strict=True):
        assert result[0] == expected
    (stage,) = {record["stage"] for record in records(compiled)}
    assert stage == KINDS[records(compiled)[0]["kind"]]


def test_a_dropped_guard_is_told_in_words():
    compiled = suture.compile(branching, options={"inject_fault": "kind=drop_guard"})
    with suture.testing.frames_compiled(expected=2):
        compiled(np.ones(3), "one")
    assert compiled.status()["injected_faults"] == ["drop_guard on guard name == 'one' (kind=drop_guard)"]


def test_lost_conditions():
    def root(x):
        return np.sqrt(x)

    sound = suture.compile(root)
    with suture.testing.frames_compiled(expected=1), pytest.warns(RuntimeWarning, match="invalid value"):
        sound(X)
    compiled = with_fault("kind=lost_conditions", root)
    with suture.testing.frames_compiled(expected=1), np.errstate(invalid="raise"):
        compiled(X)


FAILURES = {
    "unlawful_graph": "law types_follow_from_operands broken by sin",
    "pass_error": "inject_fault: pass_error",
    "schedule_error": "inject_fault: schedule_error",
    "codegen_error": "inject_fault: codegen_error",
    "bad_code": "injected_fault",
    "toolchain_error": "inject_fault: toolchain_error",
}


@pytest.mark.parametrize("kind", FAILURES)
def test_failures_of_the_compiler_are_defects_that_cost_the_compiled_code_only(kind):
    compiled = with_fault(f"kind={kind}")
    np.testing.assert_array_equal(compiled(X), chain(X))
    status = compiled.status()
    assert status["skipped"] and FAILURES[kind] in status["reason"]
    strict = with_fault(f"kind={kind}", strict=True)
    with pytest.raises(suture.InternalError, match=FAILURES[kind]):
        strict(X)


CRASHES = """\
import sys, numpy as np, suture
compiled = suture.compile(lambda x: np.maximum(x, 0), options={"inject_fault": sys.argv[1]})
print("before", flush=True)
compiled(np.ones(3))
print("after")
"""


@pytest.mark.parametrize(
    ("kind", "number"),
    [("segfault", signal.SIGSEGV), ("trap", signal.SIGILL), ("toolchain_segfault", signal.SIGSEGV)],
)
def test_crashes_end_the_process_by_their_signal(kind, number, run_python):
    done = run_python("-c", CRASHES, f"kind={kind}")
    assert (done.stdout, done.returncode) == ("before\n", -number)


@pytest.mark.parametrize("kind", ["hang", "toolchain_hang"])
def test_hangs_end_by_a_signal_that_python_does_not_handle(kind, run_python):
    limited = f"import signal\nsignal.setitimer(signal.ITIMER_REAL, 1.5)\n{CRASHES}"
    done = run_python("-c", limited, f"kind={kind}")
    assert (done.stdout, done.returncode) == ("before\n", -signal.SIGALRM)


def test_every_kind_has_a_test_here():
    with open(__file__) as file:
        text = file.read()
    assert [kind for kind in KINDS if f'"{kind}"' not in text and f"kind={kind}" not in text] == []


# --- where it acts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("op=cos", False),
        ("op=maximum,with=sin", True),
        ("op=maximum,with=cos", False),
        ("op=maximum,when=nodes==5", True),
        ("op=maximum,when=nodes>5", False),
        ("op=mul,when=nth==2", True),
        ("op=mul,when=nth==3", False),
        ("op=maximum,when=rank==2&dtype==float64", True),
        ("op=maximum,when=dtype!=float64", False),
        ("op=maximum,when=symbols>0", False),
        ("op=maximum,when=call==1", True),
        ("op=maximum,when=call==2", False),
        ("op=maximum,when=result>1.9", True),
        ("op=maximum,when=result>1000", False),
    ],
)
def test_places_and_conditions(when, expected):
    compiled = with_fault(f"kind=wrong_value,{when}")
    with suture.testing.frames_compiled(expected=1):
        assert same(compiled(X), chain(X)) is not expected


def test_a_fault_of_the_second_run():
    compiled = with_fault("kind=wrong_value,op=maximum,when=call==2")
    with suture.testing.frames_compiled(expected=1):
        assert [same(compiled(X), chain(X)) for _ in range(3)] == [True, False, True]


def test_a_wrong_fusion_is_gone_without_fusion():
    compiled = with_fault("kind=stale_value,op=sub", fusion=False)
    with suture.testing.frames_compiled(expected=1):
        assert same(compiled(X), chain(X))
    assert not records(compiled)


def test_a_wrong_pass_is_gone_without_the_pass():
    text = "kind=drop_node,op=maximum,pass=common_subexpressions"
    assert not same(with_fault(text)(X), chain(X))
    compiled = with_fault(text, skip_passes="common_subexpressions")
    with suture.testing.frames_compiled(expected=1):
        assert same(compiled(X), chain(X))


def test_a_fault_of_code_generation_is_in_the_text_and_not_in_the_schedule():
    compiled = with_fault("kind=wrong_operator,op=maximum")
    with suture.testing.frames_compiled(expected=1):
        compiled(X)
    (source,) = records(compiled, "kernel_source")
    assert "op_maximum(" not in source["code"].replace("// ", "")
    dump = [line["fields"] for line in map(json.loads, _core.explain_records(compiled)) if line["event"] == "lowered"]
    assert dump and "maximum" in dump[0]["after"]


def test_lines_of_a_kernel_with_a_fault_keep_their_origin():
    sound, faulty = suture.compile(chain), with_fault("kind=wrong_value,op=maximum")
    with suture.testing.frames_compiled(expected=2):
        sound(X), faulty(X)
    (a,), (b,) = records(sound, "kernel_source"), records(faulty, "kernel_source")
    assert a["lines"] == b["lines"]
    assert a["code"].count("\n") == b["code"].count("\n") and a["code"] != b["code"]


# --- loudly ---------------------------------------------------------------------------------------------------------------


def test_status_and_explain_name_it():
    compiled = with_fault("kind=wrong_value,op=maximum")
    with suture.testing.frames_compiled(expected=1):
        compiled(X)
    assert compiled.status()["injected_faults"] == ["wrong_value on op 'maximum' (kind=wrong_value,op=maximum)"]
    explanation = suture.explain(compiled)
    assert "Injected Fault: wrong_value (kernel) on op 'maximum' at " in str(explanation)
    (fault,) = explanation.to_dict()["injected_faults"]
    assert (fault["kind"], fault["op"], fault["function"], fault["count"]) == ("wrong_value", "maximum", "chain", 1)
    assert "Faults on purpose" in explanation._repr_html_()
    sound = suture.compile(chain)
    sound(X)
    assert "Faults on purpose" not in suture.explain(sound)._repr_html_()
    assert sound.status()["injected_faults"] == [] and "Injected" not in str(suture.explain(sound))


PROGRAM = "import suture, numpy as np\nprint(suture.compile(lambda x: x + 1)(np.ones(2)))\n"


def test_the_log_warns_without_any_setting(run_python):
    done = run_python("-c", PROGRAM, SUTURE_INJECT_FAULT="kind=wrong_value,op=add,error=1")
    assert done.stdout == "[4. 4.]\n"
    assert "inject_fault is on: wrong_value (kernel) on op 'add' of graph" in done.stderr
    assert "wrong on purpose" in done.stderr


def test_doctor_and_check_call_it_a_problem(run_python, tmp_path):
    done = run_python("-m", "suture", "doctor", SUTURE_INJECT_FAULT="kind=nan")
    assert "inject_fault=kind=nan is on: compiled functions are wrong on purpose" in done.stderr
    assert done.returncode == 1 and "compiler     none" not in done.stderr
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_python("-m", "suture", "check", "--json", "program.py", SUTURE_INJECT_FAULT="kind=nan,op=add")
    (finding,) = [each for each in json.loads(done.stdout)["findings"] if each["id"] == "inject_fault"]
    assert finding["what"] == "A fault on purpose: nan (kernel) on op 'add'" and done.returncode == 1


def test_a_wrong_text_in_the_environment_is_a_warning_and_no_fault(run_python):
    done = run_python("-c", PROGRAM, SUTURE_INJECT_FAULT="kind=nann")
    assert done.stdout == "[2. 2.]\n"
    assert "SUTURE_INJECT_FAULT: using ''" in done.stderr and "did you mean 'nan'?" in done.stderr
