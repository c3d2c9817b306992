"""What a user types wrong is answered at once, with what was probably meant: arguments, variables, options, names."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import suture
from tests.support.small_repro import write_small_repro

# A check, explain or run of this compiles one frame.
PROGRAM = "import numpy as np, suture, sys\nsuture.compile(lambda x: x + 1)(np.ones(3))\nprint(sys.argv[1:])\n"
COUNTED = (
    "import numpy as np, suture\n"
    "with suture.testing.frames_compiled(expected=1): suture.compile(lambda x: x + 1)(np.ones(3))\n"
)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("fulgraph", "; did you mean 'fullgraph'? (it takes fullgraph, dynamic, backend, numerics, options, disable)"),
        ("mode", ": there is one way of compiling; options={...}"),
        ("nopython", ": fullgraph=True makes"),
        ("parallel", ": kernels run in one thread"),
        ("fastmath", ': numerics="fast"'),
    ],
)
def test_an_unknown_argument_of_compile_names_what_was_meant(argument, says):
    message = re.escape(f"suture.compile has no argument '{argument}'{says}")
    with pytest.raises(TypeError, match=message):
        suture.compile(lambda x: x, **{argument: True})
    with pytest.raises(TypeError, match=message):
        suture.compile(**{argument: True})


@pytest.mark.parametrize("value", [3, None, "f", [len]])
def test_explain_of_no_function_fails_at_once(value):
    with pytest.raises(TypeError, match=r"takes a function .*, not \w+: .*suture\.explain\(f\)\(x, 3\)"):
        suture.explain(value)


def test_explain_has_its_own_docstring():
    assert "suture.explain(f)(x, 3)" in suture.explain.__doc__ and "settings" in suture.explain.__doc__


@pytest.mark.parametrize("function", [suture.mark_dynamic, suture.mark_static])
@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((np.ones(3), "x"), TypeError, "dim is an int, an axis of the array (0 is the first), not str: 'x'"),
        (([1, 2], 0), TypeError, "array is a numpy.ndarray, not list: [1, 2]"),
        ((np.ones((2, 3)), 2), ValueError, "the array has 2 axes, so dim cannot be 2; its shape is (2, 3)"),
    ],
)
def test_marks_say_what_they_want(function, arguments, error, says):
    with pytest.raises(error, match=re.escape(f"{function.__name__}: {says}")):
        function(*arguments)


def test_bounds_of_a_mark_are_ints():
    with pytest.raises(TypeError, match="mark_dynamic: max is an int or None, not float: 4.5"):
        suture.mark_dynamic(np.ones(3), 0, max=4.5)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SUTURE_LOG", "graph_breaks", "SUTURE_LOG is not known and does nothing; did you mean SUTURE_LOGS?"),
        ("SUTURE_MAX_UNROL", "9", "did you mean SUTURE_MAX_UNROLL?"),
        ("SUTURE_REPRO_LEVEL", "4", "SUTURE_REPRO_LEVEL=4 does nothing without SUTURE_REPRO_AFTER=capture"),
        ("SUTURE_COMPILER", "/nope/g++", "SUTURE_COMPILER=/nope/g++ is not used: SUTURE_TOOLCHAIN is 'auto'"),
    ],
)
def test_a_variable_that_does_nothing_is_one_warning(run_python, name, value, says):
    done = run_python("-c", COUNTED, **{name: value})
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning") == 1 and says in done.stderr


def test_variables_of_other_tools_and_used_ones_are_no_warning(run_python):
    others = {"SUTURE_PYTHON": "python3", "SUTURE_JOBS": "2", "SUTURE_API_KEY": "x", "SUTURE_TEST_ROOT": "/"}
    others |= {"SUTURE_DEBUG": "1", "SUTURE_CACHE": "x", "SUTURE_HOME": "/", "SUTURE_LOGLEVEL": "9"}
    used = {
        "SUTURE_REPRO_LEVEL": "4",
        "SUTURE_REPRO_AFTER": "capture",
        "SUTURE_COMPILER": "g++",
        "SUTURE_TOOLCHAIN": "subprocess",
        "SUTURE_CACHE_DIR": "off",
    }
    done = run_python("-c", COUNTED, **others, **used)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
def test_an_option_after_the_file_goes_to_the_program_and_is_told(run_python, write_program, verb):
    program = write_program(PROGRAM)
    done = run_python("-m", "suture", verb, str(program), "--json", "x", "--fail=1")
    assert done.returncode == 0 and "['--json', 'x', '--fail=1']" in done.stdout
    assert f"--json after {program} goes to the program" in done.stderr
    assert f"suture {verb} --json {program} x --fail=1. " in done.stderr
    assert done.stderr.splitlines()[0].endswith(f"suture {verb} {program} -- --json x --fail=1")
    told = run_python("-m", "suture", verb, str(program), "--", "--json")
    assert told.returncode == 0 and "goes to the program" not in told.stderr


PICKY = """\
import sys
if sys.argv[1:] != ["--seconds", "9", "x"]:
    sys.exit("other arguments")
