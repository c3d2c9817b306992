"""Reduction of programs, and of anything for which somebody has a test: a callable, a command, a goal."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import suture
from suture._minify import copies, goals, predicate, program_file
from suture._minify.case import Case
from suture._minify.minimise import minimise
from suture._minify.oracle import NotReproduced
from suture._minify.source import reduce_source

Run = Callable[..., subprocess.CompletedProcess[str]]

PROGRAM = '''\
"""A program with much that does not matter."""
import math
import sys


class Shape:
    kind = "shape"

    def __init__(self, size, colour="red"):
        self.size, self.colour = size, colour

    def area(self):
        if self.size > 0:
            return math.pi * self.size ** 2
        else:
            raise ValueError("no size")


def total(shapes, scale=1.0, *, verbose=False):
    result = 0.0
    for shape in shapes:
        try:
            result += shape.area() * scale
        except ValueError as error:
            print(error, file=sys.stderr)
        finally:
            verbose = not verbose
    return result


table = {"one": 1, "two": 2, "three": 3}
with open("/dev/null") as nothing:
    total([Shape(i) for i in range(3)], scale=math.sqrt(table["two"] + 7))
'''


def raises(text: str, kind: type[BaseException]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
    except kind:
        return True
    except Exception:
        return False
    return False


def contains_call(text: str, name: str) -> bool:
    return any(isinstance(n, ast.Call) and ast.unparse(n.func) == name for n in ast.walk(ast.parse(text)))


def test_a_program_shrinks_to_what_the_test_needs() -> None:
    done = reduce_source(PROGRAM, lambda text: contains_call(text, "math.sqrt"))
    assert done.text == "math.sqrt()\n"
    assert done.complete and done.calls <= 40


def test_a_program_that_must_run_keeps_what_it_needs() -> None:
    broken = PROGRAM.replace("math.pi *", "math.pie *")
    done = reduce_source(broken, lambda text: raises(text, AttributeError))
    assert raises(done.text, AttributeError)
    assert len(done.text.splitlines()) <= 2


def test_the_result_does_not_depend_on_the_workers() -> None:
    found = {reduce_source(PROGRAM, lambda text: contains_call(text, "shape.area"), workers=n).text for n in (1, 2, 4)}
    assert len(found) == 1


def test_no_text_is_tested_twice_and_none_that_is_no_program() -> None:
    tested: list[str] = []

    def test(text: str) -> bool:
        compile(text, "tested", "exec")
        tested.append(text)
        return "verbose" in text

    done = reduce_source(PROGRAM, test)
    assert len(tested) == len(set(tested)) == done.calls
    assert len(done.text) < 40


def test_what_the_test_refuses_is_not_reduced() -> None:
    with pytest.raises(NotReproduced, match="refuses the file as it is"):
        reduce_source(PROGRAM, lambda text: False)
    with pytest.raises(SyntaxError):
        reduce_source("x = (", lambda text: True)


def test_layout_that_the_test_needs_is_kept() -> None:
    text = "x = 1  # why\ny = 2\n"
    assert reduce_source(text, lambda each: "# why" in each).text == text


@pytest.mark.parametrize(("limits", "why"), [({"budget": 3}, "the budget of 3 tests"), ({"seconds": 0.05}, "the time")])
def test_limits_end_the_search_with_what_there_is(limits: dict[str, Any], why: str) -> None:
    def slow(text: str) -> bool:
        time.sleep(0.02)
        return contains_call(text, "math.sqrt")

    done = reduce_source(PROGRAM, slow, **limits)
    assert not done.complete and why in done.stopped
    assert contains_call(done.text, "math.sqrt")


def test_an_interrupt_keeps_what_was_found() -> None:
    calls = []

    def interrupted(text: str) -> bool:
        calls.append(text)
        if len(calls) > 8:
            raise KeyboardInterrupt
        return contains_call(text, "math.sqrt")

    done = reduce_source(PROGRAM, interrupted)
    assert not done.complete and done.stopped == "interrupted" and contains_call(done.text, "math.sqrt")


def test_every_form_gives_programs() -> None:
    text = "\n".join(
        [
            "async def f(a, *b, c=1, **d):\n    await g(*b, **d)\n    return [x async for x in a if x]",
            "@h\ndef k(x: int = 3) -> int:\n    global z\n    z = lambda y: (y, *x)\n    yield from x",
            "match p:\n    case {'a': 1, **rest}:\n        q = f'{p!r:>{3}}'\n    case _:\n        del p.x, p[0]",
            "while (n := len(a)) > 1 and not b or c:\n    a[1:2, ...] += -n if n else ~n\nelse:\n    assert a, 'no'",
            "try:\n    import a.b as c, d\nexcept* E as e:\n    raise e from None\nfinally:\n    {**a, 'x': {1, 2}}",
            "x = {'a': 1, 'b': 2, 'c': 3}",
        ]
    )
    done = reduce_source(text, lambda each: "'c'" in each)
    assert done.text.count("\n") == 1 and "'c'" in done.text


COPIES = """\
import numpy as np
import numpy
import numpy as n2
from numpy import sin as s
from numpy import sin
n, k = np, 3
sums: object = n.linalg

