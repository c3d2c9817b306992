"""Containers that change while something iterates over them, views, and dicts that are namespaces: as in CPython."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import suture
from tests.support.oracle import frames_compiled

X = np.arange(6.0)


def plain(value: Any) -> Any:
    """Comparable with ==, arrays and order of dicts included."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.tolist()
    if isinstance(value, dict):
        if "__builtins__" in value:
            return "namespace"
        return "dict", [(k, plain(v)) for k, v in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [plain(v) for v in value]
    return type(value).__name__, repr(value)


def outcome(f, make) -> Any:
    """Result or exception, and what the container holds then."""
    container = make()
    try:
        result = "value", plain(f(X.copy(), container))
    except Exception as error:
        result = "error", type(error), str(error)
    return result, plain(container)


def function(body: str, names: dict) -> Any:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    exec(f"def f(x, c):\n    y = x * 0\n{lines}    return y, c\n", names)
    return names["f"]


def check_body(body: str, make, least_frames: int = 1) -> None:
    expected = outcome(function(body, {"np": np}), make)
    compiled = suture.compile(function(body, {"np": np}))
    for _ in range(3):
        assert outcome(compiled, make) == expected
    assert frames_compiled(compiled) >= least_frames


def over(iterable: str, *statements: str) -> str:
    return "\n".join([f"for k in {iterable}:", *("    " + s for s in statements)])


ADD = "y = y + 1"
DICT_LOOPS = {
    "add": over("c", "c[k + '!'] = 1", ADD),
    "add_behind_the_last": over("c", ADD, "if k == 'b': c['z'] = 1"),
    "add_and_leave": over("c", ADD, "c['z'] = 1", "break"),
    "add_in_place_of_another": over("c", "c[k + '!'] = c.pop(k)", ADD),
    "delete_and_add_again": over("c", "v = c.pop(k)", "c[k] = v", ADD, "if y[0] > 9: break"),
    "del": over("c", "y = y + c[k]", "del c[k]"),
    "pop": over("c", "y = y + c.pop(k)"),
    "pop_of_nothing": over("c", "y = y + c.pop('none', 5)"),
    "setdefault": over("c", "y = y + c.setdefault(k + '!', 3)"),
    "update": over("c", "c.update({k + '!': 3})", ADD),
    "clear": over("c", "c.clear()", ADD),
    "store": over("c", "c[k] = y", ADD),
    "keys": over("c.keys()", "c['z'] = 1", ADD),
    "values": over("c.values()", "c.pop('a', None)", ADD),
    "items_add": over("c.items()", "c['z'] = 1", "y = y + k[1]"),
    "items_store": over("c.items()", "c['b'] = 10", "y = y + k[1]"),
    "enumerate": over("enumerate(c)", "c['z'] = 1", "y = y + k[0]"),
    "zip": over("zip((1, 2, 3), c)", "c['z'] = 1", "y = y + k[0]"),
    "reversed": over("reversed(c)", "c['z'] = 1", ADD),
    "local": "e = {'a': 1, 'b': 2}\n" + over("e", "e[k + '!'] = 1", ADD),
    "comprehension": "r = [c.pop(k) for k in c]",
    "next": "i = iter(c)\nk = next(i)\nc['z'] = 1\nk2 = next(i)",
    "next_of_exhausted": "i = iter(c)\nk = list(i)\nc['z'] = 1\nk2 = next(i, 5)",
}


@pytest.mark.parametrize("name", DICT_LOOPS)
def test_dict_that_changes_while_it_is_iterated(name):
    check_body(DICT_LOOPS[name], lambda: {"a": 1, "b": 2}, least_frames=0 if name == "next" else 1)


LIST_LOOPS = {
    "append": over("c", "if len(c) < 6: c.append(k + 1)", "y = y + k"),
    "remove": over("c", "c.remove(k)", "y = y + k"),
    "clear": over("c", "c.clear()", "y = y + k"),
    "slice": over("c", "c[:] = [9]", "y = y + k"),
    "reversed_store": over("reversed(c)", "c[0] = 100", "y = y + k"),
    "reversed_clear": over("reversed(c)", "c.clear()", "y = y + k"),
    "reversed_append": over("reversed(c)", "c.append(7)", "y = y + k"),
    "enumerate": over("enumerate(c)", "if k[0] < 3: c.append(k[0])", "y = y + k[1]"),
    "exhausted": "i = iter(c)\nr = list(i)\nc.append(5)\nr += list(i)\ny = y + len(r)",
    "extend_by_itself": "c.extend(c)\nc += c",
    "extend_by_what_reads_it": "c.extend(k + 1 for k in c if len(c) < 9)",
}


@pytest.mark.parametrize("name", LIST_LOOPS)
def test_list_that_changes_while_it_is_iterated(name):
    check_body(LIST_LOOPS[name], lambda: [1, 2, 3, 4])


SET_LOOPS = {
    "add": "s = {1, 2}\n" + over("s", "s.add(k + 10)", "y = y + k"),
    "discard": "s = {1, 2}\n" + over("s", "s.discard(k)", "y = y + k"),
    "argument": over("c", "c.add(k + 10)", "y = y + k"),
}


@pytest.mark.parametrize("name", SET_LOOPS)
def test_set_that_changes_while_it_is_iterated(name):
    check_body(SET_LOOPS[name], lambda: {1, 2})


VIEWS = {
    "keys": "v = c.keys()\nc['z'] = 3\ny = y + len(v)\nr = list(v), 'z' in v, 'q' not in v, type(v)\nc = r, c",
    "values": "v = c.values()\nc['z'] = 3\nc['a'] = 7\nc = list(v), len(v), sum(v), c",
    "items": "v = c.items()\nc['z'] = 3\nc['a'] = 7\nc = list(v), len(v), dict(v), c",
    "handed_out": "v = c.keys(), c.values(), c.items()\nc['z'] = 3\nc = *v, c",
    "indexed": "c = c.keys()[0]",
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_look_into_their_dict(name):
    check_body(VIEWS[name], lambda: {"a": 1, "b": 2})


def test_a_changed_dict_keeps_what_was_not_changed():
    """Only the changed entries are written: someone who iterates over the dict outside sees no other change."""

    def f(x, c):
        c["b"] = x.sum()
        return x * 2

    compiled = suture.compile(f)
    for g in (f, compiled, compiled):
        c = {"gone": 0, "a": 1, "b": 2, "c": 3}
        del c["gone"]
        seen = []
        for key in c:
            seen.append(key)
            if key == "a":
                g(X, c)
        assert seen == ["a", "b", "c"]
        assert list(c) == seen
    assert frames_compiled(compiled) == 1


def test_a_dict_keeps_its_order_and_its_deleted_keys():
    def f(x, c):
        del c["a"]
        c["new"] = x * 2
        c["a"] = x * 3
        c["b"] = 5
        c.pop("c")
        return x + 1

    compiled = suture.compile(f)
    for _ in range(2):
        assert outcome(compiled, lambda: dict(a=1, b=2, c=3, d=4)) == outcome(f, lambda: dict(a=1, b=2, c=3, d=4))
    assert frames_compiled(compiled) == 1


NAMESPACES = {
    "read": "global Q\nQ = 3\ny = y + c['Q']",
    "iterated": "global Q\nQ = 3\n" + over("c", ADD),
    "written": "c['W'] = 4\ny = y + W",
    "written_in_the_loop": "global Q\n" + over("c", "Q = 5", ADD),
    "stored_in_the_loop": over("c", "c['zz'] = 5", ADD),
    "of_globals": "c = 0\n" + over("globals()", "globals()['zz'] = 5", ADD),
}


@pytest.mark.parametrize("name", NAMESPACES)
def test_the_globals_as_a_dict(name):
    results = []
    for wrap in (lambda f: f, suture.compile):
        names: dict = {"np": np}
        f = wrap(function(NAMESPACES[name], names))
        results.append([(outcome(f, lambda n=names: n), sorted(n for n in names)) for _ in range(3)])
    assert results[0] == results[1]
    assert frames_compiled(f) >= 1


def test_an_entry_for_a_dict_is_not_used_for_the_globals():
    names: dict = {"np": np, "Q": 1}
    del names["np"]
    f = function("global Q\nQ = 7\ny = y + c['Q']\nc = 0", names)
    compiled = suture.compile(f)
    assert compiled(X, {"Q": 2})[0][0] == 2
    assert compiled(X, names)[0][0] == 7
    assert compiled(X, {"Q": 3})[0][0] == 3
    assert frames_compiled(compiled) >= 2


@pytest.mark.parametrize("kind", ["module", "instance"])
def test_the_dict_of_an_object_that_changes(kind):
    results = []
    for wrap in (lambda f: f, suture.compile):
        owner = types.ModuleType("M") if kind == "module" else type("C", (), {})()
        owner.a = 1
        f = wrap(function(over("o.__dict__", "o.b = 5", ADD) + "\nc = o.b", {"o": owner}))
        results.append([outcome(f, lambda: 0) for _ in range(3)])
    assert results[0] == results[1]
    assert frames_compiled(f) >= 1


def test_iter_runs_behind_what_the_frame_wrote():
    class Source:
        def __iter__(self):
            return iter(range(LIMIT["n"]))

    def f(x, source):
        y = x * 2
        LIMIT["n"] = 3
        for k in source:
            y = y + k
        return y

    LIMIT = {"n": 1}
    expected = f(X, Source())
    LIMIT["n"] = 1
    compiled = suture.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X, Source()), expected)
        LIMIT["n"] = 1
    assert frames_compiled(compiled) == 1