"""


def test_an_option_after_the_file_goes_to_the_program_that_is_bisected_and_is_told(run_python, write_program):
    """No frame compiles: the program ends at once."""
    program = write_program(PICKY)
    done = run_python("-m", "suture", "bisect", "--json", str(program), "--seconds", "9", "x")
    assert done.returncode == 0 and '"reproduced": false' in done.stdout, done.stderr
    assert done.stderr.splitlines()[0] == (
        f"suture bisect: --seconds 9 after {program} goes to the program. For this command: "
        f"suture bisect --json --seconds 9 {program} x. "
        f"For the program, without this note: suture bisect --json {program} -- --seconds 9 x"
    )
    told = run_python("-m", "suture", "bisect", str(program), "--", "--seconds", "9", "x")
    assert told.returncode == 0 and "goes to the program" not in told.stderr


def test_an_option_after_a_repro_file_is_refused_with_how_it_is_written(run_python, tmp_path):
    write_small_repro(tmp_path)
    done = run_python("-m", "suture", "bisect", str(tmp_path / "repro.py"), "--json")
    assert done.returncode == 2
    assert done.stderr == (
        "suture bisect: --json: a case takes no arguments; options stand before FILE: "
        f"suture bisect --json {tmp_path / 'repro.py'}\n"
    )


def test_options_of_a_program_that_is_reduced_stand_behind_dashes(run_python, tmp_path, write_program):
    """No frame compiles."""
    program = write_program('import sys\nif sys.argv[1:] == ["x", "--fail"]:\n    raise ValueError("no")\n')
    words = ["-m", "suture", "minify", str(program), "--goal", "error", "--out", str(tmp_path), "x"]
    refused = run_python(*words, "--fail")
    assert refused.returncode == 2
    assert refused.stderr.endswith(
        "unrecognized arguments: --fail (options of the program stand at the end, behind --: -- --fail)\n"
    )
    done = run_python(*words, "--", "--fail")
    assert done.returncode == 0 and "Wrote minimal repro" in done.stderr, done.stderr


@pytest.mark.parametrize("verb", ["check", "explain", "run"])
def test_only_the_file_is_required(run_python, verb):
    done = run_python("-m", "suture", verb)
    assert done.returncode == 2 and done.stderr.rstrip().endswith("the following arguments are required: FILE")


def test_a_reason_that_does_not_exist_is_told_with_the_nearest_number(run_python):
    done = run_python("-m", "suture", "explain", "sb999")
    assert done.returncode == 2 and done.stderr == "suture explain: there is no reason SB999; the nearest is SB510\n"


def test_a_file_that_is_not_there_is_told_in_the_same_words_by_every_verb(run_python):
    said = {verb: run_python("-m", "suture", verb, "nofile").stderr for verb in ("check", "logs", "run")}
    assert said == {verb: f"suture {verb}: nofile: No such file or directory\n" for verb in said}


# As on a Python without opcode tables: the warning is issued while functions are decorated.
UNSUPPORTED = """
import json, warnings
import suture
suture._core.supported_python = lambda: False
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
{decorated}
print(json.dumps([(w.filename, w.lineno) for w in seen]))
"""


@pytest.mark.any_python
@pytest.mark.parametrize(
    "decorated",
    [
        "    @suture.compile\n    def f(x): return x",
        "    @suture.compile(dynamic=True)\n    def f(x): return x",
        "    suture.compile(staticmethod(len))",
        "    suture.compile(dynamic=False)(print)",
    ],
)
def test_the_warning_about_the_python_version_points_at_the_users_line(run_python, write_program, decorated):
    program = write_program(UNSUPPORTED.format(decorated=decorated))
    done = run_python(str(program))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[str(program), 7]]


def test_an_axis_may_be_any_integer_of_numpy():
    suture.mark_dynamic(np.ones(3), np.int64(0), min=np.int32(2), max=9)
    suture.mark_static(np.ones(3), np.uint8(0))
    with pytest.raises(TypeError, match="dim is an int"):
        suture.mark_dynamic(np.ones(3), True)
