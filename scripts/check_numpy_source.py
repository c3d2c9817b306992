"""Runs printed NumPy sources and compares every value with what inference said about it.

    check_numpy_source.py CASES      one JSON object per line: source, inputs, symbols, outputs (see numpy_source_test.cpp)

Prints one line per disagreement, then `checked <cases> <values>`.
"""

import itertools
import json
import sys
import warnings

import numpy as np

PYTHON = {"py_bool": bool, "py_int": int, "py_float": float}
# Value-dependent exceptions of Python numbers; everything else means that the builder accepted what NumPy refuses.
ALLOWED = (ZeroDivisionError, OverflowError)


def make_input(description):
    kind, dtype = description["class"], np.dtype(description["dtype"])
    if kind in PYTHON:
        return PYTHON[kind](3)
    if kind == "scalar":
        return dtype.type(2)
    shape, strides = description["shape"], [s * dtype.itemsize for s in description["strides"]]
    low = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape) if n)
    high = sum(max(0, s * (n - 1)) for s, n in zip(strides, shape) if n)
    memory = np.zeros(high - low + dtype.itemsize, np.uint8)
    array = np.ndarray(shape, dtype, memory, -low, strides)
    array[...] = (np.arange(array.size) % 5).reshape(shape) + 1
    return array


def describe(value):
    if isinstance(value, np.ndarray):
        kept = [s // value.itemsize if n > 1 and value.size else 0 for s, n in zip(value.strides, value.shape)]
        return {
            "class": "array",
            "dtype": value.dtype.name,
            "shape": list(value.shape),
            "strides": kept,
            "writeable": value.flags.writeable,
        }
    if isinstance(value, np.generic):
        return {"class": "scalar", "dtype": value.dtype.name, "shape": [], "strides": [], "writeable": True}
    dtype = {bool: "bool", int: "int64", float: "float64"}[type(value)]
    return {"class": "py_" + type(value).__name__, "dtype": dtype, "shape": [], "strides": [], "writeable": True}


def observable(expected):
    empty = 0 in expected["shape"]
    strides = [s if n > 1 and not empty else 0 for s, n in zip(expected["strides"], expected["shape"])]
    return {**expected, "strides": strides}


def check(number, case):
    namespace = {}
    exec(compile(case["source"], f"case {number}", "exec"), namespace)
    try:
        values = namespace["forward"](*map(make_input, case["inputs"]), *case["symbols"])
    except ALLOWED:
        return 0
    except Exception as error:
        print(f"case {number}: {type(error).__name__}: {error}\n{case['source']}")
        return 0
    for name, value, expected in itertools.zip_longest(case["names"], values, case["outputs"]):
        if describe(value) != observable(expected):
            print(f"case {number}: {name} is {describe(value)}, expected {observable(expected)}\n{case['source']}")
    return len(values)


def main():
    warnings.simplefilter("ignore")
    cases = values = 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            values += check(number, json.loads(line))
            cases += 1
    print("checked", cases, values)


if __name__ == "__main__":
    main()