def f(x, y):
    z = x
    q = z
    for i in range(3):
        r = q
    x = y
    def inner(z):
        global k
        return q + r + z + k
    return inner(z) + [n for n in z][n.sin(z)] + s(y) + sin(y)

class C:
    own = n2
    def g(self): return own, sums.norm(k)
"""


def test_copies_are_names_that_are_bound_once() -> None:
    """`k` is declared global, parameters and names of comprehensions are others than those outside, and methods do not see what their
    class binds. What a copy of a copy stands for is found at once."""
    found = [f"{name.id}: {ast.unparse(value)}" for name, value in copies.uses(ast.parse(COPIES))]
    in_f = ["z: x", "q: x", "q: x", "r: x", "z: x", "z: x", "n: np", "z: x"]
    assert found == ["n: np", *in_f, "sin: s", "n2: np", "sums: np.linalg"]


@pytest.mark.parametrize(
    "text", [COPIES, "a = b\nb = a\nf(a, b)", "a = a\nf(a)", "a = b.c\nb = a.d\nf(a, b)", "a, b = b, a\nf(a, b)"]
)
def test_replacing_copies_comes_to_an_end(text: str) -> None:
    tree = ast.parse(text)
    stands_for = {id(name): value for name, value in copies.uses(tree)}

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return stands_for.get(id(node), node)

    once = ast.unparse(Replace().visit(tree))
    assert [name.id for name, _ in copies.uses(ast.parse(once))] == []


def test_copies_go_as_long_as_the_test_accepts_it() -> None:
    text = """\
import numpy as np
n = np
def f(a):
    b = a
    c = b
    return n.maximum(c, b)
f(n.ones(3))
"""

    def test(candidate: str) -> bool:
        called: list[Any] = []
        maximum = SimpleNamespace(maximum=lambda *given: called.append(given), ones=np.ones)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                exec(candidate.replace("import numpy as np", "pass"), {"np": maximum})
        except Exception:
            return False
        return any(len(given) == 2 and all(isinstance(each, np.ndarray) for each in given) for given in called)

    done = reduce_source(text, test)
    assert done.text == "def f(a):\n    np.maximum(a, a)\nf(np.ones(0))\n"


# --- cases and tests -----------------------------------------------------------------------------------------------------


def case_of(function: Any, *inputs: Any) -> Case:
    """The one graph that must compile."""
    graphs: list[tuple[suture.Graph, list[Any]]] = []

    def keep(graph: suture.Graph, examples: list[Any]) -> Any:
        graphs.append((graph, examples))
        return graph.forward()

    suture.compile(function, backend=keep)(*inputs)
    assert len(graphs) == 1
    return Case.of(*graphs[0], backend="eager")


def test_a_callable_judges_cases() -> None:
    def f(x: Any) -> Any:
        return np.exp(np.sqrt(np.abs(np.sin(x) + 1))) * 2

    case = case_of(f, np.linspace(0, 1, 6).reshape(2, 3))

    def wanted(each: Case) -> bool:
        return any(node["op"] == "sqrt" for node in each.graph.nodes)

    for workers in (1, 3):
        result = minimise(case, oracle=predicate.TestOracle(case, wanted, workers=workers))
        assert result.case.op_count == 1 and wanted(result.case) and result.complete
    with pytest.raises(NotReproduced):
        minimise(case, oracle=predicate.TestOracle(case, lambda each: False))


def test_an_exception_of_the_test_ends_the_search() -> None:
    case = case_of(lambda x: np.sin(x) + 1, np.ones(3))

    def broken(each: Case) -> bool:
        raise LookupError("the test is broken")

    with pytest.raises(LookupError, match="the test is broken"):
        minimise(case, oracle=predicate.TestOracle(case, broken))


def test_commands_see_the_candidate_and_end_with_their_children(tmp_path: Path) -> None:
    path = tmp_path / "a file.py"
    path.write_text("needle")
    assert predicate.Command("grep -q needle 'a file.py'", 20).accepts(path)
    assert predicate.Command("grep -q needle {}", 20).accepts(path)
    assert not predicate.Command("grep -q hay {}", 20).accepts(path)
    begin = time.monotonic()
    assert not predicate.Command("sleep 60 & sleep 60", 0.3).accepts(path)
    assert time.monotonic() - begin < 20


PREDICATED = """\
import numpy as np
import suture

