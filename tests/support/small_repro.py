"""A repro file with one op, for tests of what is done with such files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from suture._minify import repro_file
from suture._minify.case import Case, inputs_of
from suture._minify.launcher import input_names
from suture._minify.repro_file import ReproFile

GRAPH = """\
graph "g" captured
  x = placeholder() : f64[3] ; "x"
  abs_1 = abs(x) : f64[3] ; "np.abs"
  inputs x
  return abs_1
"""


def write_small_repro(directory: Path) -> Path:
    case = Case(GRAPH, inputs_of([np.ones(3)]), backend="eager")
    return repro_file.write(ReproFile(case, input_names(case), title="t"), directory, "repro")
