"""suture check and its neighbours on the command line: output streams, exit codes, the report."""

from __future__ import annotations

import json
import sys

import pytest

from suture import _core

PROGRAM_OUTPUT_LINES = 3


def check(run_python, *arguments, **environment):
    return run_python("-m", "suture", "check", *arguments, **environment)


def test_the_seed_has_one_break_finding_and_recompiles_as_notes(run_python, seed_program):
    done = check(run_python, "--json", str(seed_program))
    report = json.loads(done.stdout)
    assert report["schema"] == "suture.check/1" and report["verdict"] == "findings"
    assert done.returncode == report["exit_code"] == 1
    breaks = [finding for finding in report["findings"] if finding["station"] == "breaks"]
    assert [(f["id"], f["severity"], f["line"]) for f in breaks] == [("SB101", "warning", 8)]
    assert breaks[0]["file"] == str(seed_program) and "np.where" in breaks[0]["advice"]
    assert breaks[0]["cost_ms"] > 0
    recompiles = [finding for finding in report["findings"] if finding["station"] == "recompiles"]
    assert {finding["severity"] for finding in recompiles} == {"note"} and len(recompiles) == 2
    for finding in report["findings"]:
        assert {"station", "id", "function", "file", "line", "what", "why", "cost_ms", "advice"} <= set(finding)


def test_functions_and_kernels_are_listed(run_python, seed_program):
    report = json.loads(check(run_python, "--json", str(seed_program)).stdout)
    (row,) = report["functions"]
    assert row["function"] == "f" and row["calls"] == 3 and row["graphs"] == 2 and row["ops"] == 7
    assert row["breaks"] == 1 and row["recompiles"] == 2 and not row["skipped"]
    names = {kernel["name"] for kernel in report["kernels"]}
    assert {"cpp_fused_add_gt_sin_sum_0", "cpp_fused_maximum_mul_0"} <= names
    assert all(kernel["path"] and kernel["lines"] for kernel in report["kernels"])


def test_text_goes_to_stderr_and_the_program_keeps_its_stdout(run_python, seed_program):
    done = check(run_python, str(seed_program))
    assert len(done.stdout.splitlines()) == PROGRAM_OUTPUT_LINES
    stations = [
        done.stderr.index(f"Station {n}, {name}")
        for n, name in ((1, "graph breaks"), (2, "recompiles"), (3, "kernels"))
    ]
    assert stations == sorted(stations)
    assert "if y.sum() > 0:" in done.stderr and "^^^" in done.stderr and "verdict   findings" in done.stderr
    assert "\x1b" not in done.stderr


def test_json_on_stdout_is_json_only(run_python, seed_program):
    done = check(run_python, "--json", "--quiet", str(seed_program))
    json.loads(done.stdout)
    assert len(done.stderr.splitlines()) == PROGRAM_OUTPUT_LINES


def test_colour_follows_the_environment(run_python, seed_program):
    assert "\x1b[" in check(run_python, str(seed_program), FORCE_COLOR="1").stderr
    assert "\x1b[" not in check(run_python, str(seed_program), FORCE_COLOR="1", NO_COLOR="1").stderr


def test_a_healthy_program_exits_with_0(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return np.exp(x) + 1\n"
        "for _ in range(3): f(np.ones(8))\n"
    )
    done = check(run_python, "--json", str(program))
    report = json.loads(done.stdout)
    assert (report["verdict"], done.returncode) == ("healthy", 0)
    assert report["functions"][0]["graphs"] == 1


@pytest.mark.parametrize(("level", "code"), [("note", 1), ("warning", 1), ("error", 0), ("never", 0)])
def test_fail_on_decides_the_exit_code(run_python, seed_program, level, code):
    assert check(run_python, "--quiet", "--fail-on", level, str(seed_program)).returncode == code


@pytest.mark.parametrize(
    ("text", "code", "error"),
    [
        ("raise KeyError('x')\n", 1, "KeyError: 'x'"),
        ("import sys; sys.exit(7)\n", 7, "SystemExit: 7"),
        ("import sys; sys.exit('bye')\n", 1, "SystemExit: bye"),
        ("def (:\n", 1, "SyntaxError"),
    ],
)
def test_a_failing_program_is_3_with_its_own_code_and_error_in_the_report(run_python, write_program, text, code, error):
    done = check(run_python, "--json", str(write_program(text)))
    report = json.loads(done.stdout)
    assert done.returncode == 3 and report["verdict"] == "failed"
    assert report["program_exit_code"] == code and error in report["error"]
    assert "runpy" not in done.stderr


