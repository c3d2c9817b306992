"""What capture read about classes, functions and partial objects, and the program changed between two calls."""

from __future__ import annotations

import collections
import collections.abc
import functools
import numbers
import types
import typing
import weakref
from unittest import mock

import numpy as np
import pytest

import suture
from tests.support.oracle import assert_same, frames_compiled

X = np.arange(1.0, 4.0)


def check(f, compiled, args):
    """On the same objects: what they are is the question."""
    assert_same(f(*args), compiled(*args))


def follows(f, args, *changes, frames):
    """Compiled and plain `f` agree before the first and after each of the changes; so many frames compile."""
    compiled = suture.compile(f)
    check(f, compiled, args)
    for change in changes:
        change()
        check(f, compiled, args)
    assert frames_compiled(compiled) == frames


def putting(owner, name, value):
    """The change that sets an attribute."""
    return lambda: setattr(owner, name, value)


# --- isinstance and issubclass -----------------------------------------------------------------------------
class Config:
    gain = 2


class Proxy:
    """Answers everything for the object it holds, its class too."""

    def __init__(self, target):
        object.__setattr__(self, "target", target)

    def __getattribute__(self, name):
        return getattr(object.__getattribute__(self, "target"), name)


class SaysArray:
    @property
    def __class__(self):
        return np.ndarray


class SaysInt:
    @property
    def __class__(self):
        return int


KEPT = Config()


@pytest.mark.parametrize(
    ("thing", "cls", "answer"),
    [
        (mock.Mock(spec=Config), Config, True),
        (weakref.proxy(KEPT), Config, True),
        (Proxy(KEPT), Config, True),
        (SaysArray(), np.ndarray, True),
        (SaysArray(), (int, np.ndarray), True),
        (SaysInt(), numbers.Number, True),
        (SaysArray(), SaysArray, True),
        (SaysArray(), int, False),
    ],
)
def test_isinstance_believes_the_class_an_object_names(thing, cls, answer):
    def f(x, thing):
        return x * 3 if isinstance(thing, cls) else x - 1

    compiled = suture.compile(f)
    check(f, compiled, (X, thing))
    assert compiled(X, thing).tolist() == (X * 3 if answer else X - 1).tolist()
    assert frames_compiled(compiled) == (1 if cls is type(thing) else 2)  # Python is asked: before, and after


def test_an_object_may_name_another_class_later():
    class Plain:
        pass

    def f(x, thing):
        return x * 3 if isinstance(thing, np.ndarray) else x - 1

    def names_another_class(self, name):
        return np.ndarray if name == "__class__" else object.__getattribute__(self, name)

    follows(f, (X, Plain()), putting(Plain, "__getattribute__", names_another_class), frames=3)


@pytest.mark.parametrize("abc", [collections.abc.Sequence, numbers.Number])
@pytest.mark.parametrize("question", ["isinstance(v, abc)", "issubclass(type(v), abc)"])
def test_registration_with_an_abstract_class_is_noticed(abc, question):
    class V:
        pass

    names = {"abc": abc}
    exec(f"def f(x, v):\n    return x + 1 if {question} else x - 1", names)
    follows(names["f"], (X, V()), lambda: abc.register(V), frames=2)


@pytest.mark.parametrize("question", ["isinstance(d, B)", "issubclass(type(d), B)", "isinstance(d, (int, B))"])
def test_other_bases_are_noticed(question):
    class A:
        pass

    class B(A):
        pass

    class D(A):
        pass

    names = {"B": B}
    exec(f"def f(x, d):\n    return x + 1 if {question} else x - 1", names)
    follows(names["f"], (X, D()), putting(D, "__bases__", (B,)), putting(D, "__bases__", (A,)), frames=3)


# --- super -------------------------------------------------------------------------------------------------
def inheriting_classes():
    class A:
        def g(self, x):
            return x + 1

    class B(A):
        pass

    class D(B):
        def g(self, x):
            return super().g(x)

    return A, B, D


def call_g(x, d):
    return d.g(x)


def test_super_sees_an_override_come_change_and_go():
    A, B, D = inheriting_classes()
    changes = [
        putting(B, "g", lambda self, x: x * 50),
        putting(B, "g", lambda self, x: x * 60),
        lambda: delattr(B, "g"),
        putting(A, "g", lambda self, x: x * 70),
    ]
    follows(call_g, (X, D()), *changes, frames=4)


def test_super_sees_other_bases():
    A, B, D = inheriting_classes()

    class Other(A):
        def g(self, x):
            return x * 9

    follows(call_g, (X, D()), putting(D, "__bases__", (Other,)), frames=2)


def test_a_method_found_by_super_is_bound_again_after_a_break():
    class A:
        def g(self, x, shift=2.0):
            return x + shift

    class D(A):
        def method(self):
            return super().g

    def f(x, d):
        g = d.method()
        suture.graph_break()
        return g(x)

    follows(f, (X, D()), frames=2)


# --- special methods and attributes ------------------------------------------------------------------------
def truth(x, v):
    return x + 1 if v else x - 1


