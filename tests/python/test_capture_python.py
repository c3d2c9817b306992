"""Python under capture: every construct gives the same result, and the array work around it is compiled."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import suture
from suture import _core
from tests.support.oracle import check, frames_compiled

X = np.linspace(-2.0, 2.0, 12).reshape(3, 4)


def tuples(x):
    a, (b, *c) = x + 1, [x, x * 2, x * 3]
    pair = (a, b) + tuple(c)
    return pair[0] + pair[-1], len(pair)


def dicts(x):
    d = {"a": x, "b": 2}
    d["c"] = d["a"] * d["b"]
    d.update(e=x + 1)
    return {k: v for k, v in d.items() if k != "b"}


def lists(x):
    items = [x]
    for i in range(3):
        items.append(items[-1] * 0.5 + i)
    items[0] = x - 1
    return items[::2], sum(items)


def comprehensions(x):
    w = 3.0
    rows = [x[i] * w for i in range(x.shape[0])]
    return np.maximum(rows[0], rows[1]), {i: r.sum() for i, r in enumerate(rows)}


def default_arguments(x, n=2, *, k=3.0):
    return x * n + k


def star_arguments(x):
    def inner(*args, scale=1, **kwargs):
        return args[0] * scale + kwargs["bias"]

    return inner(x, scale=2, bias=x + 1), inner(*(x,), **{"bias": 1.0})


def closures(x):
    total = x * 0

    def add(y):
        nonlocal total
        total = total + y
        return total

    add(x)
    add(x * 2)
    return total


def lambdas(x):
    square = lambda v: v * v  # noqa: E731
    return functools.reduce(lambda a, b: a + b, [square(x), x]) if False else square(x) + 1


def partials(x):
    f = functools.partial(np.clip, a_min=-1.0, a_max=1.0)
    return f(x) + 1


def fstrings(x):
    name = f"{'a'}{1 + 1}"
    return {name: x + 1}, f"{x.ndim}-{x.dtype}"


def shape_logic(x):
    if x.ndim == 2 and x.shape[0] < 10:
        rows, cols = x.shape
        return x.reshape(cols, rows) * (rows / cols)
    return x


def isinstance_logic(x):
    if isinstance(x, np.ndarray) and not isinstance(x, (int, float)):
        return x * 2
    return None


def zips(x):
    out = x * 0
    for i, (a, b) in enumerate(zip([1, 2, 3], (x, x + 1, x + 2), strict=True)):
        out = out + a * b + i
    return out


def min_max(x):
    return x * min(3, x.shape[0], 7) + max([1, 5, x.ndim])


def ternary(x):
    return x + 1 if x.shape[1] == 4 else x - 1


def while_loop(x):
    n = 0
    while n < 4:
        x = x * 0.5 + n
        n += 1
    return x, n


def for_else(x):
    for i in range(3):
        if i == 7:
            break
        x = x + i
    else:
        x = x * 2
    return x


def walrus(x):
    return (y := x + 1) * 2 + y


def try_block(x):
    try:
        y = x * 2
    except ValueError:
        y = x
    finally:
        z = x + 1
    return y + z


def test_arithmetic_in_a_try_block_is_compiled():
    compiled = suture.compile(try_block)
    check(try_block, compiled, (X,))
    assert frames_compiled(compiled) == 1 and _core.status(compiled)["graph_break_count"] == 0

    def guarded(x):
        try:
            return 1.0 / x
        except FloatingPointError:
            return x

    with np.errstate(all="raise"):
        check(guarded, suture.compile(guarded), (np.array([0.0, 1.0]),))


def chained_comparison(x):
    n = x.shape[0]
    return x * 2 if 1 < n < 10 else x


def boolean_logic(x):
    flag = x.ndim == 2 or x.ndim == 9
    return x if not flag else (x + 1) * (flag and 3)


def slices_of_lists(x):
    items = [x, x + 1, x + 2, x + 3]
    a, b = items[1:3]
    del items[0]
    return a * b + items[0] + len(items)


def string_methods(x):
    return {"a_b".split("_")[0]: x + 1, "x".upper(): x * 2}


def nested_functions(x):
    def outer(a):
        def inner(b):
            return a + b

        return inner(a * 2)

    return outer(x) + outer(x + 1)


def global_function(x):
    return shape_logic(x) + 1


class Layer:
    gain = 2.0

    def __init__(self):
        self.w = np.full(4, 0.5)

    def scaled(self, x):
        return x * self.w * self.gain

    @staticmethod
    def shift(x):
        return x + 1

    @classmethod
    def twice(cls, x):
        return x * cls.gain

    def __call__(self, x):
        return self.twice(self.shift(self.scaled(x)))


LAYER = Layer()


def methods(x):
    return LAYER.scaled(x) + LAYER.shift(x) + Layer.twice(x)


def callable_instance(x):
    return LAYER(x)


def unpack_array(x):
    a, b, c = x
    return a + b * c


def iterate_array(x):
    total = 0.0
    for row in x:
        total = total + row * 2
    return total


def conditional_expression_of_none(x, y=None):
    return x + 1 if y is None else x + y


def augmented(x):
    y = x + 1
    z = y
    y += 2
    y *= x
    z -= 1
    return y, z


def same_object_returned(x):
    y = x + 1
    return y, y, [y], x


def returns_input(x):
    x + 1
    return x


def views_alias(x):
    y = x + 0
    v = y[1:, ::2]
    v[...] = 7
    return y, v.T


FUNCTIONS = [
    tuples, dicts, lists, comprehensions, default_arguments, star_arguments, closures, lambdas, partials, fstrings, shape_logic,
    isinstance_logic, zips, min_max, ternary, while_loop, for_else, walrus, chained_comparison, boolean_logic,
    slices_of_lists, string_methods, nested_functions, global_function, methods, callable_instance, unpack_array, iterate_array,
    conditional_expression_of_none, augmented, same_object_returned, views_alias,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_construct_is_captured_in_one_graph(function):
    compiled = suture.compile(function)
    check(function, compiled, (X,))
    status = _core.status(compiled)
    assert frames_compiled(compiled) == 1, status
    assert status["graph_break_count"] == 0 and status["graph_count"] == 1


def test_identity_of_results_is_kept():
    compiled = suture.compile(same_object_returned)
    a, b, (c,), x = compiled(X)
    assert a is b and b is c and x is X
    assert suture.compile(returns_input)(X) is X
    assert frames_compiled(compiled) == 1


def test_views_share_memory_with_their_base():
    def f(x):
        return x[1:, ::2], x.T, x.reshape(-1)

    compiled = suture.compile(f)
    x = X.copy()
    views = compiled(x)
    assert all(v.base is x for v in views)
    views[0][...] = 99
    assert (x[1:, ::2] == 99).all()
    assert frames_compiled(compiled) == 1


def side_effects(x, log, state):
    log.append(x + 1)
    state["sum"] = x.sum()
    state["n"] = len(log)
    log[0] = "first"
    return x * 2


def test_side_effects_on_arguments_are_replayed():
    compiled = suture.compile(side_effects)
    check(side_effects, compiled, (X, [1, 2], {"old": 1}))
    assert frames_compiled(compiled) >= 1


COUNTER = 0


def count_calls(x):
    global COUNTER
    COUNTER += 1
    return x + COUNTER


def test_global_stores_are_replayed():
    global COUNTER
    compiled = suture.compile(count_calls)
    COUNTER = 0
    results = [compiled(X) for _ in range(4)]
    assert COUNTER == 4
    for n, result in enumerate(results, 1):
        np.testing.assert_array_equal(result, X + n)
    assert frames_compiled(compiled) >= 1


class Model:
    def __init__(self):
        self.steps = 0
        self.state = np.zeros((3, 4))

    def update(self, x):
        self.steps += 1
        self.state = self.state * 0.5 + x
        return self.state.sum()


def test_attribute_stores_are_replayed_and_methods_compile():
    ours, theirs = Model(), Model()
    update = suture.compile(Model.update)
    for _ in range(4):
        assert update(ours, X) == Model.update(theirs, X)
    np.testing.assert_array_equal(ours.state, theirs.state)
    assert ours.steps == theirs.steps == 4
    assert frames_compiled(update) >= 1


def test_decorated_methods_bind():
    class Thing:
        @suture.compile
        def double(self, x):
            return x * 2

        @staticmethod
        @suture.compile
        def triple(x):
            return x * 3

    np.testing.assert_array_equal(Thing().double(X), X * 2)
    np.testing.assert_array_equal(Thing.triple(X), X * 3)
    assert frames_compiled(Thing.__dict__["double"]) == 1


def in_place(x, y):
    x += y
    x[1:] *= 2
    x[0, 0] = 5
    return x


def test_arguments_are_mutated_in_place():
    compiled = suture.compile(in_place)
    check(in_place, compiled, (X.copy(), np.ones(4)))
    x = X.copy()
    assert compiled(x, np.ones(4)) is x
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize("n", [0.5, 2, np.float64(0.5), np.int8(3), True])
def test_arguments_are_mutated_beside_scalar_arguments(n):
    def f(x, n):
        x += n
        x[0] = n
        return x * n

    compiled = suture.compile(f)
    check(f, compiled, (X.copy(), n))
    assert frames_compiled(compiled) == 1


def overlapping(x):
    x[1:] = x[:-1]
    x[:, 1:] += x[:, :-1]
    return x


def test_overlapping_assignment_behaves_as_if_the_right_side_came_first():
    compiled = suture.compile(overlapping)
    check(overlapping, compiled, (X.copy(),))
    assert frames_compiled(compiled) == 1


def two_arrays(x, y):
    x += 1
    return x + y


def test_aliasing_arguments_are_noticed():
    compiled = suture.compile(two_arrays)
    check(two_arrays, compiled, (np.ones(6), np.ones(6)))
    for make in (lambda a: (a, a), lambda a: (a[:5], a[1:]), lambda a: (a, a[::-1])):
        ours, theirs = np.arange(6.0), np.arange(6.0)
        expected, actual = two_arrays(*make(theirs)), compiled(*make(ours))
        np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(ours, theirs)
    assert frames_compiled(compiled) >= 1


def loop_with_print(x):
    total = x * 0
    for i in range(5):
        total = total + x * i
        print("step", i)
        total = total - 1
    return total


def test_a_break_in_a_loop_keeps_the_body_compiled(capsys):
    compiled = suture.compile(loop_with_print)
    expected = loop_with_print(X)
    printed = capsys.readouterr().out
    np.testing.assert_array_equal(compiled(X), expected)
    assert capsys.readouterr().out == printed
    status = _core.status(compiled)
    assert any(frame["kind"] == "iteration" and frame["compiles"] for frame in status["frames"])


def long_loop(x):
    for i in range(3000):
        x = x * 0.999 + i
    return x


def test_long_loops_neither_unroll_nor_recurse():
    compiled = suture.compile(long_loop)
    check(long_loop, compiled, (X,), calls=1)
    assert 1 <= frames_compiled(compiled) <= 4


def early_exit(x):
    for i in range(100):
        x = x * 0.5
        if x.max() < 0.1:
            return x, i
    return x, -1


def test_return_inside_a_loop():
    compiled = suture.compile(early_exit)
    check(early_exit, compiled, (X,))
    check(early_exit, compiled, (X * 1e30,))
    assert frames_compiled(compiled) >= 2


def with_errstate(x):
    with np.errstate(all="ignore"):
        return np.log(x) + 1


def test_errstate_inside_is_respected():
    compiled = suture.compile(with_errstate)
    check(with_errstate, compiled, (X,))
    assert frames_compiled(compiled) == 2


def recursion(x, n):
    return x if n == 0 else recursion(x * 2, n - 1) + 1


def test_recursion_is_correct():
    compiled = suture.compile(recursion)
    check(recursion, compiled, (X, 5))
    assert frames_compiled(compiled) == 3


def test_user_exceptions_show_the_users_line():
    def f(x):
        y = x + 1
        print(end="")
        return y + np.ones(7)

    compiled = suture.compile(f)
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        compiled(X)
    lines = [entry.lineno + 1 for entry in caught.traceback]
    assert f.__code__.co_firstlineno + 3 in lines
    assert frames_compiled(compiled) >= 1


def unused_division(x):
    1 / x
    return x


def unused_logarithm(x):
    np.log(x)
    return x + 1


@pytest.mark.parametrize("function", [unused_division, unused_logarithm, returns_input])
def test_results_nobody_uses_still_warn(function):
    compiled = suture.compile(function)
    check(function, compiled, (np.array([-1.0, 0.0, 2.0]),))
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize("shape", [(1,), (1, 1), (3,), (1, 4), (0,), (0, 1)])
def test_stores_into_empty_slices_write_nothing(shape):
    def f(x, n):
        x[:-1] = 0
        x[:n] = 7
        y = x + 1
        y[:0] = 5
        return x, y

    compiled = suture.compile(f)
    for n in (0, 0, 1, 2, 0):
        check(f, compiled, (np.ones(shape), n))
    assert frames_compiled(compiled) >= 1


def test_assigned_values_may_have_leading_unit_axes():
    def f(x, y):
        y[...] = x
        y[1:] = x[:, 1:]
        return y

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(4.0)[None], np.zeros(4)))
    assert frames_compiled(compiled) == 1


def test_clip_and_where_of_scalars():
    def f(x):
        s = x.sum()
        return np.clip(s, 1, 2.5), np.where(s > 0, s, 1.0), np.clip(x.max(), None, s)

    compiled = suture.compile(f)
    check(f, compiled, (np.arange(3.0),))
    assert frames_compiled(compiled) == 1


def test_a_replay_leaves_arrays_alone_that_nobody_wrote():
    def f(x, y):
        y[1] = 5
        return np.sqrt(x)

    compiled = suture.compile(f)
    check(f, compiled, (np.broadcast_to(np.array([-3.0]), 3), np.array([0.0, 1, 2])))
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize(
    "function", [lambda x: abs(x[0]), lambda x: np.abs(x[0]), lambda x: -x[0], lambda x: x[0] - x[1]]
)
def test_overflow_of_integer_scalars_warns_as_numpy_does(function):
    compiled = suture.compile(function)
    check(function, compiled, (np.array([-(2**63), 1]),))
    assert frames_compiled(compiled) == 1


def test_a_handler_that_cannot_be_resumed_is_a_skip_with_a_reason():
    def f(y):
        v = np.sign(y)
        try:
            raise ValueError
        except ValueError:
            print(end="")
        return v

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    assert "internal" not in str(_core.status(compiled)).lower()


def test_arrays_that_overlap_themselves_are_left_to_numpy():
    def f(x):
        x += 1
        return x

    expected, actual = (np.ndarray((4, 4), float, np.zeros(200), 0, (8, 8)) for _ in range(2))
    np.testing.assert_array_equal(suture.compile(f)(actual), f(expected))
    assert _core.status(suture.compile(f))["frames"][0]["compiles"] == 0
