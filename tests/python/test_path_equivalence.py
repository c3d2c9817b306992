"""Code with synthetic locals (a state, flags, spilled temporaries) is equal to the code it stands for, path by path, and to
nothing else."""

from __future__ import annotations

import dis
import marshal
import sys

import pytest

from suture import _toolbox

VERSION = sys.version_info[:2]
SYNTHETIC = ["_pc", "_done", "_t0", "_t1", "_t2"]

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(
        f"{VERSION[0]}.{VERSION[1]}" not in _toolbox.decodable_versions(), reason="no opcode table of this Python"
    ),
]


def body(text: str) -> str:
    return "def function(a, b, c, f, g, h, x, y):\n" + "".join(
        f"    {line}\n" for line in text.strip("\n").splitlines()
    )


def compare(original: str, other: str) -> tuple[str, str]:
    """Verdict and difference of the function."""
    first, second = (marshal.dumps(compile(body(text), "example.py", "exec")) for text in (original, other))
    verdicts = {
        name: (verdict, why) for name, verdict, why in _toolbox.compare_code_marshal(first, second, VERSION, SYNTHETIC)
    }
    assert verdicts["<module>"] == ("same bytecode", "")
    return verdicts["function"]


LOOP = """
while a:
    f()
    if b:
        g()
    else:
        h()
return c
"""

LOOP_AS_DISPATCH = """
_pc = 0
while True:
    if _pc == 0:
        if a: _pc = 1
        else: _pc = 4
    elif _pc == 1:
        f()
        if b: _pc = 2
        else: _pc = 3
    elif _pc == 2:
        g()
        _pc = 0
    elif _pc == 3:
        h()
        _pc = 0
    else:
        return c
"""

