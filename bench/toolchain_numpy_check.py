"""Compares every elementwise expression of ops.def with NumPy on a grid of special and random values, bit for bit where the
table promises it (sign of zero included, NaN payloads not), and within the table's ULP bound elsewhere.

    python bench/toolchain_numpy_check.py [op ...]

It compiles the prelude with a C++ compiler ($CXX or g++), so it needs neither the extension modules nor LLVM. Elements for
which the kernel raises a status bit are left out: NumPy recomputes those.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRELUDE = ROOT / "src/toolchain/prelude"
TYPES = {
    "?": "bool",
    "b": "int8_t",
    "B": "uint8_t",
    "h": "int16_t",
    "H": "uint16_t",
    "i": "int32_t",
    "I": "uint32_t",
    "l": "int64_t",
    "L": "uint64_t",
    "f": "float",
    "d": "double",
}
OP = re.compile(
    r'SUTURE_OP\(\w+, "(\w+)", Elementwise, \w+, (\d), "np\.(\w+)", \w+, (\d+), (\d+), (\w+), \w+, \w+, "([^"]*)"'
)


def prelude_text():
    cmake = (PRELUDE / "embed.cmake").read_text()
    parts = re.search(r"SUTURE_PRELUDE_PARTS ([^)]*)\)", cmake).group(1).split()
    return "\n".join((PRELUDE / part).read_text() for part in parts)


def values(code, rng):
    dtype = np.dtype(code)
    if code == "?":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        special = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100]
        if dtype.kind == "i":
            special += [-1, -2, -3, -7, -8]
        return np.array(sorted({v for v in special if info.min <= v <= info.max}), dtype)
    info = np.finfo(dtype)
    special = [
        0,
        0.5,
        1,
        1.5,
        2,
        2.5,
        3,
        0.1,
        0.3,
        1e-5,
        7,
        10,
        100.25,
        1e10,
        info.tiny,
        info.tiny / 4,
        info.max,
        info.max / 2,
        np.inf,
        np.nan,
    ]
    special += list(rng.normal(size=12) * 10)
    return np.concatenate([np.array(special, dtype), -np.array(special, dtype)])


def kernel(op, expression, result, operand, text):
    name = f"k{len(text)}"
    text.append(
        f'extern "C" void {name}(const {operand}* A, const {operand}* B, {result}* out, uint32_t* bits, int64_t n) {{\n'
        f"  for (int64_t i = 0; i < n; ++i) {{\n    const {operand} a = A[i], b = B[i];\n    uint32_t status = 0;\n"
        f"    out[i] = {expression};\n    bits[i] = status;\n  }}\n}}  // {op}\n"
    )
    return name


def ulp_distance(x, y, scale):
    with np.errstate(all="ignore"):
        return np.where(x == y, 0, np.abs(x.astype("longdouble") - y) / np.spacing(scale))


def check(op, expected, got, ok, ulp, a, b):
    same = (
        (expected == got) & (np.signbit(expected) == np.signbit(got)) if expected.dtype.kind == "f" else expected == got
    )
    if expected.dtype.kind == "f":
        same |= np.isnan(expected) & np.isnan(got)
        if ulp:  # NumPy has its own error, too
            # Where terms cancel, logaddexp is as good as its operands allow.
            scale = np.maximum(np.abs(a), np.abs(b)) if op == "logaddexp" else np.abs(expected)
            same |= ulp_distance(got, expected, scale) <= ulp + 4
    bad = np.flatnonzero(~same & ok)
    for i in bad[:4]:
        print(f"{op} {a.dtype}: ({a[i]!r}, {b[i]!r}) -> {got[i]!r}, NumPy {expected[i]!r}")
    return len(bad)


def main():
    rng = np.random.default_rng(1)
    text, jobs = [prelude_text()], []
    for name, arity, function, ulp64, ulp32, signals, cpp in OP.findall((ROOT / "src/ops/ops.def").read_text()):
        if not cpp or function == "where" or (sys.argv[1:] and name not in sys.argv[1:]):
            continue
        ufunc = getattr(np, function)
        for code, ctype in TYPES.items():
            if not isinstance(ufunc, np.ufunc):
                continue
            try:
                out = ufunc.resolve_dtypes((np.dtype(code),) * int(arity) + (None,))
            except TypeError:
                continue
            if out[0] != np.dtype(code) or out[-1].char not in TYPES:
                continue  # NumPy converts first, and so does the generator
            expression = cpp.replace("$0", "a").replace("$1", "b")
            if np.dtype(code).kind in {"Status": "iu", "Build": "f"}.get(signals, ""):
                expression = expression[:-1] + ", status)"
            jobs.append(
                (
                    name,
                    ufunc,
                    int(arity),
                    code,
                    out[-1],
                    int(ulp64 if code == "d" else ulp32),
                    kernel(name, expression, TYPES[out[-1].char], ctype, text),
                )
            )
    with tempfile.TemporaryDirectory() as directory:
        source, library = pathlib.Path(directory, "k.cpp"), pathlib.Path(directory, "k.so")
        source.write_text("\n".join(text))
        subprocess.run(
            [
                *os.environ.get("CXX", "g++").split(),
                "-std=c++20",
                "-O2",
                "-march=native",
                "-ffp-contract=off",
                "-fno-math-errno",
                "-fno-strict-aliasing",
                "-w",
                "-shared",
                "-fPIC",
                str(source),
                "-o",
                str(library),
                "-lm",
            ],
            check=True,
        )
        loaded = ctypes.CDLL(str(library))
    failures = 0
    for name, ufunc, arity, code, result, ulp, symbol in jobs:
        v = values(code, rng)
        a, b = (x.ravel().copy() for x in np.meshgrid(v, v)) if arity == 2 else (v, v.copy())
        if ufunc is np.power and np.dtype(code).kind in "iu":
            keep = b >= 0
            a, b = a[keep], b[keep]
        out, bits = np.empty(a.shape, result), np.empty(a.shape, np.uint32)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, out, bits)]
        getattr(loaded, symbol)(*pointers, ctypes.c_int64(a.size))
        with np.errstate(all="ignore"):
            expected = ufunc(a, b) if arity == 2 else ufunc(a)
        failures += check(name, expected, out, bits == 0, ulp, a, b)
    print(f"{len(jobs)} kernels checked, {failures} elements differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