def test_exit_0_of_the_program_is_no_failure(run_python, write_program):
    assert check(run_python, "--quiet", str(write_program("import sys; sys.exit(0)\n"))).returncode == 0


def test_an_interrupt_is_130(run_python, write_program):
    assert check(run_python, "--quiet", str(write_program("raise KeyboardInterrupt\n"))).returncode == 130


def test_usage_errors_are_2(run_python, tmp_path):
    assert check(run_python, str(tmp_path / "missing.py")).returncode == 2
    assert check(run_python, str(tmp_path)).returncode == 2
    assert check(run_python, "--fail-on", "sometimes", "x.py").returncode == 2
    assert run_python("-m", "suture").returncode == 2
    assert run_python("-m", "suture", "minify").returncode == 2


def test_the_program_sees_what_python_would_give_it(run_python, write_program, tmp_path):
    (tmp_path / "neighbour.py").write_text("value = 5\n")
    program = write_program(
        "import sys, neighbour, pickle\n"
        "class Local: pass\n"
        "pickle.loads(pickle.dumps(Local()))\n"
        "print(__name__, sys.argv[1:], neighbour.value)\n"
    )
    done = check(run_python, str(program), "--json", "-x", "1")
    assert done.stdout == "__main__ ['--json', '-x', '1'] 5\n"
    assert check(run_python, "--quiet", str(program), "--", "a").stdout == "__main__ ['a'] 5\n"


def test_what_is_written_about_a_run_is_written_by_the_first_run_only(run_python, write_program, tmp_path):
    program = write_program("import numpy as np, suture\nsuture.compile(lambda x: x + 1)(np.ones(3))\n")
    outputs = {
        "SUTURE_COMPILE_DEBUG": "1",
        "SUTURE_TRACE": "traces",
        "SUTURE_LOGS": "all",
        "SUTURE_LOGS_OUT": "logs.txt",
    }
    done = check(run_python, "--quiet", "--json", "--compare", str(program), **outputs)
    assert json.loads(done.stdout)["times"]["baseline_ms"] > 0, done.stderr
    assert len(list((tmp_path / "suture_compile_debug").iterdir())) == 1
    assert len(list((tmp_path / "traces").iterdir())) == 1
    told = (tmp_path / "logs.txt").read_text()
    assert told.count("compiled <lambda>") == 1 and "disabled" not in told


def test_without_compare_unknown_times_are_null(run_python, seed_program):
    report = json.loads(check(run_python, "--json", str(seed_program)).stdout)
    assert report["times"]["baseline_ms"] is None and report["functions"][0]["speedup"] is None


def test_a_program_without_compiled_functions_says_so(run_python, write_program):
    done = check(run_python, str(write_program("print(1)\n")))
    assert done.returncode == 0 and "No function decorated with suture.compile was called." in done.stderr
    assert "note nothing_compiled No function is compiled" in done.stderr and "verdict   healthy" in done.stderr
    assert check(run_python, "--fail-on", "note", str(write_program("print(1)\n"))).returncode == 1


def test_ever_changing_guards_are_a_warning_and_the_limit_an_error(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x, mode):\n"
        "    return x + 1 if mode == 'a' else x + 2\n"
        "for i in range(12): f(np.ones(3), str(i))\n"
    )
    done = check(run_python, "--json", "--fail-on", "error", str(program))
    report = json.loads(done.stdout)
    found = {(f["id"], f["severity"]) for f in report["findings"] if f["station"] == "recompiles"}
    assert ("SB505", "error") in found and ("recompile", "warning") in found
    (limit,) = [finding for finding in report["findings"] if finding["id"] == "SB505"]
    assert {row[0]: row[4] for row in _core.break_table()}["SB505"] in limit["advice"], "the table's hint"
    assert done.returncode == 1
    assert any("'mode'" in line for f in report["findings"] for line in f["evidence"])


def test_explain_prints_one_explanation_per_function(run_python, seed_program):
    done = run_python("-m", "suture", "explain", str(seed_program))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == PROGRAM_OUTPUT_LINES
    assert f"=== f ({seed_program}:" in done.stderr and "Graph Break Count: 1" in done.stderr
    (one,) = json.loads(run_python("-m", "suture", "explain", "--json", str(seed_program)).stdout)
    assert one["graph_break_count"] == 1
    none = run_python("-m", "suture", "explain", "--json", "--function", "g*", str(seed_program))
    assert json.loads(none.stdout) == []


