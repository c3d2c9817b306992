"""What a failure leaves behind: one file that holds the graph, the inputs and the backend, and fails again by itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suture
from suture._minify import backend_code, backend_needs, data, repro_file
from suture._minify.case import Case, CaseError, inputs_of
from suture._minify.repro_file import NotARepro, ReproFile

# The seed's program: a backend that cannot handle one op.
PROGRAM = """\
import os
import numpy as np
import suture

WHAT = os.environ["WHAT"]

def bad(graph, example_inputs):
    if any(node["op"] == WHAT for node in graph.nodes):
        raise RuntimeError(f"bad backend cannot handle {WHAT}")
    return graph.forward()

@suture.compile(backend=bad)
def f(x):
    a = np.sin(x) + 1.0
    y = np.cos(a)
    z = np.maximum(y, 0.0)
    return z * 2.0

try:
    print(f(np.linspace(-1, 1, 8)))
    print("skipped:", f.status()["skipped"])
except suture.BackendCompilerFailed as error:
    print(f"{type(error).__name__}: {error}")
    print("cause", repr(error.__cause__), "backend", error.backend, "path", error.path)
print("minifier_launcher.py written:", os.path.exists("minifier_launcher.py"))
"""

Run = Callable[..., Any]


@pytest.fixture
def program(write_program: Callable[[str], Path]) -> Path:
    return write_program(PROGRAM)


def graph_of(function: Any, *inputs: Any, **settings: Any) -> suture.Graph:
    """The one graph that must compile when `function` is called."""
    graphs = []

    def keep(graph: suture.Graph, example_inputs: list[Any]) -> Any:
        graphs.append((graph, example_inputs))
        return graph.forward()

    compiled = suture.compile(function, backend=keep, **settings)
    compiled(*inputs)
    assert len(graphs) == 1
    return graphs[0]


def repro_of(function: Any, *inputs: Any, **settings: Any) -> ReproFile:
    from suture._minify.launcher import input_names

    graph, objects = graph_of(function, *inputs, **settings)
    case = Case.of(graph, objects, backend="eager")
    return ReproFile(case, input_names(case))


# --- the flow ------------------------------------------------------------------------------------------------------------


def test_without_the_option_a_failing_backend_costs_the_compiled_code_only(program: Path, run_python: Run) -> None:
    done = run_python(str(program), WHAT="maximum")
    assert "skipped: True" in done.stdout and "written: False" in done.stdout
    assert "Backend 'bad' raised RuntimeError" in done.stderr


@pytest.mark.parametrize("after", ["capture", "dynamo"])
def test_a_failing_backend_raises_and_leaves_a_launcher(
    program: Path, run_python: Run, tmp_path: Path, after: str
) -> None:
    done = run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER=after)
    path = tmp_path / "minifier_launcher.py"
    message = done.stdout.partition("cause")[0].rstrip().splitlines()
    assert message[0] == "BackendCompilerFailed: bad raised RuntimeError: bad backend cannot handle maximum"
    assert message[-1] == f"  python {path}"
    assert "cause RuntimeError('bad backend cannot handle maximum') backend bad" in done.stdout
    assert "minifier_launcher.py written: True" in done.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_graph_without_the_op_compiles(program: Path, run_python: Run) -> None:
    done = run_python(str(program), WHAT="minimum", SUTURE_REPRO_AFTER="capture")
    assert "skipped: False" in done.stdout and "written: False" in done.stdout


@pytest.mark.parametrize("after", ["lowering", "aot"])
def test_after_lowering_other_backends_are_nobodys_business(program: Path, run_python: Run, after: str) -> None:
    done = run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER=after)
    assert "skipped: True" in done.stdout and "written: False" in done.stdout


def test_the_launcher_fails_alone_in_the_same_way(program: Path, run_python: Run, tmp_path: Path) -> None:
    """The backend is in the file as source, with the value that the program took from its environment."""
    run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture")
    program.unlink()
    done = run_python("minifier_launcher.py", "run")
    assert done.returncode == 1, done
    assert (
        done.stdout.splitlines()[-1]
        == "REPRODUCED: compile_error while compile: RuntimeError: bad backend cannot handle maximum"
    )
    quiet = run_python("minifier_launcher.py", "query")
    assert quiet.returncode == 1 and quiet.stdout == done.stdout.splitlines()[-1] + "\n"


def test_a_repaired_backend_does_not_reproduce(program: Path, run_python: Run, tmp_path: Path) -> None:
    run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture")
    path = tmp_path / "minifier_launcher.py"
    path.write_text(path.read_text().replace("WHAT = 'maximum'", "WHAT = 'minimum'"))
    done = run_python("minifier_launcher.py", "run")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "NOT REPRODUCED: it compiles"


def test_another_failure_does_not_reproduce(program: Path, run_python: Run, tmp_path: Path) -> None:
    run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture")
    path = tmp_path / "minifier_launcher.py"
    path.write_text(path.read_text().replace("raise RuntimeError(f", "raise KeyError(f"))
    done = run_python("minifier_launcher.py", "run")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("NOT REPRODUCED: it fails in another way: compile_error")


def test_without_suture_the_file_says_that_it_cannot_run(program: Path, run_python: Run, tmp_path: Path) -> None:
    run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture")
    done = run_python("-I", "minifier_launcher.py", PYTHONPATH="")
    installed = run_python("-I", "-c", "import suture").returncode == 0
    assert installed or (done.returncode == 77 and done.stdout.startswith("CANNOT RUN HERE: "))


def test_level_1_writes_the_whole_graph_and_runs_it_before_it_says_so(
    program: Path, run_python: Run, tmp_path: Path
) -> None:
    done = run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="1")
    assert "It fails the same way in a new process.\n" in done.stdout
    assert f"  python {tmp_path / 'repro.py'}\n" in done.stdout
    assert run_python("repro.py").returncode == 1


def test_level_3_writes_every_graph_before_it_is_compiled(program: Path, run_python: Run, tmp_path: Path) -> None:
    done = run_python(str(program), WHAT="minimum", SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="3")
    assert "skipped: False" in done.stdout and "minifier_launcher.py written: True" in done.stdout
    assert "written before it was compiled" in (tmp_path / "minifier_launcher.py").read_text()


def test_nothing_is_overwritten(program: Path, run_python: Run, tmp_path: Path) -> None:
    (tmp_path / "minifier_launcher.py").write_text("mine")
    done = run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture")
    assert (tmp_path / "minifier_launcher.py").read_text() == "mine"
    assert f"  python {tmp_path / 'minifier_launcher_1.py'}\n" in done.stdout


def test_files_go_where_the_option_says(program: Path, run_python: Run, tmp_path: Path) -> None:
    where = tmp_path / "deep" / "down"
    run_python(str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture", SUTURE_COMPILE_DEBUG_DIR=str(where))
    assert (where / "minifier_launcher.py").exists() and not (tmp_path / "minifier_launcher.py").exists()
    assert stat.S_IMODE(where.stat().st_mode) == 0o700


def test_a_directory_that_cannot_be_written_costs_the_file_and_not_the_error(
    program: Path, run_python: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = run_python(
        str(program), WHAT="maximum", SUTURE_REPRO_AFTER="capture", SUTURE_COMPILE_DEBUG_DIR=str(tmp_path / "file")
    )
    assert "BackendCompilerFailed: bad raised RuntimeError: bad backend cannot handle maximum" in done.stdout
    assert f"No file was written: File exists: {tmp_path / 'file'}" in done.stdout
    assert "Set SUTURE_COMPILE_DEBUG_DIR to a directory that can be written." in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repro = repro_of(lambda x: np.sin(x), np.ones(3))
    create = repro_file.create

    def full(directory: Path, stem: str) -> tuple[Path, int]:
        path, fd = create(directory, stem)
        os.close(fd)
        return path, os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(repro_file, "create", full)
    with pytest.raises(OSError, match="No space left"):
        repro_file.write(repro, tmp_path, "repro")
    assert list(tmp_path.iterdir()) == []


# --- failing runs --------------------------------------------------------------------------------------------------------

FAILING_RUNS = """\
import sys
import numpy as np
import suture

