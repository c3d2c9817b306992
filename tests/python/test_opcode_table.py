"""The opcode table that the C++ code reads agrees with the interpreter that runs these tests."""

import runpy
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_opcodes.py"


def test_the_table_equals_the_running_interpreter():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0


def test_a_wrong_row_is_reported():
    script = runpy.run_path(str(SCRIPT))
    row = {
        "number": 124,
        "caches": 1,
        "has_arg": True,
        "jump": 0,
        "operand": "kLocal",
        "stack": ("0", "1", "1"),
    }
    if sys.version_info[:2] == (3, 11):
        assert list(script["compare_row"]("LOAD_FAST", row)) == ["LOAD_FAST: 1 caches, interpreter 0"]
