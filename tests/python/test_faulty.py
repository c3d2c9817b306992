"""The backend that fails on purpose: its language, and that each kind of fault shows as what the table says."""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pytest

import suture
from suture import _backends, _core, _fault_spec
from suture._faulty import InjectedFault

X = np.linspace(-2.0, 2.0, 12).reshape(3, 4)


def chain(x):
    y = np.sin(x) + 1
    return np.maximum(y, 0) * 3


def compiled_with(text, function=chain, frames=1, x=X):
    """The function compiled with this faulty backend, after its first call, and what that gave."""
    compiled = suture.compile(function, backend=f"faulty:{text}")
    with suture.testing.frames_compiled(expected=frames):
        return compiled, compiled(x.copy())


# --- the language ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("faulty:op=maximm", "no op is named 'maximm'; did you mean 'maximum'?"),
        ("faulty:knd=run_error", "no key is named 'knd'; did you mean 'kind'?"),
        ("faulty:kind=explode", "no kind of fault is named 'explode'; known: compile_error, "),
        ("faulty:maximum", "'maximum' is no pair key=value"),
        ("faulty:op=add,op=sub", "'op' is there twice"),
        ("faulty:when=nodes", "the condition 'nodes' has no comparison; it looks like nodes>=5"),
        ("faulty:when=node>=5", "no word of a condition is named 'node'; did you mean 'nodes'?"),
        ("faulty:when=nodes>=five", "nodes is compared with an int, not 'five'"),
        ("faulty:when=operand>x,kind=run_error", "operand is compared with a number, not 'x'"),
        ("faulty:when=dtype==f8", "no dtype is named 'f8'"),
        ("faulty:when=dtype>=float64", "dtype is compared with == or !=, not >="),
        ("faulty:when=call==2", "'call==2' is known when a graph runs, and compile_error happens when it is compiled"),
        ("faulty:error=big,kind=wrong_value", "'big' is no number"),
        ("faulty:raises=IndexErr", "no built-in exception is named 'IndexErr'; did you mean 'IndexError'?"),
        ("faulty:kind=wrong_value,raises=OSError", "kind=wrong_value raises nothing, so raises=OSError has no meaning"),
        ("faulty:kind=run_error,at=compile", "kind=run_error cannot be moved; at=compile has no meaning"),
        ("faulty:path=yes", "path says how op and with are connected, and no with is given"),
        ("faulty:base=faulty:op=add", "base cannot be a faulty backend"),
        ("faulty:base=eagr", "no backend is named 'eagr'; did you mean 'eager'?"),
    ],
)
def test_a_text_that_describes_no_fault_is_refused_with_what_is_allowed(text, message):
    with pytest.raises(ValueError) as caught:
        suture.compile(chain, backend=text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "faulty",
        "faulty:op=maximum,kind=wrong_value,error=0.5",
        "faulty:op=sum,kind=run_error,when=nodes>=5&dtype==float32&attr.axes==[0, 1],raises=KeyError",
        "faulty:op=sin,kind=hang,with=maximum,path=yes,at=compile,base=lowered_eager",
    ],
)
def test_a_fault_is_written_as_the_text_that_gives_it(text):
    fault = _fault_spec.parse(text)
    assert str(fault) == text
    assert _fault_spec.parse(str(fault)) == fault


def test_ops_have_their_names_in_graphs_and_in_numpy():
    assert {_fault_spec.parse(f"faulty:op={name}").op for name in ("sub", "subtract", "np.subtract")} == {"sub"}


def test_the_name_is_listed_and_belongs_to_the_package():
    assert "faulty" in suture.list_backends()
    for name in ("faulty", "faulty:op=add", "explain"):
        with pytest.raises(ValueError, match="cannot be registered"):
            suture.register_backend(name, _backends.eager)


def test_the_name_says_everything_another_process_needs():
    name, made = _backends.resolve("faulty:op=add")
    assert _backends.is_installed(name, made)
    assert not _backends.is_installed("eager", made)


def test_a_wrong_text_in_the_environment_is_a_warning(run_python):
    program = "import suture, numpy as np\nprint(suture.compile(lambda x: x + 1)(np.ones(2)))"
    done = run_python("-c", program, SUTURE_BACKEND="faulty:op=ad")
    assert done.stdout == "[2. 2.]\n"
    assert "SUTURE_BACKEND: using 'native'; backend 'faulty:op=ad': no op is named 'ad'" in done.stderr