HOW = sys.argv[1]

def late(graph, example_inputs):
    run = graph.forward()
    def call(*inputs):
        if HOW == "raises":
            raise ValueError("late")
        return tuple(each + 1 for each in run(*inputs)) if HOW == "wrong" else run(*inputs)
    return call

@suture.compile(backend=late)
def f(x):
    return np.maximum(x, 0.0) * 2.0

@suture.compile
def g(x):
    return np.log(x) + 1

try:
    print(f(np.ones(4)))
except Exception as error:
    print(f"{type(error).__name__}: {error}")
print(g(np.ones(2)), g.status()["graph_count"])
with np.errstate(all="raise"):
    try:
        g(-np.ones(2))
    except FloatingPointError as error:
        print("NumPy's own:", error)
"""


@pytest.mark.parametrize(
    ("how", "level", "first"),
    [
        ("raises", "2", "BackendCompilerFailed: late raised ValueError: late"),
        ("wrong", "4", "BackendCompilerFailed: late gave a wrong result: output 0[0] is 3.0; NumPy gives 2.0 ("),
        ("wrong", "2", "[3. 3. 3. 3.]"),
        ("right", "4", "[2. 2. 2. 2.]"),
    ],
)
def test_runs_fail_when_they_raise_and_at_level_4_when_they_are_wrong(
    write_program: Callable[[str], Path], run_python: Run, tmp_path: Path, how: str, level: str, first: str
) -> None:
    program = write_program(FAILING_RUNS)
    done = run_python(str(program), how, SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL=level)
    assert done.stdout.startswith(first), done
    assert "[1. 1.] 1\n" in done.stdout
    assert "NumPy's own: invalid value encountered in log" in done.stdout
    if not first.startswith("BackendCompilerFailed"):
        assert not list(tmp_path.glob("minifier_launcher*"))
        return
    again = run_python("minifier_launcher.py", "query")
    assert again.returncode == 1 and again.stdout.startswith("REPRODUCED: "), again


UNGUARDED = """\
import numpy as np
import suture