def test_run_switches_logs_and_traces_on(run_python, seed_program, tmp_path):
    done = run_python(
        "-m", "suture", "run", "--logs", "graph_breaks", "--trace", str(tmp_path / "t"), str(seed_program)
    )
    assert done.returncode == 0 and "Graph break in user code at" in done.stderr
    assert len(list((tmp_path / "t").glob("*.jsonl"))) == 1
    assert run_python("-m", "suture", "run", "--logs", "nonsense", str(seed_program)).returncode == 2


def test_doctor_compiles_a_function_to_be_sure(run_python, tmp_path):
    done = run_python("-m", "suture", "doctor", "--json", SUTURE_CACHE_DIR=str(tmp_path / "cache"))
    facts = json.loads(done.stdout)
    assert facts["compiler"]["works"] == "yes" and facts["problems"] == [] and done.returncode == 0
    origins = {option["name"]: option["origin"] for option in facts["options"]}
    assert origins["cache_dir"] == "SUTURE_CACHE_DIR" and origins["strict"] == "default"


def test_cache_info_verify_and_clear(run_python, seed_program, tmp_path):
    environment = {"SUTURE_CACHE_DIR": str(tmp_path / "cache")}
    run_python(str(seed_program), **environment)
    info = json.loads(run_python("-m", "suture", "cache", "info", "--json", **environment).stdout)
    assert info["kernels"] >= 2 and info["sources"] >= 2 and info["problem"] == ""
    entry = next((tmp_path / "cache").glob("*.kernel"))
    entry.write_bytes(entry.read_bytes()[:-1])
    verified = run_python("-m", "suture", "cache", "verify", "--json", **environment)
    assert json.loads(verified.stdout)["damaged"] == [[entry.name, "cut short"]] and verified.returncode == 1
    sources = {file.name[:-4] for file in (tmp_path / "cache").glob("*.cpp")}
    assert {file.name.removesuffix(".lines.json") for file in (tmp_path / "cache").glob("*.lines.json")} == sources
    (tmp_path / "cache" / "mine.txt").write_text("kept")
    cleared = json.loads(run_python("-m", "suture", "cache", "clear", "--json", **environment).stdout)
    assert cleared["removed"] >= info["kernels"] + 2 * info["sources"]
    # Records of calls (suture minify --last) are no part of the kernel cache.
    assert {file.name for file in (tmp_path / "cache").iterdir()} - {"records"} == {"mine.txt"}


# What a program may do, and how `suture run`, `explain` and `check` end then.
HOSTILE = {
    "empty": ("", 0),
    "exits with a code": ("raise SystemExit(7)", 3),
    "exits with a text": ("raise SystemExit('bad')", 3),
    "exits with None": ("raise SystemExit", 0),
    "does not compile": ("def (", 3),
    "interrupts itself": ("raise KeyboardInterrupt", 130),
    "closes sys.stdout": ("import sys; sys.stdout.close()", 0),
    "closes sys.stderr": ("import sys; sys.stderr.close()", 0),
    "removes sys.stdout": ("import sys; sys.stdout = None", 0),
    "closes descriptor 1": ("import os; os.close(1)", 0),
    "deletes its module": ("import sys; del sys.modules['__main__']", 0),
    "changes directory": ("import os; os.chdir('/')", 0),
    "holds a NUL": ("x = 1\0", 3),
}


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_programs_end_with_the_documented_code_and_no_traceback_of_ours(run_python, write_program, verb, what):
    text, code = HOSTILE[what]
    done = run_python("-m", "suture", verb, "--json", str(write_program(text)))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "defect of Suture" not in done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
def test_a_forked_child_makes_no_report(run_python, write_program, verb):
    program = write_program(
        "import os\n"
        "child = os.fork()\n"
        "if child: print('child ended with', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "else: raise SystemExit(5)\n"
    )
    done = run_python("-m", "suture", verb, "--json", str(program))
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert "child ended with 5" in done.stderr


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
def test_paths_that_cannot_be_run_are_usage_errors(run_python, tmp_path, verb):
    for path in (tmp_path / "missing.py", tmp_path):
        done = run_python("-m", "suture", verb, str(path))
        assert done.returncode == 2 and done.stdout == "" and str(path) in done.stderr