def test_the_environment_can_ask_for_a_fault(run_python):
    program = "import suture, numpy as np\nprint(suture.compile(lambda x: x + 1)(np.ones(2)))"
    done = run_python("-c", program, SUTURE_BACKEND="faulty:op=add,kind=wrong_value,error=1")
    assert done.stdout == "[4. 4.]\n", done.stderr


# --- kinds ----------------------------------------------------------------------------------------------------------------


def test_compile_error():
    compiled = suture.compile(chain, backend="faulty:op=maximum", options={"strict": True})
    with pytest.raises(InjectedFault, match="^backend faulty: compile_error on op 'maximum'$"):
        compiled(X)


def test_a_backend_that_does_not_compile_costs_the_compiled_code_only():
    compiled = suture.compile(chain, backend="faulty:op=maximum")
    np.testing.assert_array_equal(compiled(X), chain(X))
    assert "compile_error on op 'maximum'" in compiled.status()["reason"]


def test_not_callable():
    compiled = suture.compile(chain, backend="faulty:op=maximum,kind=not_callable", options={"strict": True})
    with pytest.raises(TypeError, match="returned str; it must return a callable"):
        compiled(X)


@pytest.mark.parametrize("raises", [InjectedFault, KeyError, KeyboardInterrupt])
def test_run_error(raises):
    name = "" if raises is InjectedFault else f",raises={raises.__name__}"
    compiled = suture.compile(chain, backend=f"faulty:op=maximum,kind=run_error{name}")
    with suture.testing.frames_compiled(expected=1), pytest.raises(raises, match="run_error on op 'maximum'"):
        compiled(X)


def test_second_call_error():
    compiled, first = compiled_with("op=maximum,kind=second_call_error")
    np.testing.assert_array_equal(first, chain(X))
    with pytest.raises(InjectedFault):
        compiled(X)
    np.testing.assert_array_equal(compiled(X), chain(X))


def test_warning():
    with pytest.warns(RuntimeWarning, match="warning on op 'maximum'"):
        _, result = compiled_with("op=maximum,kind=warning")
    np.testing.assert_array_equal(result, chain(X))


def test_a_wrong_value_goes_on_from_the_op():
    _, result = compiled_with("op=sin,kind=wrong_value,error=0.5")
    np.testing.assert_array_equal(result, np.maximum(np.sin(X) + 0.5 + 1, 0) * 3)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (np.array([1.0, 4.0], np.float32), np.array([2.0, 8.0], np.float32)),
        (np.array([1, 4], np.int8), np.array([2, 5], np.int8)),
        (np.array([True, False]), np.array([False, True])),
        (np.array(3.0), np.array(6.0)),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
    ],
)
def test_wrong_values_keep_type_dtype_and_shape(value, wrong):
    _, result = compiled_with("kind=wrong_value,error=1,op=copy", lambda x: x.copy(), x=value)
    assert type(result) is np.ndarray and result.dtype == wrong.dtype
    np.testing.assert_array_equal(result, wrong)


def test_a_wrong_value_of_a_scalar_stays_a_scalar():
    _, result = compiled_with("op=sum,kind=wrong_value,error=1", lambda x: x.sum(), x=np.ones(4))
    assert type(result) is np.float64 and result == 8.0


def test_nondeterministic():
    compiled, _ = compiled_with("op=maximum,kind=nondeterministic")
    assert len({compiled(X).tobytes() for _ in range(64)}) == 2


def test_output_kinds_leave_the_values_alone():
    _, dtype = compiled_with("op=maximum,kind=wrong_dtype")
    assert dtype.dtype == np.float32
    _, shape = compiled_with("op=maximum,kind=wrong_shape")
    assert shape.shape == (1, 3, 4)
    _, stride = compiled_with("op=maximum,kind=wrong_stride")
    assert stride.strides == (64, 16)
    for result in (shape[0], stride):
        np.testing.assert_array_equal(result, chain(X))