@suture.compile(options={"inject_fault": "kind=drop_guard,guard=size"})
def f(x):
    y = x - x.mean(axis=0)
    print("break")
    return np.sin(y) * x[0] + 1

for n in (18, 14):
    f(np.linspace(1, 2, n * 3).reshape(n, 3))
"""


def test_a_graph_that_was_given_other_inputs_is_not_blamed(
    write_program: Callable[[str], Path], run_python: Run, tmp_path: Path
) -> None:
    """The guard is, and the file holds the program, whose second call is the failure."""
    program = write_program(UNGUARDED)
    done = run_python(str(program), SUTURE_REPRO_AFTER="capture", SUTURE_REPRO_LEVEL="4")
    launcher = tmp_path / "minifier_launcher.py"
    said = done.stderr.partition("BackendCompilerFailed: ")[2]
    assert said.startswith("native gave a wrong result: output 0 has the shape (18, 3); NumPy gives (14, 3)\n"), done
    assert "inputs that it was not compiled for: input 0 ('x') has size 14" in said
    assert f"At fault is a guard of f ({program}:4)" in said and "first op" not in said
    assert said.endswith(
        f"The program and its arguments are in a file that reduces itself; run:\n  python {launcher}\n"
    )
    again = run_python("minifier_launcher.py", "query")
    assert again.returncode == 1 and again.stdout.startswith("REPRODUCED: other_result of f: In call 2"), again


PICKY = """\
import numpy as np
import suture

def picky(graph, inputs):
    forward, shape = graph.forward(), inputs[0].shape

    def run(x):
        if x.shape != shape:
            raise ValueError("not my shape")
        return forward(x)

    return run

@suture.compile(backend=picky, options={"inject_fault": "kind=drop_guard,guard=size"})
def f(x):
    return np.sin(x) + 1

for n in (18, 14):
    f(np.linspace(1, 2, n))