def bad(graph, inputs):
    raise RuntimeError("bad")

@suture.compile(backend=bad)
def f(x):
    return np.maximum(np.sin(x) + 1, np.cos(x)).sum()

f(np.ones((4, 4)))
"""


def test_a_command_judges_a_repro_file(run_python: Run, write_program: Callable[[str], Path], tmp_path: Path) -> None:
    run_python(str(write_program(PREDICATED)), SUTURE_REPRO_AFTER="capture")
    assert (tmp_path / "minifier_launcher.py").exists()
    command = "grep -q 'np.cos(' minifier_launcher.py"
    done = run_python("-m", "suture", "minify", "minifier_launcher.py", "--predicate", command, "--json")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert found["ops_after"] == 1 and found["complete"]
    assert "np.cos(" in (tmp_path / "repro.py").read_text()
    assert "np.sin(" not in (tmp_path / "repro.py").read_text()


def test_a_command_judges_a_program(run_python: Run, write_program: Callable[[str], Path], tmp_path: Path) -> None:
    program = write_program(PROGRAM)
    command = f"{sys.executable} {{}} && grep -q 'def total' written.py"
    done = run_python("-m", "suture", "minify", str(program), "--predicate", command, "--json", "--log", "steps")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert found["repro"] == str(tmp_path / "repro.py") and found["complete"] and found["lines_after"] == 2
    assert (tmp_path / "repro.py").read_text() == "def total():\n    pass\n"
    assert "refused" in (tmp_path / "steps").read_text()
    assert "SUCCESS: Went from" in done.stderr


def test_a_script_beside_the_user_is_found_from_every_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test.sh").write_text('#!/bin/sh\ngrep -q needle "$1"\n')
    (tmp_path / "test.sh").chmod(0o700)
    (tmp_path / "elsewhere").mkdir()
    candidate = tmp_path / "elsewhere" / "x.py"
    candidate.write_text("needle")
    monkeypatch.chdir(tmp_path)
    assert predicate.Command("./test.sh {}", 20).accepts(candidate)
    assert not predicate.Command("./no_such.sh {}", 20).accepts(candidate)


def test_modules_beside_the_program_are_found_by_a_command(
    run_python: Run, write_program: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "beside.py").write_text("def divide(x):\n    return 1 / x\n")
    program = write_program("import beside\nx = 3\nprint(x)\nbeside.divide(0)\n")
    command = f"{sys.executable} {{}} 2>&1 | grep -q ZeroDivisionError"
    done = run_python("-m", "suture", "minify", str(program), "--predicate", command)
    assert done.returncode == 0, done
    assert (tmp_path / "repro.py").read_text() == "import beside\nbeside.divide(0)\n"


def test_a_command_that_refuses_everything_reduces_nothing(
    run_python: Run, write_program: Callable[[str], Path]
) -> None:
    done = run_python("-m", "suture", "minify", str(write_program(PROGRAM)), "--predicate", "false")
    assert done.returncode == 1
    assert done.stderr.startswith("NOT REPRODUCED: the test refuses the file as it is (exit code 1): there is nothing")


def test_a_command_that_is_not_there_is_named(run_python: Run, write_program: Callable[[str], Path]) -> None:
    done = run_python("-m", "suture", "minify", str(write_program(PROGRAM)), "--predicate", "./no_such.sh {}")
    assert done.returncode == 1
    assert "refuses the file as it is (exit code 127: " in done.stderr and "./no_such.sh" in done.stderr


# --- goals ---------------------------------------------------------------------------------------------------------------

FAILS = """\
import sys
rows = [[1, 2], [3]]
print("begins")
if len(sys.argv) > 1:
    total = sum(row[1] for row in rows)
print("ends")
"""


def test_the_goal_error_keeps_exception_and_message(
    run_python: Run, write_program: Callable[[str], Path], tmp_path: Path
) -> None:
    program = write_program(FAILS)
    done = run_python("-m", "suture", "minify", str(program), "--goal", "error", "--budget", "200", "x")
    assert done.returncode == 0, done
    held = program_file.load(tmp_path / "repro.py")
    assert len(held.text.splitlines()) <= 2
    assert held.title == "error: it ends with exit code 1 (IndexError: list index out of range)"
    assert "IndexError: list index out of range" in run_python("repro.py", "program").stderr
    asked = run_python("repro.py", "query")
    assert (asked.returncode, asked.stdout) == (1, f"REPRODUCED: {held.title}\n")
    assert run_python("repro.py", "analyze", "--run-code").stdout == asked.stdout
    another = (tmp_path / "repro.py").read_text().replace("IndexError", "KeyError")
    (tmp_path / "repro.py").write_text(another)
    assert run_python("repro.py", "query").returncode == 0


BREAKS = """\
import numpy as np
import suture