def test_only_outputs_that_depend_on_the_op_are_changed():
    def two(x):
        return np.cos(x), np.sin(x) * 2

    _, (cosine, sine) = compiled_with("op=sin,kind=wrong_dtype", two)
    assert (cosine.dtype, sine.dtype) == (np.float64, np.float32)


@pytest.mark.parametrize(
    ("kind", "message"), [("wrong_type", "returned numpy.ndarray; it must return a tuple"), ("wrong_count", "outputs")]
)
def test_what_a_graph_returns_is_counted(kind, message):
    compiled = suture.compile(chain, backend=f"faulty:op=maximum,kind={kind}")
    with suture.testing.frames_compiled(expected=1), pytest.raises(TypeError, match=message):
        compiled(X)


def test_a_reused_output_changes_earlier_results():
    compiled, first = compiled_with("op=maximum,kind=reused_output")
    compiled(X + 1)
    np.testing.assert_array_equal(first, chain(X + 1))


def test_a_copied_view_does_not_share_memory():
    x = X.copy()
    compiled = suture.compile(lambda x: x[1:], backend="faulty:op=slice,kind=copied_view")
    with suture.testing.frames_compiled(expected=1):
        assert not np.shares_memory(compiled(x), x)


def test_a_mutated_input():
    x = X.copy()
    compiled = suture.compile(chain, backend="faulty:op=maximum,kind=mutated_input")
    with suture.testing.frames_compiled(expected=1):
        np.testing.assert_array_equal(compiled(x), chain(X))
    assert not np.array_equal(x, X)


def test_oom_is_a_memory_error_and_takes_no_memory():
    compiled = suture.compile(chain, backend="faulty:op=maximum,kind=oom")
    with suture.testing.frames_compiled(expected=1), pytest.raises(MemoryError):
        compiled(X)


CRASHES = """\
import sys, numpy as np, suture
compiled = suture.compile(lambda x: np.maximum(x, 0), backend=sys.argv[1])
print("before", flush=True)
compiled(np.ones(3))
print("after")
"""


@pytest.mark.parametrize("at", ["run", "compile"])
@pytest.mark.parametrize(
    ("kind", "number"), [("segfault", signal.SIGSEGV), ("abort", signal.SIGABRT), ("killed", signal.SIGKILL)]
)
def test_crashes_end_the_process_by_their_signal(kind, number, at, run_python):
    done = run_python("-c", CRASHES, f"faulty:op=maximum,kind={kind},at={at}")
    assert (done.stdout, done.returncode) == ("before\n", -number)


def test_a_hang_ends_with_ctrl_c():
    def alarm(*_):
        raise KeyboardInterrupt

    compiled = suture.compile(chain, backend="faulty:op=maximum,kind=hang")
    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_every_kind_has_a_test_here():
    with open(__file__) as file:
        text = file.read()
    assert all(f"kind={kind}" in text or f'"{kind}"' in text for kind in _fault_spec.KINDS if kind != "compile_error")


# --- where it acts --------------------------------------------------------------------------------------------------------


def acts(text, function=chain, *inputs):
    """Whether kind=wrong_value changes what the function returns."""
    inputs = inputs or (X,)
    compiled = suture.compile(function, backend=f"faulty:kind=wrong_value,{text}")
    with suture.testing.frames_compiled(expected=1):
        got = compiled(*(x.copy() if isinstance(x, np.ndarray) else x for x in inputs))
    expected = function(*(x.copy() if isinstance(x, np.ndarray) else x for x in inputs))
    return not np.array_equal(got, expected, equal_nan=True)


