"""Two code objects are called the same when no program can tell them apart, and never otherwise."""

from __future__ import annotations

import ast
import marshal
import sys

import pytest

from suture import _toolbox

VERSION = sys.version_info[:2]

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(
        f"{VERSION[0]}.{VERSION[1]}" not in _toolbox.decodable_versions(), reason="no opcode table of this Python"
    ),
]


def compiled(source: str) -> bytes:
    return marshal.dumps(compile(source, "example.py", "exec", dont_inherit=True))


def compare(first: str, second: str) -> str:
    """ "" or the first difference."""
    same, reason = _toolbox.same_bytecode_marshal(compiled(first), compiled(second), VERSION)
    assert same == (reason == "")
    return reason


def body(text: str, parameters: str = "a, b, c, f, g, h, x, y") -> str:
    return f"def function({parameters}):\n" + "".join(f"    {line}\n" for line in text.splitlines())


SAME = {
    "lines and blanks": ("if a:\n    f()\n\n\nelse:\n    g()", "if a: f()\nelse: g()"),
    "while True and while not": (
        "while a:\n    f()",
        "while True:\n    if not a: break\n    f()",
    ),
    "De Morgan": ("if not (a and b):\n    f()\nelse:\n    g()", "if (not a) or (not b):\n    f()\nelse:\n    g()"),
    "swapped branches": ("if a:\n    f()\nelse:\n    g()\nh()", "if not a:\n    g()\nelse:\n    f()\nh()"),
    "a join that is written twice": (
        "if a:\n    f()\nelse:\n    g()\nreturn h()",
        "if a:\n    f()\n    return h()\ng()\nreturn h()",
    ),
    "pass": ("if a:\n    pass\nf()\npass", "if a: pass\nf()"),
    "a list of constants to look in": ("return x in [1, 2]", "return x in (1, 2)"),
    "early return": ("if a:\n    return f()\nelse:\n    return g()", "if a:\n    return f()\nreturn g()"),
    "continue": (
        "for x in y:\n    if x:\n        f(x)",
        "for x in y:\n    if not x:\n        continue\n    f(x)",
    ),
    "quotes of texts": ("return 'it\\'s'", 'return "it\'s"'),
    "nested function": ("def n():\n    return a\nreturn n", "def n(): return a\n\nreturn n"),
    "tuple swap": ("a, b = b, a", "(a, b) = (b, a)"),
    "hexadecimal": ("return 255", "return 0xFF"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_only_looks_different_is_the_same(name):
    first, second = SAME[name]
    assert compare(body(first), body(second)) == ""


DIFFERENT = {
    "the swap that loses a value": ("a, b = b, a", "a = b\nb = a"),
    "order of a swap": ("a, b = b, a", "b, a = b, a"),
    "sign of zero": ("return 0.0", "return -0.0"),
    "one and True": ("return 1", "return True"),
    "one and 1.0": ("return 1", "return 1.0"),
    "one in a tuple and True": ("return (1, 2)", "return (True, 2)"),
    "text and bytes": ("return 'a'", "return b'a'"),
    "zeros inside complex numbers": ("return 0j", "return -0j"),
    "order of evaluation": ("return f() + g()", "return g() + f()"),
    "order of arguments": ("return f(a, b)", "return f(b, a)"),
    "operator": ("return a + b", "return a - b"),
    "in-place and not": ("a += b\nreturn a", "a = a + b\nreturn a"),
    "comparison": ("return a < b", "return a <= b"),
    "is and ==": ("return a is b", "return a == b"),
    "is and is not": ("return a is b", "return a is not b"),
    "polarity": ("if a:\n    f()", "if not a:\n    f()"),
    "and and or": ("return a and b", "return a or b"),
    "truth and None": ("if a:\n    f()", "if a is not None:\n    f()"),
    "order of except clauses": (
        "try:\n    f()\nexcept KeyError:\n    g()\nexcept LookupError:\n    h()",
        "try:\n    f()\nexcept LookupError:\n    h()\nexcept KeyError:\n    g()",
    ),
    "finally that is lost": ("try:\n    f()\nfinally:\n    g()", "f()\ng()"),
    "except that is wider": ("try:\n    f()\nexcept KeyError:\n    g()", "try:\n    f()\nexcept:\n    g()"),
    "what the try holds": (
        "try:\n    f()\n    g()\nexcept KeyError:\n    h()",
        "f()\ntry:\n    g()\nexcept KeyError:\n    h()",
    ),
    "where finally ends": ("try:\n    f()\nfinally:\n    g()\nh()", "try:\n    f()\nfinally:\n    g()\n    h()"),
    "signals during an endless loop": (
        "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    f()",
        "while True: pass",
    ),
    "with and call": ("with f():\n    g()", "f()\ng()"),
    "for and while": ("for x in y: f()", "while y: f()"),
    "else of a loop": ("for x in y:\n    if x: break\nelse:\n    f()", "for x in y:\n    if x: break\nf()"),
    "endless and ended": ("while True: pass", "return"),
    "default values": ("def n(a=1): pass", "def n(a=2): pass"),
    "name of an attribute": ("return a.x", "return a.y"),
    "global and local": ("z = 1\nreturn z", "global z\nz = 1\nreturn z"),
    "names of locals": ("z = a\nreturn z", "w = a\nreturn w"),
    "closure": ("def n(): return a\nreturn n", "def n(): return b\nreturn n"),
    "yield": ("yield a", "yield b"),
    "generator and function": ("yield", "return"),
    "docstring": ("'first'\nreturn a", "'second'\nreturn a"),
    "docstring that is lost": ("'first'\nreturn a", "return a"),
    "nested docstring": ("def n(): 'first'", "def n(): 'second'"),
    "name of a nested function": ("def n(): pass", "def m(): pass"),
    "flags of format": ("return f'{a!r}'", "return f'{a!s}'"),
    "keywords": ("return f(x=a)", "return f(y=a)"),
    "keyword and positional": ("return f(x=a)", "return f(a)"),
    "star": ("return f(*a)", "return f(a)"),
    "chained comparison": ("return a < f() < b", "return a < f() and f() < b"),
    "del": ("del a", "a = None"),
    "slices": ("return a[b:c]", "return a[c:b]"),
    "set display and tuple": ("return {1, 2}", "return (1, 2)"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_a_program_can_tell_apart_is_different(name):
    first, second = DIFFERENT[name]
    for one, other in ((first, second), (second, first)):
        assert "function" in compare(body(one), body(other))


SIGNATURES = [
    "a, b, c",
    "a, b, c=1",
    "a, b, /, c",
    "a, b, *, c",
    "a, b, *c",
    "a, b, **c",
    "b, a, c",
    "a, b",
]


@pytest.mark.parametrize("one", range(len(SIGNATURES)))
def test_signatures_count(one):
    for other in range(len(SIGNATURES)):
        reason = compare(body("return 1", SIGNATURES[one]), body("return 1", SIGNATURES[other]))
        assert (reason == "") == (one == other)


def test_the_reason_names_both_places():
    reason = compare(body("f()\nreturn 0.0"), body("f()\n\nreturn -0.0"))
    assert reason.startswith("function: they differ: ")
    assert "(0.0) at byte" in reason and "line 3 in the first" in reason
    assert "(-0.0) at byte" in reason and "line 4 in the second" in reason


def test_every_code_object_has_a_verdict_of_its_own():
    first = "def one():\n    def two(): return 1\n    return two\ndef three(): return 3\n"
    second = "def one():\n    def two(): return 2\n    return two\ndef three(): return 3\n"
    verdicts = _toolbox.compare_code_marshal(compiled(first), compiled(second), VERSION)
    assert [(name, verdict) for name, verdict, _ in verdicts] == [
        ("<module>", "same bytecode"),
        ("one", "same bytecode"),
        ("three", "same bytecode"),
        ("one.<locals>.two", "different"),
    ]


def test_a_difference_hides_nothing_behind_it():
    first = "f()\ndef one(): return 1\ndef two(): return 2\n"
    second = "g()\ndef one(): return 1\ndef two(): return -2\n"
    verdicts = _toolbox.compare_code_marshal(compiled(first), compiled(second), VERSION)
    assert [verdict for _, verdict, _ in verdicts] == ["different", "same bytecode", "different"]


def test_where_a_class_begins_is_layout():
    assert compare("class C:\n    x = 1\n", "\n\n\nclass C:\n    x = 1\n") == ""
    assert compare("class C:\n    x = 1\n", "class C:\n    x = 2\n") != ""


def test_calls_through_imported_names_are_calls_of_methods():
    """A function alone does not see that the name is imported; some versions compile its calls in another form."""
    module = compile("import m\ndef f(a):\n    return m.f(a, g(a) if a else m.h())\n", "m", "exec", dont_inherit=True)
    alone = compile("def f(a):\n    return m.f(a, g(a) if a else m.h())\n", "m", "exec", dont_inherit=True)

    def function(code):
        return marshal.dumps(next(constant for constant in code.co_consts if hasattr(constant, "co_code")))

    assert _toolbox.same_bytecode_marshal(function(module), function(alone), VERSION) == (True, "")


@pytest.mark.parametrize("module", ["argparse", "asyncio.tasks", "dataclasses", "enum", "inspect", "tarfile", "typing"])
def test_printing_a_module_anew_changes_nothing(module):
    with open(__import__(module, fromlist=["_"]).__file__, encoding="utf-8") as file:
        source = file.read()
    assert compare(source, ast.unparse(ast.parse(source))) == ""
