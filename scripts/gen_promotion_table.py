"""Asks the running NumPy for the dtype of every op of ops.def over every combination of operand dtypes.

Prints one line per combination for tests/unit/ops/numpy_types_test.cpp:

    numpy  <op> <operand>... [dtype=<dtype>] -> <loop or *> <result>
    numpy  <op> <operand>... -> error
    python <op> <operand>... -> <result class>
    cast   cast <from> <to> -> <safe> <same_kind>

An operand is a dtype name (an array) or py_bool, py_int, py_float (a weak Python scalar). `*` is printed where NumPy does
not tell the loop. A loop with operands of different dtypes is printed as `mixed`. Nothing here repeats a rule: NumPy and
Python are only asked.
"""

import itertools
import operator
import pathlib
import re
import sys
import warnings

import numpy as np

WEAK = {"py_bool": True, "py_int": 1, "py_float": 1.5}
# What resolve_dtypes takes for a Python scalar. A Python bool is a strong bool to NumPy.
WEAK_TYPES = {"py_bool": np.dtype(bool), "py_int": int, "py_float": float}
PYTHON_OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": operator.abs,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
}


def read_table(path, macro):
    """Rows of a .def table as lists of strings."""
    rows = []
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(macro + "("):
            body = line[len(macro) + 1 : line.rindex(")")]
            rows.append([f.strip().strip('"') for f in re.split(r',\s*(?=(?:[^"]*"[^"]*")*[^"]*$)', body)])
    return rows


def sample(operand):
    return WEAK[operand] if operand in WEAK else np.ones(1, operand)


def probe(function, *args, **kwargs):
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*args, **kwargs)).dtype.name
    except (TypeError, OverflowError):
        return None


def ufunc_line(ufunc, operands):
    asked = [WEAK_TYPES[o] if o in WEAK else np.dtype(o) for o in operands]
    try:
        *loop, result = ufunc.resolve_dtypes((*asked, None))
    except TypeError:
        return "error"
    names = {d.name for d in loop}
    return f"{names.pop() if len(names) == 1 else 'mixed'} {result.name}"


def show(kind, op, operands, answer, dtype=None):
    suffix = f" dtype={dtype}" if dtype else ""
    print(kind, op, *operands, f"{suffix} -> {answer}")


def show_probe(op, operands, result, dtype=None):
    show("numpy", op, operands, f"* {result}" if result else "error", dtype)


def main(root):
    warnings.simplefilter("ignore")
    dtypes = [row[1] for row in read_table(root / "src/ops/dtypes.def", "SUTURE_DTYPE")]
    kinds = dtypes + list(WEAK)
    for _, op, kind, _, arity, numpy, rule, *_ in read_table(root / "src/ops/ops.def", "SUTURE_OP"):
        function = eval(numpy, {"np": np}) if numpy else None
        if kind == "Elementwise" and isinstance(function, np.ufunc):
            for operands in itertools.product(kinds, repeat=int(arity)):
                show("numpy", op, operands, ufunc_line(function, operands))
        elif op == "where":
            for operands in itertools.product(kinds, repeat=3):
                show_probe(op, operands, probe(np.where, *map(sample, operands)))
        elif op == "clip":
            for operands in itertools.product(dtypes, kinds, kinds):
                show_probe(op, operands, probe(np.clip, *map(sample, operands)))
            for x, bound in itertools.product(dtypes, kinds):
                show_probe(op, (x, bound), probe(np.clip, sample(x), sample(bound), None))
        elif op in ("round", "copy"):
            for x in dtypes:
                show_probe(op, (x,), probe(function, sample(x)))
        elif kind == "Reduce":
            for x in dtypes:
                show_probe(op, (x,), probe(function, sample(x)))
                if rule in ("SumLike", "Mean"):
                    for dtype in dtypes:
                        show_probe(op, (x,), probe(function, sample(x), dtype=dtype), dtype)
        elif kind == "Contract":
            for operands in itertools.product(dtypes, repeat=2):
                show_probe(op, operands, probe(function, *map(sample, operands)))
        if op in PYTHON_OPERATORS:
            for operands in itertools.product(WEAK, repeat=int(arity)):
                try:
                    answer = "py_" + type(PYTHON_OPERATORS[op](*(WEAK[o] for o in operands))).__name__
                except TypeError:
                    answer = "error"
                show("python", op, operands, answer)
    for a, b in itertools.product(dtypes, repeat=2):
        print("cast", "cast", a, b, "->", int(np.can_cast(a, b)), int(np.can_cast(a, b, "same_kind")))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