"""


def test_a_graph_that_raises_for_other_inputs_is_not_blamed(
    write_program: Callable[[str], Path], run_python: Run, tmp_path: Path
) -> None:
    program = write_program(PICKY)
    done = run_python(str(program), SUTURE_REPRO_AFTER="capture")
    assert (
        "picky raised ValueError: not my shape\nThe graph was given inputs that it was not compiled for: "
        in done.stderr
    )
    assert done.stderr.endswith(
        f"The program and its arguments are in a file that reduces itself; run:\n  python {tmp_path}/minifier_launcher.py\n"
    )
    again = run_python("minifier_launcher.py", "query")
    assert again.stdout == "REPRODUCED: error: it ends with exit code 1 (ValueError: not my shape)\n", again


# --- inputs --------------------------------------------------------------------------------------------------------------


def every_kind() -> list[Any]:
    base = np.arange(40, dtype=np.float64)
    odd = np.array([0x7FF8000000000001, 0x7FF0000000000001], np.uint64).view(np.float64)
    frozen = np.arange(3, dtype=np.int8)
    frozen.flags.writeable = False
    return [
        base[4:20].reshape(4, 4),
        base[10:34:3],
        base[::-1][:7],
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.array([np.nan, -0.0, np.inf, -np.inf, 5e-324, 1 / 3]),
        odd,
        np.array(2.5),
        np.zeros((0, 3)),
        np.broadcast_to(np.int16(7), (2, 2)),
        frozen,
        np.array([True, False]),
        np.array([2**63, 2**64 - 1], np.uint64),
        np.random.default_rng(0).random((40, 40)),
        np.random.default_rng(1).random(1 << 13).astype(np.float32),
        np.float32(0.1),
        np.int64(-3),
        3,
        True,
        0.1,
        -(2**62),
    ]


def test_inputs_come_back_with_every_bit_layout_and_shared_memory(tmp_path: Path) -> None:
    values = every_kind()
    inputs = inputs_of(values)
    saved: list[Any] = []

    def save(array: np.ndarray) -> data.Row:
        return repro_file._saver(tmp_path / "repro.py", len(saved))(array) | {"count": saved.append(array)}

    rows = [data.row_of(f"v{i}", item, save) for i, item in enumerate(inputs)]
    assert len(saved) == 1  # 12,800 bytes are text, 32 KiB are a file
    back = [data.input_of({key: value for key, value in row.items() if key != "count"}, tmp_path) for row in rows]
    assert list(inputs) == back
    for before, after in zip(inputs, back, strict=True):
        assert np.asarray(before.data).tobytes() == np.asarray(after.data).tobytes()


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"name": "x", "kind": "object"}, "kind 'object'"),
        ({"name": "x", "kind": "array", "dtype": "object", "shape": [1], "values": "1"}, "dtype 'object'"),
        (
            {"name": "x", "kind": "array", "dtype": "float64", "shape": [2], "values": "1"},
            "1 elements; its shape wants 2",
        ),
        ({"name": "x", "kind": "array", "dtype": "float64", "shape": [1], "base64": "!"}, "Error"),
        ({"name": "x", "kind": "array", "dtype": "float64", "shape": [1], "file": "../x.npy", "sha256": ""}, "outside"),
        ({"name": "x", "kind": "float", "value": "__import__('os')"}, "could not convert"),
        ({"name": "x", "kind": "array", "dtype": "float64", "shape": [1]}, "KeyError"),
    ],
)
def test_rows_that_are_none_are_refused(tmp_path: Path, row: data.Row, why: str) -> None:
    with pytest.raises(CaseError, match=why):
        data.input_of(row, tmp_path)


def test_a_data_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    repro = repro_of(lambda x: np.sin(x), np.random.default_rng(0).random(1 << 12))
    path = repro_file.write(repro, tmp_path, "repro")
    (saved,) = (tmp_path / "repro_data").iterdir()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert repro_file.load(path).case == repro.case
    raw = bytearray(saved.read_bytes())
    raw[-1] ^= 1
    saved.write_bytes(raw)
    with pytest.raises(CaseError, match="its digest differs"):
        repro_file.load(path)


# --- files ---------------------------------------------------------------------------------------------------------------


def test_a_file_gives_back_the_case(tmp_path: Path) -> None:
    def f(x: Any, y: Any, n: int) -> Any:
        return np.maximum(x[::2], y) * n + x.shape[0]

    repro = repro_of(f, np.arange(8.0), np.float32(1), 3, dynamic=True)
    repro.title, repro.backend_code = 'a """title"""\n\\', "return None"
    path = repro_file.write(repro, tmp_path, "repro")
    back = repro_file.load(path)
    assert back.case == repro.case and back.names == repro.names
    assert back.title == 'a """title""" \\'
    again = repro_file.write(back, tmp_path, "repro")
    assert again.name == "repro_1.py" and again.read_text().split("FORMAT")[1] == path.read_text().split("FORMAT")[1]


def test_reading_a_file_runs_none_of_it(tmp_path: Path) -> None:
    path = repro_file.write(repro_of(lambda x: np.sin(x), np.ones(2)), tmp_path, "repro")
    trap = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    path.write_text(trap + path.read_text().replace("def forward", trap + "def forward"))
    assert repro_file.load(path).case.op_count == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not define FORMAT"),
        ("x = (", "no repro file"),
        ("\0", "no repro file"),
        ("FORMAT = __import__('os')", "malformed node"),
        ("FORMAT = 'x'", "does not define"),
        ("(" * 5000, "no repro file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "other.py"
    path.write_text(text)
    with pytest.raises(NotARepro, match=why):
        repro_file.load(path)


# --- backends ------------------------------------------------------------------------------------------------------------

BACKENDS = '''\
import math
from collections import namedtuple as nt

LIMIT = int("3")
UNUSED = 1 / 0 if False else 2

def helper(x):
    return math.floor(x) + LIMIT

class Tool:
    text = """