@suture.compile
def f(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y

f(np.ones(3))
"""


def test_the_goal_of_a_finding_keeps_it(run_python: Run, write_program: Callable[[str], Path], tmp_path: Path) -> None:
    """One frame compiles in the result as well, and it breaks for the same reason."""
    done = run_python("-m", "suture", "minify", "--goal", "SB101", "--budget", "40", str(write_program(BREAKS)))
    assert done.returncode == 0, done
    checked = run_python("-m", "suture", "check", "--json", "repro.py")
    findings = json.loads(checked.stdout)["findings"]
    assert "SB101" in [finding["id"] for finding in findings]
    held = program_file.load(tmp_path / "repro.py")
    assert len(held.text.split()) < len(BREAKS.split()) and held.title.startswith("SB101: f, line ")
    asked = run_python("repro.py", "query")
    assert (asked.returncode, asked.stdout) == (1, f"REPRODUCED: {held.title}\n")
    analyzed = run_python("repro.py", "analyze", "--run-code")
    assert analyzed.returncode == 1 and analyzed.stdout.startswith("SB101: f, line ")
    assert analyzed.stdout.endswith(asked.stdout)


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        ("SB102", "does not reach the goal 'SB102'; it has the findings: SB101"),
        ("recompiles=3", "does not reach the goal 'recompiles=3': 0 of one function at most"),
        ("breaks=99", "does not reach the goal 'breaks=99': 1 of one function at most"),
        ("error", "does not fail: there is no error to keep"),
    ],
)
def test_goals_that_are_not_reached_are_told(
    run_python: Run, write_program: Callable[[str], Path], goal: str, why: str
) -> None:
    done = run_python("-m", "suture", "minify", "--goal", goal, str(write_program(BREAKS)))
    assert done.returncode == 1 and why in done.stderr


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        ("breaks=x", "'breaks=x' is no goal: a number above 0 is wanted after ="),
        ("slow=inf", "'slow=inf' is no goal: a number above 0"),
        ("SB4O1", "'SB4O1' is no goal; did you mean 'SB401'?"),
        ("SB999", "'SB999' is no goal; goals are error, breaks"),
        ("brakes", "'brakes' is no goal; did you mean 'breaks'?"),
        ("fails", "'fails' is no goal; goals are error, breaks"),
        ("recompiled", "'recompiled' is no goal; did you mean 'recompiles'?"),
        ("other_result=2", "only breaks, recompiles, slow are followed by ="),
        ("", "'' is no goal; goals are error, breaks"),
    ],
)
def test_words_that_are_no_goal_are_a_usage_error(
    run_python: Run, write_program: Callable[[str], Path], goal: str, why: str
) -> None:
    done = run_python("-m", "suture", "minify", "--goal", goal, str(write_program(BREAKS)))
    assert done.returncode == 2 and why in done.stderr, done


def test_goals_look_at_the_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"function": "f", "breaks": 2, "recompiles": 1, "speedup": 0.4, "call_ms": 1.0, "numpy_call_ms": 0.4}
    finding = {"id": "recompile", "function": "f", "line": 3, "what": "again"}
    report = {"verdict": "findings", "findings": [finding], "functions": [row]}
    monkeypatch.setattr(goals.Goal, "_end_of", lambda self, text: goals.Ending(1, json.dumps(report), ""))
    reached = {
        words: goals.Goal(words, tmp_path / "x.py", [], 1.0)("")
        for words in ("breaks", "breaks=3", "recompiles=1", "slow", "slow=3", "recompile", "SB101")
    }
    assert [words for words, answer in reached.items() if answer] == ["breaks", "recompiles=1", "slow", "recompile"]


# --- suture.minify -------------------------------------------------------------------------------------------------------


def test_minify_takes_a_predicate() -> None:
    def f(x: Any) -> Any:
        y = np.exp(np.sqrt(np.abs(np.sin(x) + 1))) * 2
        if y.sum() > 0:  # two graphs: one in front of the branch, one behind it
            y = np.log(y) - x
        return y

    def has(op: str) -> Callable[[Case], bool]:
        return lambda case: any(node["op"] == op for node in case.graph.nodes)

    for op in ("sqrt", "log"):
        found = suture.minify(f, np.linspace(0, 1, 6), predicate=has(op))
        assert [node["op"] for node in found.case.graph.nodes if node["kind"] != "Input"] == [op]
    with pytest.raises(NotReproduced, match="refuses each of the 2 graphs"):
        suture.minify(f, np.linspace(0, 1, 6), predicate=has("cos"))