EQUAL = {
    "a loop": (LOOP, LOOP_AS_DISPATCH),
    "a flag": (
        "while True:\n    if f(): break\n    g()\n    if h(): return a\nreturn b",
        "_done = False\nwhile not _done:\n    if f():\n        _done = True\n    else:\n        g()\n        if h(): return a\nreturn b",
    ),
    "a temporary for a value on the stack": ("return f(g(a), h(b))", "_t0 = g(a)\n_t1 = h(b)\nreturn f(_t0, _t1)"),
    "a temporary for a local": ("return f(x, g(a))", "_t0 = x\nreturn f(_t0, g(a))"),
    "a local that is read later": ("return f(g(a), x)", "_t0 = g(a)\nreturn f(_t0, x)"),
    "a value across a branch": (
        "return f(a) + (g(b) if c else h(b))",
        "_t0 = f(a)\nif c:\n    _t1 = g(b)\nelse:\n    _t1 = h(b)\nreturn _t0 + _t1",
    ),
    "a short circuit": (
        "x = f(a) and g(b)\nreturn x",
        "_t0 = f(a)\nif _t0:\n    _t0 = g(b)\nx = _t0\nreturn x",
    ),
    "a swap": ("a, b = b, a\nreturn f(a, b)", "_t0 = b\n_t1 = a\nb = _t1\na = _t0\nreturn f(a, b)"),
    "constants across blocks": (
        "y = 1 if a else None\nreturn f(y)",
        "if a:\n    _t0 = 1\nelse:\n    _t0 = None\ny = _t0\nreturn f(y)",
    ),
    "a state that is text": (
        "if a:\n    f()\nelse:\n    g()\nreturn h()",
        """
_pc = 'start'
while True:
    if _pc == 'start':
        if a: _pc = 'yes'
        else: _pc = 'no'
    elif _pc == 'yes':
        f()
        _pc = 'end'
    elif _pc == 'no':
        g()
        _pc = 'end'
    elif _pc == 'end':
        return h()
""",
    ),
    "exceptions": (
        "try:\n    f()\nexcept KeyError:\n    g()\nreturn h()",
        "_t0 = 1\ntry:\n    f()\nexcept KeyError:\n    g()\n_t1 = _t0\nreturn h()",
    ),
    "a jump into the middle of a loop": (
        "if a:\n    f()\nwhile True:\n    g()\n    if h(): return a",
        """
if a: _pc = 0
else: _pc = 1
while True:
    if _pc == 0:
        f()
        _pc = 1
    else:
        g()
        if h(): return a
""",
    ),
    "for loops": (
        "for x in y:\n    if f(x): break\nelse:\n    g()\nreturn h()",
        "_done = True\nfor x in y:\n    if f(x):\n        _done = False\n        break\nif _done:\n    g()\nreturn h()",
    ),
    "nested functions": (
        "def n(): return a\nreturn f(n)",
        "def n(): return a\n_t0 = n\nreturn f(_t0)",
    ),
    "del of a temporary": ("return f(g(a))", "_t0 = g(a)\n_t1 = f(_t0)\ndel _t0\nreturn _t1"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_synthetic_locals_carry_is_followed(name):
    assert compare(*EQUAL[name]) == ("path-equivalent", "")


DIFFERENT = {
    "a swap that loses a value": ("a, b = b, a\nreturn f(a, b)", "_t0 = b\na = _t0\nb = a\nreturn f(a, b)"),
    "a state that is not set": (LOOP, LOOP_AS_DISPATCH.replace("g()\n        _pc = 0", "g()\n        _pc = 3")),
    "a state that ends in another part": (LOOP, LOOP_AS_DISPATCH.replace("else: _pc = 4", "else: _pc = 3")),
    "a part that is lost": (LOOP, LOOP_AS_DISPATCH.replace("h()\n        _pc = 0", "_pc = 0")),
    "a part that runs for ever": (LOOP, LOOP_AS_DISPATCH.replace("h()\n        _pc = 0", "pass")),
    "another result": (LOOP, LOOP_AS_DISPATCH.replace("return c", "return b")),
    "order of evaluation": ("return f(g(a), h(b))", "_t1 = h(b)\n_t0 = g(a)\nreturn f(_t0, _t1)"),
    "operands that are swapped": ("return f(g(a), h(b))", "_t0 = g(a)\n_t1 = h(b)\nreturn f(_t1, _t0)"),
    "a local that changes in between": (
        "_ = f(x)\nx = g(_)\nreturn h(x)".replace("_", "y"),
        "y = f(x)\n_t0 = x\nx = g(y)\nreturn h(_t0)",
    ),
    "a local that is stored too late": (
        "x = f(a)\ng()\nreturn x",
        "_t0 = f(a)\ng()\nx = _t0\nreturn x",
    ),
    "a local that may be unbound": (
        "if a: z = 1\nf()\nreturn z",
        "if a: z = 1\n_t0 = z\nf()\nreturn _t0",
    ),
    "a temporary that may be unbound": ("return f(g(a))", "if a: _t0 = g(a)\nreturn f(_t0)"),
    "a temporary after del": ("return f(g(a))", "_t0 = g(a)\ndel _t0\nreturn f(_t0)"),
    "a test that is made twice": ("if f():\n    g()\nreturn h()", "_t0 = 1\nif f():\n    if f(): g()\nreturn h()"),
    "truth of a value that is tested twice": (
        "x = f(a)\nif x:\n    g()\nreturn h()",
        "x = f(a)\n_t0 = x\nif _t0:\n    if _t0: g()\nreturn h()",
    ),
    "a branch that is turned round": (
        "if a:\n    f()\nelse:\n    g()",
        "_t0 = a\nif not _t0:\n    f()\nelse:\n    g()",
    ),
    "a handler that is lost": ("try:\n    f()\nexcept KeyError:\n    g()\nreturn h()", "_t0 = 1\nf()\nreturn h()"),
    "a handler that is added": ("f()\nreturn h()", "_t0 = 1\ntry:\n    f()\nexcept KeyError:\n    g()\nreturn h()"),
    "finally that is lost": ("try:\n    f()\nfinally:\n    g()", "_t0 = 1\nf()\ng()"),
    "constants": ("x = 0.0\nreturn x", "_t0 = -0.0\nx = _t0\nreturn x"),
    "one and True": ("x = 1\nreturn f(x)", "_t0 = True\nx = _t0\nreturn f(x)"),
    "merged constants": (
        "y = 1 if a else 2\nreturn f(y)",
        "if a:\n    _t0 = 1\nelse:\n    _t0 = 1\ny = _t0\nreturn f(y)",
    ),
    "locals()": ("f(locals())", "_t0 = locals()\nf(_t0)"),
    "a cell": ("return (lambda: a)", "_t0 = a\nreturn (lambda: _t0)"),
    "iterating twice": ("for x in y: f(x)", "_t0 = iter(y)\nfor x in _t0: f(x)"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_behaves_differently_is_refused(name):
    verdict, why = compare(*DIFFERENT[name])
    assert verdict == "different"
    assert why


def test_an_exception_is_raised_again_where_its_place_is():
    original, other = (compile(body(text), "example.py", "exec").co_consts[0] for text in EQUAL["exceptions"])
    broken = 0
    for each in dis.get_instructions(other):
        if each.opname == "RERAISE" and each.arg == 0:
            changed = bytearray(other.co_code)
            changed[each.offset + 1] = 1
            second = marshal.dumps(other.replace(co_code=bytes(changed)))
            same, why = _toolbox.same_bytecode_marshal(marshal.dumps(original), second, VERSION, SYNTHETIC)
            assert not same and "at a place that is none" in why
            broken += 1
    assert broken == 1


def test_names_of_the_original_are_no_synthetic_locals():
    assert compare("_t0 = f(a)\nreturn _t0", "_t0 = f(a)\nreturn _t0") == ("same bytecode", "")
    assert compare("_t0 = f(a)\nreturn _t0", "_t0 = f(a)\n_t1 = _t0\nreturn _t1")[0] == "different"


def test_many_flags_do_not_multiply():
    """States are joined: the number of ways through 40 branches is never counted."""
    steps = "\n".join(f"if f({i}):\n    z{i} = 1\nelse:\n    g()" for i in range(40))
    text = steps.replace("else:\n    g()", "else:\n    _t0 = g\n    _t0()")
    assert compare(steps, text) == ("path-equivalent", "")


def test_a_synthetic_name_of_several_lines_stays_in_the_line_of_the_message() -> None:
    first = compile("f()\n", "<m>", "exec", 0, True)
    second = compile("global _pc\n_pc = 0\nf()\n", "<m>", "exec", 0, True)
    second = second.replace(co_names=tuple("_pc\n_" if name == "_pc" else name for name in second.co_names))
    [(_, verdict, why)] = _toolbox.compare_code_marshal(
        marshal.dumps(first), marshal.dumps(second), VERSION, ["_pc\n_"]
    )
    assert (verdict, why) == ("different", r"_pc\n_ is a global variable")


def test_a_long_run_of_tests_that_ends_is_no_endless_loop():
    flags = [f"_f{i}" for i in range(10)]
    steps = "".join(f"    if {f} == 0:\n        {f} = 1\n        continue\n    {f} = 0\n" for f in flags)
    counter = "\n".join(f"{f} = 0" for f in flags) + f"\nwhile True:\n{steps}    break\n"
    first, second = (
        marshal.dumps(compile(body(text), "example.py", "exec")) for text in ("while True:\n    pass", f"{counter}f()")
    )
    same, why = _toolbox.same_bytecode_marshal(first, second, VERSION, flags)
    assert not same and "the first does nothing observable for ever" in why


ENDLESS = """
try:
    while True:
        pass
except KeyboardInterrupt:
    return {}
"""
ENDLESS_IN_TWO_STATES = """
_pc = 0
try:
    while True:
        if _pc == 0: _pc = 1
        else: _pc = 0
except KeyboardInterrupt:
    return a if _pc == 0 else {}
"""


def test_a_signal_finds_the_same_handler_wherever_an_endless_loop_is():
    assert compare(ENDLESS.format("a"), ENDLESS_IN_TWO_STATES.format("a")) == ("path-equivalent", "")
    for result in "ab":
        verdict, why = compare(ENDLESS.format(result), ENDLESS_IN_TWO_STATES.format("b"))
        assert verdict == "different" and "RETURN_VALUE" in why
    verdict, why = compare(ENDLESS.format("a"), "_pc = 0\nwhile True:\n    _pc = 1")
    assert verdict == "different" and "only the first has an exception handler" in why