not indented"""
    def use(self):
        return helper(1.5), self.text

def decorated(function):
    return function

@decorated
def plain(graph, inputs):
    return Tool().use

def factory(limit, other=None):
    def inner(graph, inputs):
        return lambda: (helper(limit), other is None)
    return inner

short = lambda graph, inputs: lambda: helper(2.5)

if __name__ == "__main__":
    raise SystemExit("ran")
'''


def made_from(code: str) -> Any:
    namespace: dict[str, Any] = {}
    exec("def make_backend():\n" + repro_file.indented(code), namespace)
    return namespace["make_backend"]()


@pytest.fixture
def backends(tmp_path: Path) -> dict[str, Any]:
    """Functions of a program, as the program itself sees them."""
    path = tmp_path / "program.py"
    path.write_text(BACKENDS)
    namespace: dict[str, Any] = {"__name__": "not main"}
    exec(compile(BACKENDS, str(path), "exec"), namespace)
    namespace["__name__"] = "__main__"
    for function in ("plain", "short"):
        namespace[function].__module__ = "__main__"
    return namespace


def test_source_of_a_function_comes_with_what_it_uses(backends: dict[str, Any]) -> None:
    code = backend_code.code_for("plain", backends["plain"])
    assert made_from(code)(None, [])() == (4, "\nnot indented")
    assert "LIMIT = 3" in code and "UNUSED" not in code and "namedtuple" not in code and "SystemExit" not in code


def test_source_of_closures_and_lambdas(backends: dict[str, Any]) -> None:
    inner = backends["factory"](4.5)
    inner.__module__ = "__main__"
    assert made_from(backend_code.code_for("inner", inner))(None, [])() == (7, True)
    assert made_from(backend_code.code_for("<lambda>", backends["short"]))(None, [])() == 5


def test_what_has_no_source_says_what_to_do(backends: dict[str, Any]) -> None:
    class Callable_:
        def __call__(self, graph: Any, inputs: list[Any]) -> Any: ...

    inner = backends["factory"](4.5, object())
    inner.__module__ = "__main__"
    for backend, why in ((Callable_(), "Callable_ objects have no source"), (inner, "it uses other of the function")):
        with pytest.raises(LookupError, match=f"{why}.*; return it here"):
            made_from(backend_code.code_for("b", backend))


def test_what_code_needs_beside_it_is_read_from_its_syntax(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import two.part\nimport nowhere, one\n")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "part.py").write_text("import three\n1 / 0\n")
    (tmp_path / "three.py").write_text("x = (")
    os.mkfifo(tmp_path / "two" / "four.py")
    code = f"def make_backend():\n    sys.path.insert(0, {str(tmp_path)!r})\n    import one, five, math\n    return one.backend\n"
    needs = backend_needs.needs_of("b", code)
    places = {"one": "one.py", "two": "two/", "three": "three.py"}
    assert dict(needs.along) == {name: f"{tmp_path}/{place}" for name, place in places.items()}
    assert needs.is_imported and needs.unknown == ("five",) and not needs.packages
    own = backend_needs.needs_of("b", "import pytest\ndef f(): ...\nreturn f")
    assert own.in_words() == "its source is in the file; install pytest"
    assert backend_needs.needs_of("native", "").is_in_the_file
    assert backend_needs.needs_of("x", "").in_words() == "imported from the package that has a backend 'x': install it"


def test_backends_that_every_process_knows_need_no_code() -> None:
    assert "it is no function whose source is known" in backend_code.code_of_the_untold("b")
    assert backend_code.code_of_the_untold("faulty:op=add") == backend_code.code_of_the_untold("eager") == ""
    from suture import _backends

    assert backend_code.code_for("native", None) == ""
    assert backend_code.code_for("eager", _backends.eager) == ""
    assert backend_code.code_for("mine", os.path.join).startswith("from posixpath import join\n")
