"""SUTURE_COMPILE_DEBUG and suture.dump: complete, runnable, harmless, and never a failure of the program."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest

import suture
from suture import _toolbox

OF_A_GRAPH = {
    "graph_readable.py",
    "graph_runnable.py",
    "graph_captured.txt",
    "graph_lowered.txt",
    "graph_passes.txt",
    "ir_pre_fusion.txt",
    "ir_post_fusion.txt",
    "output_code.cpp",
    "kernel_lines.json",
    "output_code.asm",
    "guards.txt",
    "timings.txt",
    "events.jsonl",
}
# Every kind of input: views with any strides, Fortran order, two views of one memory, a written argument, NumPy steps,
# symbols, scalars of every class.
KINDS = """\
import numpy as np
import suture

@suture.compile
def views(a, b, c):
    return a * 2 + b - c, a.sum(axis=0)

@suture.compile
def write(x, y):
    x += y
    return x.sum()

@suture.compile
def product(x, n):
    z = (x + 1) @ x.T
    return np.maximum(z, 0) * n

@suture.compile(dynamic=True)
def sizes(x, k):
    return x[::2] * k, x.shape[0]

@suture.compile
def scalars(x, i, f, b, s):
    return x * i, x + s, f * 2.0, np.where(b, x, -x)

base = np.arange(48.0).reshape(6, 8)
views(base[::-1, ::2], base[:, 1::2], np.asfortranarray(np.ones((6, 4))))
write(base, base[::-1].copy())
product(np.arange(12.0).reshape(3, 4) - 5, 2.5)
sizes(np.linspace(0, 1, 11).astype("f4"), 3)
x = np.array([1.5, np.nan, -0.0, 7])
scalars(x, 3, -0.5, True, np.float64(2.25))
"""


def runs(directory: Path) -> list[Path]:
    return sorted((directory / "suture_compile_debug").glob("run_*"))


def index(run: Path) -> dict:
    return json.loads((run / "index.json").read_text())


def compiles(run: Path) -> dict[str, dict]:
    return {compile["directory"]: compile for compile in index(run)["compiles"]}


def names(compile: dict) -> set[str]:
    return {file["path"] for file in compile["files"]}


def check_manifest(run: Path) -> None:
    """Every file is listed, and is what the list says."""
    listed = {}
    for file in index(run)["files"]:
        listed[file["path"]] = file
    for compile in index(run)["compiles"]:
        for file in compile["files"]:
            listed[f"{compile['directory']}/{file['path']}"] = file
    there = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert there == set(listed) | {"index.html", "index.json"}
    for path, file in listed.items():
        data = (run / path).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["bytes"], file["sha256"]), path


def build_command(directory: Path) -> str:
    found = re.search(r"^//   (g\+\+ .*)$", (directory / "output_code.cpp").read_text(), flags=re.M)
    assert found, "the header says how to build it"
    return found[1]


def run_kernels(directory: Path, compiler: str = "g++") -> subprocess.CompletedProcess[str]:
    command = build_command(directory).replace("g++", compiler, 1)
    return subprocess.run(["sh", "-c", command], cwd=directory, capture_output=True, text=True, timeout=240)


def dump_of(run_python, program: Path, tmp_path: Path, **environment: str) -> Path:
    before = set(runs(tmp_path))
    environment.setdefault("SUTURE_CACHE_DIR", str(tmp_path / "cache"))
    done = run_python(str(program), SUTURE_COMPILE_DEBUG="1", **environment)
    assert done.returncode == 0, done.stderr
    (run,) = set(runs(tmp_path)) - before
    assert str(run) in done.stderr and len(done.stderr.splitlines()) == 1, "its path is logged, and nothing else"
    return run


def test_the_seed_program_is_dumped_completely(run_python, seed_program, tmp_path):
    run = dump_of(run_python, seed_program, tmp_path)
    assert re.fullmatch(r"run_\d{4}(_\d\d){5}_\d{6}-pid_\d+", run.name)
    found = compiles(run)
    assert len(found) == 4 and all(c["state"] == "compiled" for c in found.values()), "two graphs, for two shapes each"
    assert "f_0_0" in found and "f_0_1" in found
    for name, compile in found.items():
        assert names(compile) >= OF_A_GRAPH, name
    assert names(found["f_0_0"]) >= {"breaks.txt", "bytecode_before.txt", "bytecode_after.txt", "inputs/input_0.npy"}
    assert "recompile.txt" in names(found["f_0_1"]) and "symbols.txt" in names(found["f_0_1"])
    assert "data-dependent" in (run / "f_0_0" / "breaks.txt").read_text().lower()
    assert "expected 32, actual 48" in (run / "f_0_1" / "recompile.txt").read_text()
    assert "cpp_fused_add_gt_sin_sum_0" in (run / "f_0_0" / "output_code.cpp").read_text()
    assert re.search(r"\bcpp_fused_add_gt_sin_sum_0>?:", (run / "f_0_0" / "output_code.asm").read_text())
    assert "__resume_at_" in (run / "f_0_0" / "bytecode_after.txt").read_text()
    check_manifest(run)


def test_files_are_private_and_the_page_is_inert(run_python, seed_program, tmp_path):
    run = dump_of(run_python, seed_program, tmp_path)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in run.rglob("*") if path.is_file()}
    assert modes == {0o600} and stat.S_IMODE(run.stat().st_mode) == 0o700
    page = (run / "index.html").read_text()
    assert "default-src 'none'" in page and "<script" not in page and "http" not in page.replace("http-equiv", "")
    for saved in run.rglob("*.npy"):
        np.load(saved, allow_pickle=False)


@pytest.mark.parametrize("which", ["seed", "kinds"])
def test_every_graph_runs_alone_and_gives_the_recorded_outputs(
    run_python, seed_program, write_program, tmp_path, which
):
    program = seed_program if which == "seed" else write_program(KINDS)
    run = dump_of(run_python, program, tmp_path)
    program.unlink()
    directories = [run / name for name, compile in compiles(run).items() if "graph_runnable.py" in names(compile)]
    assert len(directories) == (4 if which == "seed" else 5)
    for directory in directories:
        done = run_python(str(directory / "graph_runnable.py"), SUTURE_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "equals the recorded run" in done.stdout and "DIFFERS" not in done.stdout
        assert which == "seed" or done.stdout.count("bit for bit") == done.stdout.count("Suture "), done.stdout


def test_a_changed_input_is_noticed_by_the_graph(run_python, seed_program, tmp_path):
    run = dump_of(run_python, seed_program, tmp_path)
    saved = run / "f_0_0" / "inputs" / "input_0.npy"
    np.save(saved, np.load(saved) + 1)
    done = run_python(str(run / "f_0_0" / "graph_runnable.py"))
    assert done.returncode == 1 and "DIFFERS from the recorded run" in done.stdout


@pytest.mark.parametrize("compiler", ["g++", "clang++", "clang++-19"])
def test_the_kernels_of_the_seed_build_alone_and_give_the_recorded_outputs(
    run_python, seed_program, tmp_path, compiler
):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    run = dump_of(run_python, seed_program, tmp_path)
    done = run_kernels(run / "f_0_0", compiler)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equals the recorded run") == 2, "y, and whether its sum is positive"
    saved = run / "f_0_0" / "inputs" / "input_0.npy"
    np.save(saved, np.load(saved) - 100)
    changed = subprocess.run(["./output_code"], cwd=run / "f_0_0", capture_output=True, text=True)
    assert changed.returncode == 1 and "DIFFERS" in changed.stdout


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
def test_kernels_of_every_kind_of_input_build_alone(run_python, write_program, tmp_path):
    run = dump_of(run_python, write_program(KINDS), tmp_path)
    checked = 0
    for name, compile in compiles(run).items():
        if "output_code.cpp" not in names(compile):
            continue
        done = run_kernels(run / name)
        assert done.returncode == 0, f"{name}\n{done.stdout}{done.stderr}"
        assert "equals the recorded run" in done.stdout and "not recorded" not in done.stdout, name
        checked += 1
    assert checked == 5
    assert (
        "input 0 after the call" in run_kernels(run / next(n for n in compiles(run) if n.startswith("write_"))).stdout
    )


def test_inputs_keep_strides_and_shared_memory(run_python, write_program, tmp_path):
    run = dump_of(run_python, write_program(KINDS), tmp_path)
    name = next(n for n in compiles(run) if n.startswith("views_"))
    done = run_python(
        "-c",
        "import numpy as np, runpy\n"
        f"module = runpy.run_path({str(run / name / 'graph_runnable.py')!r})\n"
        "from pathlib import Path\nfrom suture._dump_run import make_inputs\n"
        f"a, b, c = make_inputs(module['INPUTS'], Path({str(run / name)!r}))\n"
        "print(a.strides, b.strides, c.strides, np.shares_memory(a, b), np.may_share_memory(a, b))\n"
        "base = np.arange(48.0).reshape(6, 8)\n"
        "print((a == base[::-1, ::2]).all(), (b == base[:, 1::2]).all())\n",
    )
    assert done.stdout == "(-64, 16) (64, 16) (8, 48) False True\nTrue True\n", done.stderr


def test_a_hit_of_the_disk_cache_is_dumped_like_a_miss(run_python, seed_program, tmp_path):
    miss, hit = dump_of(run_python, seed_program, tmp_path), dump_of(run_python, seed_program, tmp_path)
    assert "disk cache" in (hit / "f_0_0" / "timings.txt").read_text()
    assert {n: names(c) for n, c in compiles(miss).items()} == {n: names(c) for n, c in compiles(hit).items()}
    for name in ("output_code.cpp", "output_code.asm", "ir_post_fusion.txt", "graph_runnable.py", "guards.txt"):
        first, second = ((run / "f_0_0" / name).read_text() for run in (miss, hit))
        varies = r"0x[0-9a-f]+| +\d+\.\d ns"
        assert re.sub(varies, "", first) == re.sub(varies, "", second), name


def test_large_inputs_are_replaced_by_a_generator(run_python, write_program, tmp_path):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return np.sqrt(x * x + 1)\n"
        "f(np.ones((300, 500))[:, ::2])\n"
    )
    run = dump_of(run_python, program, tmp_path, SUTURE_COMPILE_DEBUG_INPUT_MB="0")
    (name,) = compiles(run)
    text = (run / name / "graph_runnable.py").read_text()
    assert "compile_debug_input_mb=0" in text and 'strides": [4000, 16]' in text and not list(run.rglob("*.npy"))
    done = run_python(str(run / name / "graph_runnable.py"), "--save-inputs")
    assert done.returncode == 0 and "NumPy equals Suture, bit for bit" in done.stdout, done.stdout + done.stderr
    assert "no recorded run to compare with" in done.stdout
    if shutil.which("g++"):
        kernels = run_kernels(run / name)
        assert kernels.returncode == 0 and "(not recorded)" in kernels.stdout, kernels.stdout + kernels.stderr
        digest = re.search(r"output 0: Suture ([0-9a-f]{64})", done.stdout).group(1)
        assert digest in kernels.stdout, "the same generated inputs, the same digest"


def test_a_compiled_function_is_dumped_afterwards_from_its_records(run_python, tmp_path):
    @suture.compile
    def f(x, n):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 2
        return np.maximum(y, 0) * n

    f(np.ones((4, 6)), 3.0)
    run = Path(suture.dump(f, tmp_path / "after"))
    found = compiles(run)
    assert len(found) == 2
    for name, compile in found.items():
        assert names(compile) >= OF_A_GRAPH, name
        done = run_python(str(run / name / "graph_runnable.py"))
        assert done.returncode == 0 and "no recorded run to compare with" in done.stdout, done.stdout + done.stderr
    check_manifest(run)


def test_without_a_compiler_the_dump_lacks_the_disassembly_and_says_why(tmp_path, restore_config, monkeypatch):
    compiled = suture.compile(lambda x: np.sqrt(x) * 2)
    compiled(np.ones(4))
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CXX", raising=False)
    with suture.config.patch(toolchain="subprocess"):
        run = Path(suture.dump(compiled, tmp_path / "after"))
    (compile,) = index(run)["compiles"]
    assert names(compile) >= OF_A_GRAPH - {"output_code.asm"} and "output_code.asm" not in names(compile)
    (missing,) = compile["missing"]
    assert missing["path"] == "output_code.asm" and "was not found" in missing["why"]
    assert f"<td>{missing['why']}</td>" in (run / "index.html").read_text()
    check_manifest(run)


def test_what_was_never_compiled_for_want_of_a_compiler_is_dumped_too(run_python, write_program, tmp_path):
    program = write_program(
        "import numpy as np, suture\n"
        "f = suture.compile(lambda x: np.sqrt(x) * 2)\n"
        "f(np.ones(4))\n"
        "suture.dump(f, 'after')\n"
    )
    done = run_python(str(program), SUTURE_TOOLCHAIN="subprocess", PATH="/nonexistent", SUTURE_CACHE_DIR="off")
    assert done.returncode == 0, done.stderr
    (compile,) = index(tmp_path / "after")["compiles"]
    assert (compile["state"], compile["missing"]) == ("skipped", [])
    assert {"graph_readable.py", "breaks.txt", "events.jsonl"} <= names(compile)


def test_dump_takes_compiled_functions_only(tmp_path):
    with pytest.raises(TypeError, match="suture.dump takes a function compiled"):
        suture.dump(len, tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        suture.dump(suture.compile(lambda x: x + 1), blocked / "below")


def test_switched_on_and_off_in_a_running_program(tmp_path, restore_config, caplog):
    suture.config.compile_debug_dir = str(tmp_path)
    with suture.config.patch(compile_debug=True):
        (run,) = runs(tmp_path)
        assert str(run) in caplog.text
        suture.compile(lambda x: x + 1)(np.ones(3))
    suture.compile(lambda x: x + 2)(np.ones(3))
    assert len(compiles(run)) == 1 and runs(tmp_path) == [run]
    check_manifest(run)


def test_names_that_are_no_file_names(run_python, write_program, tmp_path):
    program = write_program(
        "import numpy as np, suture\n"
        "def make(name):\n"
        "    def f(x): return x * 2 + 1\n"
        "    f.__code__ = f.__code__.replace(co_name=name, co_qualname=name, co_filename='/gone/' + name)\n"
        "    f.__name__ = f.__qualname__ = name\n"
        "    return suture.compile(f)\n"
        "for name in ['../../../evil', 'a/b/../c', '\\x1b[31mred\\n*/ \"\"\" # ', 'n' * 300, 'größe_数', '..', '<lambda>']:\n"
        "    make(name)(np.ones(3))\n"
        "print('done')\n"
    )
    run = dump_of(run_python, program, tmp_path)
    found = compiles(run)
    assert len(found) == 7 and all(compile["state"] == "compiled" for compile in found.values())
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in found), list(found)
    check_manifest(run)
    assert {path.parent for path in (tmp_path / "suture_compile_debug").iterdir()} == {
        tmp_path / "suture_compile_debug"
    }
    for name in found:
        done = run_python(str(run / name / "graph_runnable.py"))
        assert done.returncode == 0, done.stdout + done.stderr
        for file in ("index.html", f"{name}/output_code.cpp", f"{name}/graph_runnable.py"):
            assert "\x1b" not in (run / file).read_text(), file
    red = next(name for name in found if "red" in name)
    if shutil.which("g++"):
        assert run_kernels(run / red).returncode == 0


def test_a_directory_that_cannot_be_written_is_one_warning(run_python, seed_program, tmp_path):
    done = run_python(
        str(seed_program), SUTURE_COMPILE_DEBUG="1", SUTURE_COMPILE_DEBUG_DIR="/proc/nowhere", TMPDIR=str(tmp_path)
    )
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert done.stderr.count("RuntimeWarning") == 1 and "/proc/nowhere" in done.stderr
    (run,) = tmp_path.glob("suture_compile_debug-*/run_*")
    assert len(compiles(run)) == 4


def test_no_directory_at_all_is_one_warning(run_python, seed_program):
    done = run_python(
        str(seed_program), SUTURE_COMPILE_DEBUG="1", SUTURE_COMPILE_DEBUG_DIR="/proc/nowhere", TMPDIR="/proc/either",
        TEMP="/proc", TMP="/proc",
    )  # fmt: skip
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3
    assert done.stderr.count("RuntimeWarning") == 1


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 256 KB."""
    path = tmp_path / "tiny"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(path)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk_costs_files_and_is_one_warning(run_python, seed_program, tiny_disk):
    done = run_python(str(seed_program), SUTURE_COMPILE_DEBUG="1", SUTURE_COMPILE_DEBUG_DIR=str(tiny_disk))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3, done.stderr
    assert done.stderr.count("RuntimeWarning") == 1 and "No space left on device" in done.stderr
    (run,) = runs(tiny_disk)
    assert not [path for path in run.rglob("*") if path.name.endswith(".tmp")], "nothing half-written stays"
    listed = index(run)["compiles"] if (run / "index.json").exists() else []  # there may be no room for it
    for compile in listed:
        for file in compile["files"]:
            data = (run / compile["directory"] / file["path"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == file["sha256"]


def test_a_forked_child_has_a_run_of_its_own(run_python, write_program, tmp_path):
    program = write_program(
        "import os, numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return x + 1\n"
        "f(np.ones(3))\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    f(np.ones(3, dtype='f4'))\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "f(np.ones(3, dtype='i4'))\n"
    )
    done = run_python(str(program), SUTURE_COMPILE_DEBUG="1")
    assert done.returncode == 0
    found = [compiles(run) for run in runs(tmp_path)]
    assert sorted(len(c) for c in found) == [1, 2], "the child's one, the parent's two"


NONLOCAL = """\
import numpy as np
import suture

def make(k, text):
    @suture.compile
    def says(x):
        print(text, k, "nonlocal k")
        return x + 1

    @suture.compile
    def counts(x):
        nonlocal k
        print(text)
        if len(text):
            k = k + 1
        return x + k

    @suture.compile
    def inside(x):
        def count():
            nonlocal k
            k = 3
        print(text)
        count()
        return x + 1

    @suture.compile
    def own(x):
        n = len(text)
        print(text)
        def count():
            nonlocal n
            n = 3
        count()
        return x + n

    return says, counts, inside, own

for f in make(2, "t"):
    f(np.ones(3))
"""


def test_only_what_assigns_a_variable_of_another_function_stands_in_one(run_python, write_program, tmp_path):
    """A module cannot hold it otherwise. That a text says `nonlocal` is no reason; nor is a variable of its own. Four functions and
    what is left of them after their break are captured."""
    run = dump_of(run_python, write_program(NONLOCAL), tmp_path)
    texts = [path.read_text() for path in sorted(run.glob("*/original.py"))]
    says, counts, inside, own = (
        [text for text in texts if f"make.<locals>.{name} " in text] for name in ("says", "counts", "inside", "own")
    )
    assert [text.count("def _outer(") for found in (says, counts, inside, own) for text in found] == [0, 1, 1, 0]
    assert '"nonlocal k"' in says[0].replace("'", '"') and "nonlocal n" in own[0]


def test_compiles_beyond_the_limit_are_counted(run_python, write_program, tmp_path):
    program = write_program(
        "import numpy as np, suture\nfor i in range(200):\n    suture.compile(lambda x: x + 1)(np.ones(3))\n"
    )
    run = dump_of(run_python, program, tmp_path, SUTURE_COMPILE_DEBUG_LIMIT="150")
    assert len(compiles(run)) == 150 and index(run)["compiles_not_written"] == 50
    assert sum(path.is_dir() for path in run.iterdir()) == 150
    assert "50 compiles beyond the limit" in (run / "index.html").read_text()
    check_manifest(run)


def test_calls_that_raise_or_replay_are_unchanged(run_python, write_program, tmp_path):
    program = write_program(
        "import numpy as np, suture, warnings\n"
        "@suture.compile\n"
        "def f(x, y): return x / y\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    print(f(np.ones(3), np.zeros(3)), [str(w.message) for w in seen])\n"
        "with np.errstate(all='raise'):\n"
        "    try: f(np.ones(4), np.zeros(4))\n"
        "    except FloatingPointError as error: print(error)\n"
    )
    plain = run_python(str(program))
    dumped = run_python(str(program), SUTURE_COMPILE_DEBUG="1")
    assert dumped.stdout == plain.stdout and dumped.returncode == 0
    (run,) = runs(tmp_path)
    assert {compile["state"] for compile in compiles(run).values()} == {"compiled"}
    for name in compiles(run):
        done = run_python(str(run / name / "graph_runnable.py"))
        assert done.returncode == 0, done.stdout + done.stderr


def test_skipped_functions_are_in_the_dump(run_python, write_program, tmp_path):
    program = write_program("import suture\n@suture.compile\ndef f(x):\n    return x + 1\nprint(f(1))\n")
    run = dump_of(run_python, program, tmp_path)
    (compile,) = compiles(run).values()
    assert compile["state"] == "skipped" and names(compile) == {"breaks.txt", "events.jsonl"}


def test_nothing_is_imported_or_recorded_when_off(run_python):
    done = run_python(
        "-c",
        "import sys, numpy as np, suture\n"
        "f = suture.compile(lambda x: x + 1)\nf(np.ones(3))\n"
        "print('suture._dump' in sys.modules, any('graph_run\"' in l for l in suture._core.explain_records(f)))\n",
    )
    assert done.stdout == "False False\n"


def test_the_table_is_the_documentation():
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "dump.md").read_text()
    for name, events, doc in _toolbox.dump_table():
        assert f"`{name}`" in page and doc in page and events


def test_the_directory_is_not_followed_out_of(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()

    def f(x):
        return x + 1

    compiled = suture.compile(f)
    compiled(np.ones(3))
    target = tmp_path / "dump"
    frame = compiled.status()["frames"][0]["frame"]
    target.mkdir()
    os.symlink(outside, target / f"f_{frame}_0")
    with pytest.raises(OSError):
        suture.dump(compiled, target)
    assert list(outside.iterdir()) == []