def test_names_that_are_no_utf8_here_are_no_trouble(run_python, tmp_path):
    program = tmp_path / "größe.py"
    program.write_text("import numpy as np, suture\n@suture.compile\ndef größe(x): return x * 2\ngröße(np.ones(3))\n")
    for environment in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = check(run_python, "--json", str(program), **environment)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["functions"][0]["function"] == "größe"


def test_a_reader_that_goes_away_is_no_error(run_python, seed_program):
    command = (
        f"{sys.executable} -m suture explain --json {seed_program} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    )
    script = f"import subprocess, sys; sys.exit(subprocess.run(['bash', '-c', {command!r}]).returncode)"
    done = run_python("-c", script)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_a_trace_that_is_none_and_a_directory_that_cannot_be_made_are_usage_errors(run_python, tmp_path, seed_program):
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    done = run_python("-m", "suture", "logs", str(binary))
    assert done.returncode == 2 and "is not a trace" in done.stderr
    assert run_python("-m", "suture", "run", "--trace", "/proc/no/such", str(seed_program)).returncode == 2


def test_doctor_is_not_answered_by_the_disk_cache_and_says_when_it_cannot_be_used(run_python, tmp_path):
    environment = {"SUTURE_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        facts = json.loads(run_python("-m", "suture", "doctor", "--json", **environment).stdout)
        assert facts["compiler"]["works"] == "yes" and facts["compiler"]["tool"] != "disk cache"
    missing = {"SUTURE_TOOLCHAIN": "subprocess", "SUTURE_COMPILER": "/no/such/compiler"}
    broken = run_python("-m", "suture", "doctor", "--json", **environment, **missing)
    assert json.loads(broken.stdout)["compiler"]["works"] == "no" and broken.returncode == 1
    done = run_python("-m", "suture", "doctor", "--json", SUTURE_CACHE_DIR="/proc/no/such")
    facts = json.loads(done.stdout)
    assert facts["cache"]["problem"] and done.returncode == 1 and facts["compiler"]["works"] == "yes"


def test_saved_internal_errors_are_counted_and_cleared(run_python, tmp_path):
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    (directory / "internal_error_0123456789abcdef.txt").write_text("step: x\n")
    (directory / "internal_error_of_mine").write_text("kept")
    environment = {"SUTURE_CACHE_DIR": str(directory)}
    shown = run_python("-m", "suture", "cache", "info", **environment)
    assert "1 saved internal error" in shown.stderr
    assert json.loads(run_python("-m", "suture", "cache", "clear", "--json", **environment).stdout)["removed"] == 1
    assert [file.name for file in directory.iterdir()] == ["internal_error_of_mine"]


def test_what_python_still_executes_is_the_bytecode_station(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x, n):\n"
        "    for i in range(n):\n"
        "        x = x * 2\n"
        "        print(end='')\n"
        "    return x + 1\n"
        "f(np.ones(3), 300)\n"
        "f(np.ones(3), 300)\n"
    )
    report = json.loads(check(run_python, "--json", str(program)).stdout)
    found = [finding for finding in report["findings"] if finding["station"] == "bytecode"]
    loops = [finding for finding in found if finding["id"] == "python_loop"]
    assert len(loops) == 1 and loops[0]["severity"] == "warning" and loops[0]["line"] == 4, found
    assert any("300 per call of f" in line for line in loops[0]["evidence"]), loops


TWO_METHODS = """
import numpy as np, suture

class A:
    @suture.compile
    def step(self, x):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 2
        return y

class B:
    @suture.compile
    def step(self, x):
        y = np.sin(x) + 1
        if y.sum() > 0:
            y = y * 3
        return y

for _ in range(2): A().step(np.ones(4))
for _ in range(7): B().step(np.ones(4))
"""


def test_methods_of_one_name_and_break_offset_are_not_mixed(run_python, write_program):
    report = json.loads(check(run_python, "--json", str(write_program(TWO_METHODS))).stdout)
    found = {(f["station"], f["function"]): f["evidence"] for f in report["findings"] if f["station"] != "kernels"}
    assert sorted(found) == [(station, f"{name}.step") for station in ("breaks", "bytecode") for name in "AB"]
    for name, calls in (("A", 2), ("B", 7)):
        met, crossed = found["breaks", f"{name}.step"]
        assert (
            met.startswith("met in 1 compile; 1 graph compiled after it")
            and crossed == f"crossed {calls} times at run time"
        )
        assert any(f"{calls} calls, 1 per call of {name}.step" in line for line in found["bytecode", f"{name}.step"])
