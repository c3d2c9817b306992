"""Strings with NULs and lone surrogates: legal in Python, and without a UTF-8 form in the second case."""

from __future__ import annotations

import numpy as np

import suture
from tests.support.oracle import check, frames_compiled

X = np.arange(3.0)


def test_formatted_strings_keep_every_character():
    def f(x):
        n = len(x)
        return x + 1, f"a\0b{n}", f"\udc80{n}", f"\udcffé{n}", "".join(["\0", "\udc80"])

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    assert frames_compiled(compiled) >= 1


def test_keywords_without_a_utf8_form():
    def callee(x, **named):
        return x * len(named), sorted(map(ascii, named))

    def f(x):
        return callee(x + 1, **{"\udc80": 1, "a\0b": 2, "a": 3})

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    assert frames_compiled(compiled) >= 1


def test_a_break_whose_message_has_no_utf8_form():
    def f(x):
        y = x + 1
        suture.graph_break("a\udc80b")
        return y * 2

    compiled = suture.compile(f)
    check(f, compiled, (X,))
    assert frames_compiled(compiled) >= 2
    assert "udc80" in str(suture.explain(compiled))
