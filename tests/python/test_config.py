"""suture.config: one table, checked values, patches that are undone."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import suture


def test_every_option_of_the_table_has_a_value_of_its_type():
    kinds = {"bool": bool, "int": int, "float": float, "str": str}
    options = suture.config.options()
    assert {"backend", "disable", "logs", "recompile_limit", "trace"} <= {option.name for option in options}
    for option in options:
        assert type(getattr(suture.config, option.name)) is kinds[option.type], option
        assert option.doc and option.env.startswith("SUTURE_")


def test_patch_sets_values_for_a_while_and_nests():
    before = suture.config.recompile_limit
    with suture.config.patch(recompile_limit=3, strict=True):
        assert suture.config.recompile_limit == 3 and suture.config.strict is True
        with suture.config.patch(recompile_limit=5):
            assert suture.config.recompile_limit == 5
        assert suture.config.recompile_limit == 3
    assert suture.config.recompile_limit == before and suture.config.strict is False


def test_patch_is_undone_after_an_exception_and_works_as_decorator():
    before = suture.config.recompile_limit

    @suture.config.patch(recompile_limit=2)
    def inside():
        assert suture.config.recompile_limit == 2
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            inside()
        assert suture.config.recompile_limit == before


@pytest.mark.parametrize(
    ("name", "value"), [("strict", 1), ("strict", "False"), ("recompile_limit", True), ("logs", 3)]
)
def test_values_of_another_type_are_refused_and_change_nothing(name, value):
    before = suture.config.to_dict()
    with pytest.raises(TypeError, match=f"option '{name}' is a"):
        setattr(suture.config, name, value)
    with pytest.raises(TypeError), suture.config.patch(recompile_limit=3, **{name: value}):
        pass
    assert suture.config.to_dict() == before


def test_unknown_options_name_the_nearest_one():
    with pytest.raises(AttributeError, match="no option is named 'recompile_limits'; did you mean 'recompile_limit'"):
        suture.config.recompile_limits = 3
    with pytest.raises(AttributeError, match="did you mean 'strict'"):
        suture.config.patch(strickt=True)
    with pytest.raises(ValueError, match="recompile_limit"):
        suture.compile(lambda x: x, options={"recompile_limt": 3})


def test_environment_is_read_once_at_import_and_bad_values_are_one_warning(run_python):
    code = "import suture, json; print(json.dumps([suture.config.recompile_limit, suture.config.strict]))"
    good = run_python("-c", code, SUTURE_RECOMPILE_LIMIT="3", SUTURE_STRICT="1")
    assert json.loads(good.stdout) == [3, True] and good.stderr == ""
    bad = run_python("-c", code, SUTURE_RECOMPILE_LIMIT="many")
    assert bad.returncode == 0 and json.loads(bad.stdout) == [8, False]
    assert bad.stderr.count("RuntimeWarning") == 1 and "SUTURE_RECOMPILE_LIMIT" in bad.stderr


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("toolchain", "nonsense", "option 'toolchain' cannot be 'nonsense'; allowed: auto, clang, subprocess"),
        ("numerics", "exct", "allowed: exact, fast; did you mean 'exact'"),
        ("recompile_limit", -1, "option 'recompile_limit' cannot be -1; allowed: 1 to"),
        ("max_unroll", 2**40, "option 'max_unroll' cannot be 1099511627776; allowed: 0 to"),
        ("skip_passes", "x", "no pass is named 'x'"),
        ("skip_passes", "insert_casts", "pass 'insert_casts' is required and cannot be skipped"),
        ("logs_format", "pretty", "allowed: '', compact, full, a text with"),
        ("logs", "graph_braks", "did you mean 'graph_breaks'"),
        ("backend", "nativ", "did you mean 'native'"),
    ],
)
def test_values_outside_the_domain_are_refused_and_change_nothing(name, value, message):
    before = suture.config.to_dict()
    with pytest.raises(ValueError, match=re.escape(message)):
        setattr(suture.config, name, value)
    with pytest.raises(ValueError, match=re.escape(message)), suture.config.patch(fusion=False, **{name: value}):
        pass
    assert suture.config.to_dict() == before


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"options": {"recompile_limit": "3"}}, TypeError, "option 'recompile_limit' is an int, not str: '3'"),
        ({"options": {"fusion": 1}}, TypeError, "option 'fusion' is a bool, not int: 1"),
        ({"options": {"max_unroll": -1}}, ValueError, "option 'max_unroll' cannot be -1"),
        ({"options": {"skip_passes": "decompose"}}, ValueError, "cannot be skipped"),
        ({"options": ["fusion"]}, TypeError, "options is dict | None, not list"),
        ({"fullgraph": "yes"}, TypeError, "fullgraph is bool, not str: 'yes'"),
        ({"dynamic": 3}, TypeError, "dynamic is bool | None, not int: 3"),
        ({"numerics": "quick"}, ValueError, "option 'numerics' cannot be 'quick'; allowed: exact, fast"),
        ({"numerics": 1.0}, TypeError, "numerics is str | None, not float"),
    ],
)
def test_arguments_of_compile_are_checked_where_they_are_given(settings, error, message):
    with pytest.raises(error, match=re.escape(message)):
        suture.compile(lambda x: x, **settings)
    if "numerics" not in settings and "options" not in settings:
        with pytest.raises(error, match=re.escape(message)):
            suture.compile(**settings)


def test_tests_leave_nothing_in_the_cache_of_the_user(run_python):
    """Nothing is compiled. A process that dies leaves a record, wherever it was started."""
    own = str(Path(__file__).resolve().parents[2] / "build" / "test_cache" / "suture")
    ask = "from suture import _core; print(_core.cache_directory(), _core.record_directory())"
    assert run_python("-c", ask).stdout.split() == [own, f"{own}/records"]
    if not suture.config.cache_dir:
        assert suture._core.cache_directory() == own


def test_warnings_of_ours_carry_the_line_of_the_program(run_python, write_program):
    """Nothing is compiled. `sys` stands where no line of a program led here, as everywhere in Python."""
    program = write_program("import os\n\nimport suture\nsuture.compile(len, backend=None)\n")
    environment = {"SUTURE_LOGZ": "x", "SUTURE_RECOMPILE_LIMIT": "many", "SUTURE_BACKEND": "nativ"}
    told = run_python(str(program), **environment).stderr
    lines = sorted(line.partition(": RuntimeWarning: suture: ")[0] for line in told.splitlines() if "suture: " in line)
    assert lines == [f"{program}:3", f"{program}:3", f"{program}:4"], told
    assert "import suture" in told and "warn(" not in told
    assert run_python("-m", "suture", "backends", SUTURE_LOGZ="x").stderr.startswith("sys:1: RuntimeWarning: suture: ")


def test_bytes_that_are_no_text_name_their_variable(run_python, write_program, tmp_path):
    """Of every option, and of where caches go by default; the program runs, and one frame compiles."""
    program = write_program(
        "import numpy as np\nimport suture\n\n@suture.compile\ndef f(x):\n    return x + 1\n\nf(np.ones(3))\n"
        "print(f.status()['graph_count'], suture._core.cache_directory(), suture._core.record_directory())\n"
    )
    odd = os.fsdecode(b"caf\xe9")
    names = [option.env for option in suture.config.options() if option.env]
    done = run_python(str(program), **dict.fromkeys(names, odd), XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout.split()[0]) == (0, "1"), done.stderr
    told = [line for line in done.stderr.splitlines() if "is not UTF-8" in line]
    assert sorted(line.split("suture: ")[1].split(": ")[0] for line in told) == sorted(names)
    for place in ("XDG_CACHE_HOME", "HOME"):
        places = {"XDG_CACHE_HOME": "", place: odd}
        done = run_python(str(program), **places)
        assert (done.returncode, done.stdout.split()) == (0, ["1"]), done.stderr
        assert f"{place}: nothing is cached; 'caf\\xe9' is not UTF-8; set SUTURE_CACHE_DIR" in done.stderr
        listed = run_python("-m", "suture", "minify", "--list", **places)
        assert listed.returncode == 0, listed.stderr


def test_an_environment_value_outside_the_domain_is_one_warning_and_the_default(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "f, g = suture.compile(lambda x: x + 1), suture.compile(lambda x: x + 2)\n"
        "with suture.testing.frames_compiled() as frames: f(np.ones(3)); g(np.ones(3))\n"
        "print(frames.count)\n"
    )
    for name, value, said in [
        (
            "SUTURE_TOOLCHAIN",
            "nonsense",
            "using 'auto'; option 'toolchain' cannot be 'nonsense'; allowed: auto, clang, subprocess",
        ),
        ("SUTURE_RECOMPILE_LIMIT", "-1", "using '8'; option 'recompile_limit' cannot be -1; allowed: 1 to 2147483647"),
        ("SUTURE_SKIP_PASSES", "decompose", "is required and cannot be skipped"),
        ("SUTURE_BACKEND", "nativ", "using 'native'; no backend is named 'nativ'; did you mean 'native'"),
        ("SUTURE_LOGS", "graph_braks", "did you mean 'graph_breaks'"),
    ]:
        done = run_python(str(program), **{name: value})
        assert done.returncode == 0 and done.stdout == "2\n", (name, done.stderr)
        assert done.stderr.count("RuntimeWarning") == 1 and f"{name}: " in done.stderr and said in done.stderr, name


def test_disable_runs_everything_in_the_interpreter(run_python, write_program):
    program = write_program(
        "import numpy as np, suture\n"
        "@suture.compile\n"
        "def f(x): return x + 1\n"
        "with suture.testing.frames_compiled() as frames: f(np.ones(3))\n"
        "print(frames.count)\n"
    )
    assert run_python(str(program), SUTURE_DISABLE="1").stdout == "0\n"
    assert run_python(str(program)).stdout == "1\n"


def test_import_loads_no_tool_before_it_is_used(run_python):
    code = (
        "import numpy, sys; before = set(sys.modules); import suture; "
        "print(sorted({'rich', 'argparse', 'inspect', 'logging', 'suture._logs', 'suture.cli', 'suture._toolbox'} "
        "& (set(sys.modules) - before)))"
    )
    assert run_python("-c", code).stdout == "[]\n"