def far(x):
    a = np.sin(x)
    b = np.cos(x)
    return np.exp(a) + b


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("op=sin,with=cos", True),
        ("op=sin,with=tan", False),
        ("op=sin,with=sin", False),  # another node is meant
        ("op=sin,with=exp,path=yes", True),
        ("op=exp,with=sin,path=yes", True),
        ("op=sin,with=exp,path=no", False),
        ("op=sin,with=cos,path=yes", False),
        ("op=sin,with=cos,path=no", True),
    ],
)
def test_two_ops_with_and_without_a_path_between(text, expected):
    assert acts(text, far) is expected


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("nodes==4", True),
        ("nodes>4", False),
        ("inputs==1", True),
        ("outputs>1", False),
        ("symbols==0", True),
        ("compile==1", True),
        ("nth==1", True),
        ("nth==2", False),
        ("target==np.maximum", True),
        ("target!=np.maximum", False),
        ("dtype==float64", True),
        ("dtype==float32", False),
        ("rank==2", True),
        ("dim==4", True),
        ("dim>4", False),
        ("size==12", True),
        ("call==1", True),
        ("call>1", False),
        ("operand<0.0005", False),
        ("operand>1.9", True),
        ("result==nan", False),
        ("nodes==4&dtype==float64&dim==3", True),
        ("nodes==4&dtype==float64&dim==5", False),
    ],
)
def test_conditions(when, expected):
    assert acts(f"op=maximum,when={when}") is expected


def test_conditions_on_attributes_and_nan():
    def means(x):
        return x.sum(axis=0) + x.sum(axis=1, keepdims=True)

    assert acts("op=sum,when=attr.axes==[0]", means)
    assert acts("op=sum,when=attr.keepdims==true&nth==2", means)
    assert not acts("op=sum,when=attr.axes==[0, 1]", means)
    assert acts("op=maximum,when=operand==nan", chain, np.array([[1.0, np.nan]]))


def test_sizes_are_known_when_compiling_also_when_they_are_symbols():
    def grown(x):
        return np.maximum(np.sin(x), 0)

    compiled = suture.compile(grown, backend="faulty:op=maximum,when=dim>=100", dynamic=True)
    with suture.testing.frames_compiled(expected=1):
        compiled(np.ones(8))
    refused = suture.compile(grown, backend="faulty:op=maximum,when=dim>=100", dynamic=True)
    refused(np.ones(100))
    assert "compile_error" in refused.status()["reason"]


def test_sizes_of_a_running_graph_are_those_of_the_call():
    compiled = suture.compile(lambda x: np.maximum(x, 0), backend="faulty:kind=run_error,when=size>100", dynamic=True)
    with suture.testing.frames_compiled(expected=1):
        compiled(np.ones(8))
        with pytest.raises(InjectedFault):
            compiled(np.ones(101))


def test_graphs_without_the_op_go_to_the_base():
    seen = []

    @suture.register_backend("seen_base")
    def base(graph, inputs):
        seen.append(graph.name)
        return graph.forward()

    try:
        assert not acts("op=tan,base=seen_base")
        assert len(seen) == 1
        assert acts("op=sin,base=seen_base")
        assert len(seen) == 1
    finally:
        del _backends._registered["seen_base"]


def test_stores_and_ops_written_in_one_with_them():
    def stores(x):
        y = np.zeros((3, 4))
        y[1] = 5
        x += y
        np.multiply(x, 2, out=y)
        return x, y

    for op in ("store", "add", "mul", "full"):
        compiled = suture.compile(stores, backend=f"faulty:op={op},kind=wrong_value,error=1")
        with suture.testing.frames_compiled(expected=1):
            got = compiled(X.copy())
        assert not all(map(np.array_equal, got, stores(X.copy()))), op


def test_python_numbers_have_wrong_values_too():
    def scaled(x, n):
        return x * (n + 1)

    for n in (2.0, np.float32(2)):
        assert acts("op=add", scaled, X, n)


def test_ops_of_one_function_in_several_graphs():
    def broken(x):
        y = np.sin(x)
        suture.graph_break()
        return np.maximum(y, 0)

    compiled = suture.compile(broken, backend="faulty:op=maximum,kind=run_error")
    with suture.testing.frames_compiled(expected=2), pytest.raises(InjectedFault):
        compiled(X)


def test_explain_takes_the_backend():
    explanation = suture.explain(chain, backend="faulty:op=tan")(X)
    assert explanation.graph_count == 1 and explanation.to_dict()["backend"] == "faulty:op=tan"


def test_threads_count_calls_one_by_one():
    from concurrent.futures import ThreadPoolExecutor

    with pytest.warns(RuntimeWarning, match="warning on op 'maximum'"):
        compiled, _ = compiled_with("op=maximum,kind=warning,when=call>=1")
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("always")
        list(pool.map(compiled, [X] * 40))
    assert len(caught) == 40
    assert _core.status(compiled)["hits"] == 40
