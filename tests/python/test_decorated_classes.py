"""Decorated functions inside classes, and their defaults: what CPython does with plain functions happens to compiled ones."""

from __future__ import annotations

import numpy as np

import suture
from tests.support.oracle import frames_compiled

X = np.arange(3.0)


def test_implicit_class_methods():
    class Base:
        seen: list = []

        @suture.compile
        def __init_subclass__(cls, scale=1.0):
            cls.offset = X * scale + 1

        @suture.compile
        def __class_getitem__(cls, item):
            return cls, X + item

    class Child(Base, scale=2.0):
        pass

    np.testing.assert_array_equal(Child.offset, X * 2.0 + 1)
    owner, value = Child[3]
    assert owner is Child
    np.testing.assert_array_equal(value, X + 3)
    assert frames_compiled(Base.__dict__["__class_getitem__"].__func__) >= 1


def test_defaults_set_on_the_compiled_function_are_those_of_the_function():
    @suture.compile
    def f(x, k=1, *, m=2):
        return x * k + m

    np.testing.assert_array_equal(f(X), X + 2)
    f.__defaults__ = (5,)
    np.testing.assert_array_equal(f(X), X * 5 + 2)
    f.__kwdefaults__ = {"m": 7}
    np.testing.assert_array_equal(f(X), X * 5 + 7)
    assert f.__wrapped__.__defaults__ == (5,)
    assert frames_compiled(f) >= 1