@pytest.mark.parametrize(("name", "answer"), [("__len__", 0), ("__bool__", False)])
def test_an_object_gets_a_truth_value(name, answer):
    class V:
        pass

    follows(truth, (X, V()), putting(V, name, lambda self: answer), lambda: delattr(V, name), frames=2)


def test_a_class_with_a_length_gets_a_truth_value():
    class V:
        def __len__(self):
            return 1

    follows(truth, (X, V()), putting(V, "__bool__", lambda self: False), frames=2)


def test_a_global_object_gets_a_truth_value():
    class V:
        pass

    names = {"v": V()}
    exec("def f(x):\n    return x + 1 if v else x - 1", names)
    follows(names["f"], (X,), putting(V, "__bool__", lambda self: False), frames=2)


def test_an_in_place_method_comes_later():
    class V:
        def __add__(self, other):
            return other + 1

    def f(x, v):
        v += x
        return v

    follows(f, (X, V()), putting(V, "__iadd__", lambda self, other: other * 40), frames=2)


def scaled(first, factor=3):
    return first * factor if isinstance(first, np.ndarray) else factor * 11


@pytest.mark.parametrize(
    ("before", "after"),
    [(staticmethod(scaled), scaled), (scaled, staticmethod(scaled)), (classmethod(scaled), scaled)],
)
def test_one_function_bound_in_another_way(before, after):
    class V:
        g = before

    def f(x, v):
        return v.g(x)

    class W:
        g = before

    def on_class(x, w):
        return x + w.g(x)

    follows(f, (X, V()), putting(V, "g", after), frames=2)
    follows(on_class, (X, W), putting(W, "g", after), frames=2 if isinstance(before, classmethod) else 1)


def test_a_function_of_the_instance_becomes_its_method():
    class V:
        pass

    v = V()
    v.g = scaled

    def f(x, v):
        return v.g(x)

    def move():
        del v.g
        V.g = scaled

    follows(f, (X, v), move, frames=2)


def test_methods_of_a_metaclass_are_bound_to_the_class():
    class Meta(type):
        def scaled(cls, x):
            return x * cls.factor

    class V(metaclass=Meta):
        factor = 4

    def f(x, v):
        return v.scaled(x)

    follows(f, (X, V), putting(V, "scaled", staticmethod(lambda x: x * 100)), frames=2)


def test_a_property_gets_another_getter():
    class V:
        @property
        def gain(self):
            return 2

    def f(x, v):
        return x * v.gain

    follows(f, (X, V()), lambda: V.gain.__init__(lambda self: 50), putting(V, "gain", 7), frames=3)


def test_assignment_goes_through_a_hook_that_came_later():
    class Tenfold:
        def __set__(self, instance, value):
            instance.__dict__["k"] = value * 10

        def __get__(self, instance, owner):
            return instance.__dict__["k"]

    class Hooked:
        pass

    class Described:
        pass

    def f(x, v):
        v.k = 3
        return x * v.k

    def tenfold(self, name, value):
        object.__setattr__(self, name, value * 10)

    follows(f, (X, Hooked()), putting(Hooked, "__setattr__", tenfold), frames=3)
    follows(f, (X, Described()), putting(Described, "k", Tenfold()), frames=4)


# --- classes and modules -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["__bool__", "__len__"])
def test_a_metaclass_decides_about_the_truth_of_its_classes(name):
    class Meta(type):
        pass

    class V(metaclass=Meta):
        pass

    falsy = type("Falsy", (type,), {name: lambda cls: 0 == 1})
    follows(truth, (X, falsy("W", (), {})), frames=2)
    follows(truth, (X, V), putting(Meta, name, lambda cls: 0 == 1), frames=3)


def test_instances_do_not_have_the_operators_of_their_metaclass():
    class Meta(type):
        def __bool__(cls):
            return False

    class V(metaclass=Meta):
        pass

    follows(truth, (X, V()), frames=1)


def test_a_module_is_given_a_class_with_properties():
    module = types.ModuleType("module")
    module.gain, module.bias = 3, None

    class Computed(types.ModuleType):
        @property
        def gain(self):
            return 8

        @property
        def bias(self):
            return 1

    def f(x):
        return x * module.gain

    def g(x):
        return x if module.bias is None else -x

    compiled = suture.compile(g)
    check(g, compiled, (X,))
    follows(f, (X,), putting(module, "__class__", Computed), frames=3)
    check(g, compiled, (X,))
    assert frames_compiled(compiled) == 2


# --- namedtuples -------------------------------------------------------------------------------------------
def make_pair():
    return collections.namedtuple("Pair", ["a", "b"], defaults=[4])