def test_loop_over_a_dict_that_the_frame_changed():
    log = []

    @suture.disable
    def note(k):
        log.append(k)

    def f(x, c):
        c["z"] = x + 1
        for k in c:
            note(k)
            x = x + len(k)
        return x

    compiled = suture.compile(f)
    for _ in range(2):
        for g in (f, compiled):
            log.clear()
            result = g(X, {"a": 1})
            assert log == ["a", "z"] and result[0] == 2
    assert frames_compiled(compiled) >= 2
    assert not compiled.status()["skipped"]


def test_containers_that_hold_themselves():
    """The store puts a container into itself that is in there already: capture has to end."""

    def appended(x, l, d):
        l.append(l)
        return x + 1, len(l)

    def stored(x, l, d):
        l[0] = l
        return x + len(l)

    def stored_in_a_dict(x, l, d):
        d["again"] = d
        return x + len(d)

    def one_in_the_other(x, l, d):
        d["list"] = l
        l.append(d)
        return x + len(d) + len(l)

    for f in (appended, stored, stored_in_a_dict, one_in_the_other):
        compiled = suture.compile(f)
        for _ in range(2):
            outcomes = []
            for function in (f, compiled):
                items, table = [1], {"k": 2}
                items.append(items)
                items.append(items)
                table["self"] = table
                result = function(np.arange(3.0), items, table)
                held = [v is items or v is table for v in items], [v is items or v is table for v in table.values()]
                outcomes.append((repr(result), held))
            assert outcomes[0] == outcomes[1], f.__name__


def write_item(x, items):
    items[5] = 3
    return x * items[5]


def write_slice(x, items):
    items[5:7] = [3, 4]
    return x * items[5]


def append(x, items):
    items.append(3)
    return x * items[-1]


def write_own(x, items):
    items = [0] * len(items)
    items[5] = 3
    items.append(4)
    return x * items[5] * items[-1]


@pytest.mark.parametrize("function", [write_item, write_slice, append, write_own])
@pytest.mark.parametrize("length", [4096, 1_000_000])
def test_writing_to_a_list_makes_guards_of_few_items(function, length):
    compiled = suture.compile(function)
    x = np.ones(3)
    expected_items, items = list(range(length)), list(range(length))
    expected = function(x, expected_items)
    np.testing.assert_array_equal(compiled(x, items), expected)
    assert items == expected_items
    guards = [len(entry["guards"]) for frame in compiled.status()["frames"] for entry in frame["entries"]]
    assert max(guards) <= 4096 + 20
    if length > 4096:
        assert max(guards) < 20
        assert compiled.status()["graph_break_count"] > 0
    assert frames_compiled(compiled) > 0