# what the class gets, an expression that asks for it
OPERATORS = {
    "__len__": (lambda self: 9, "len(p)"),
    "__getitem__": (lambda self, i: 9, "p[0]"),
    "__iter__": (lambda self: iter([70, 80]), "sum([v for v in p])"),
    "__bool__": (lambda self: False, "(2 if p else 3)"),
    "__eq__": (lambda self, other: False, "(2 if p == (3, 4) else 3)"),
    "__contains__": (lambda self, item: False, "(2 if 3 in p else 3)"),
    "__add__": (lambda self, other: (100,), "sum(p + (1,))"),
    "__mul__": (lambda self, count: (100,), "sum(p * 2)"),
    "a": (property(lambda self: 77), "p.a"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_namedtuple_class_gets_an_operator_of_its_own(name):
    function, expression = OPERATORS[name]
    Pair, Other = make_pair(), make_pair()
    setattr(Other, name, function)
    names = {}
    exec(f"def f(x, p):\n    return x * {expression}", names)
    f = names["f"]
    compiled = suture.compile(f)
    check(f, compiled, (X, Other(3)))
    follows(f, (X, Pair(3)), putting(Pair, name, function), frames=4 if name == "__iter__" else 3)
    assert f(X, Pair(3)).tolist() != f(X, make_pair()(3)).tolist()
    assert frames_compiled(compiled) == (3 if name == "__iter__" else 2)


def test_unpacking_a_namedtuple_asks_its_class():
    Pair = make_pair()

    def f(x, p):
        a, b = p
        return x * a + b

    follows(f, (X, Pair(3)), putting(Pair, "__iter__", lambda self: iter([70, 80])), frames=3)


def test_a_namedtuple_class_makes_its_instances_in_another_way():
    Pair = make_pair()

    def f(x):
        p = Pair(5)
        return x * p.a + p.b

    changes = [
        putting(Pair.__new__, "__defaults__", (9,)),
        putting(Pair, "__new__", lambda cls, a: tuple.__new__(cls, (100, a))),
    ]
    follows(f, (X,), *changes, frames=4)


# --- functions ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["__name__", "__qualname__", "__doc__", "__module__"])
def test_names_of_a_function_change(name):
    def h():
        """Short."""

    names = {}
    exec(f"def f(x, h):\n    return x * len(h.{name})", names)
    follows(names["f"], (X, h), putting(h, name, "something.longer.than.before"), frames=2)


def test_defaults_belong_to_the_last_parameters():
    def h(x, a, b=2, *, c=1):
        return x * a + b * c

    def f(x):
        return h(x, 1)

    follows(f, (X,), putting(h, "__defaults__", (7, 9)), putting(h, "__kwdefaults__", {"c": 5}), frames=3)


def test_what_a_function_is_made_of_is_set_through_the_compiled_one():
    def f(x, a=1, *, k=1):
        """Adds."""
        return x * a + k

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    compiled.__code__ = (lambda x, a=1, *, k=1: x * a - k).__code__
    check(f, compiled, (X,))
    assert compiled(X).tolist() == (X - 1).tolist()
    compiled.__defaults__ = (4,)
    compiled.__kwdefaults__ = {"k": 7}
    check(f, compiled, (X,))
    assert compiled(X).tolist() == (X * 4 - 7).tolist()
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(compiled, name, "another")
        assert getattr(f, name) == "another" == getattr(compiled, name)
    compiled.__annotations__ = {"x": np.ndarray}
    assert f.__annotations__ == {"x": np.ndarray} == typing.get_type_hints(compiled)
    for name in ("__closure__", "__globals__", "__builtins__"):
        assert getattr(compiled, name) is getattr(f, name)
        with pytest.raises(AttributeError):
            setattr(compiled, name, {})
    assert vars(compiled) == {}
    assert frames_compiled(compiled) == 2  # other code forgets the first entry


# --- functools.partial -------------------------------------------------------------------------------------
def test_parts_of_a_partial_object_change():
    p = functools.partial(np.add, 1)

    def f(x):
        return p(x)

    changes = [
        lambda: p.__setstate__((np.subtract, (10,), {}, {})),
        lambda: p.__setstate__((np.subtract, (20,), {}, {})),
        lambda: p.__setstate__((np.negative, (), {}, {})),
    ]
    follows(f, (X,), *changes, frames=3)  # an entry for any number to subtract from


def test_keywords_of_a_partial_object_are_an_open_dict():
    def h(x, a=1, b=2):
        return x * a + b

    p = functools.partial(h, a=5)

    def f(x, p):
        return p(x)

    def write(name, value):
        return lambda: p.keywords.__setitem__(name, value)

    follows(f, (X, p), write("b", 9), write("a", 3), lambda: p.keywords.clear(), frames=4)


def test_equal_partial_objects_share_an_entry():
    def f(x, p):
        return p(x)

    compiled = suture.compile(f)
    for _ in range(3):
        check(f, compiled, (X, functools.partial(np.add, 1)))
    assert frames_compiled(compiled) == 1


def test_a_member_of_another_class_is_left_to_python():
    class Odd:
        func = functools.partial.func  # a member descriptor of partial: its offset means nothing in an Odd

    odd = Odd()

    def f(x):
        return x + 1 if odd.func else x

    compiled = suture.compile(f)
    with pytest.raises(TypeError) as expected:
        f(np.ones(2))
    with pytest.raises(TypeError) as actual:
        compiled(np.ones(2))
    assert str(actual.value) == str(expected.value)


def test_the_name_of_a_function_made_in_the_frame_is_known():
    def f(x):
        def inner(y):
            return y + 1

        return inner(x) + len(inner.__name__)

    check(f, suture.compile(f), (np.ones(2),))
