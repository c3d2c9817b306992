"""Random calls of every op with what NumPy answers, for tests/unit/graph/layout_oracle_test.cpp.

    gen_layout_oracle.py [--seed N] [--count N]      (count: calls per kind)

Prints one call per line in the notation of graph text:

    add(f64[3, 4] strides [1, 3], py_int) {} ; "+" -> f64[3, 4] strides [1, 3]
    max(f64[0, 3]) {axes=[0]} ; "np.max" -> error

Operands are arrays of every layout (permuted, sliced, reversed, broadcast), 0-d arrays, NumPy scalars and Python numbers.
`error` stands for an exception; the builder must refuse these calls. The pseudo op `like` asks for the layout of a copy.
"""

import argparse
import operator
import pathlib
import random
import sys
import warnings

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gen_promotion_table import read_table

DTYPES = ["float64", "float64", "float32", "int64", "int32", "bool"]
SHORT = {
    "bool": "bool",
    "float64": "f64",
    "float32": "f32",
    "int64": "i64",
    "int32": "i32",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "lt": operator.lt,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "floordiv": "//", "mod": "%"}
IN_PLACE = {"add": operator.iadd, "sub": operator.isub, "mul": operator.imul, "div": operator.itruediv}


class Oracle:
    def __init__(self, seed, count, root):
        self.rng = random.Random(seed)
        self.count = count
        self.ops = read_table(root / "src/ops/ops.def", "SUTURE_OP")

    # --- operands ---

    def shape(self, max_rank=4, min_rank=0):
        rank = self.rng.randint(min_rank, max_rank)
        return tuple(self.rng.choice([1, 2, 3, 4, 5, 2, 3, 0 if self.rng.random() < 0.2 else 2]) for _ in range(rank))

    def array(self, shape, dtype=None):
        """An array of this shape in a random layout."""
        dtype = dtype or self.rng.choice(DTYPES)
        rank = len(shape)
        style = self.rng.randint(0, 5)
        if style <= 1 or rank == 0:
            return np.ones(shape, dtype, order="C" if style else self.rng.choice("CF"))
        permutation = self.rng.sample(range(rank), rank)
        steps = [self.rng.choice([1, 1, 2, -1, -2]) if style >= 4 else 1 for _ in range(rank)]
        base_shape = [0] * rank
        for axis, place in enumerate(permutation):
            base_shape[place] = shape[axis] * abs(steps[axis])
        base = np.ones(base_shape, dtype).transpose(permutation)
        view = base[tuple(slice(None, None, step) for step in steps)]
        if style == 3 and 0 not in shape:  # some axes with stride 0
            kept = tuple(slice(0, 1) if self.rng.random() < 0.4 else slice(None) for _ in range(rank))
            view = np.broadcast_to(view[kept], shape)
        return view

    def operand(self, shape):
        """An array that broadcasts to shape, or a scalar."""
        roll = self.rng.random()
        if roll < 0.08:
            return self.rng.choice([True, 3, 1.5])
        if roll < 0.15:
            return np.dtype(self.rng.choice(DTYPES)).type(1)
        own = [1 if self.rng.random() < 0.2 else extent for extent in shape][self.rng.choice([0, 0, 0, 1]) :]
        if self.rng.random() < 0.03 and own:
            own[-1] += 1  # often a mismatch
        return self.array(tuple(own))

    # --- text ---

    @staticmethod
    def type_text(value):
        if isinstance(value, bool):
            return "py_bool"
        if isinstance(value, int):
            return "py_int"
        if isinstance(value, float) and not isinstance(value, np.generic):
            return "py_float"
        if value.dtype.name not in SHORT:
            return "error"
        short = SHORT[value.dtype.name]
        if isinstance(value, np.generic):
            return f"{short} scalar"
        strides = [s // value.itemsize for s in value.strides]
        text = f"{short}{list(value.shape)} strides {strides}"
        return text if value.flags.writeable else text + " readonly"

    def show(self, op, operands, attrs, target, compute):
        types = ", ".join(self.type_text(x) for x in operands)
        try:
            with np.errstate(all="ignore"):
                answer = self.type_text(compute())
        except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError):
            answer = "error"
        items = ", ".join(f"{k}={v}" for k, v in attrs.items() if v is not None)
        print(f'{op}({types}) {{{items}}} ; "{target}" -> {answer}')

    # --- calls ---

    def elementwise(self):
        ufuncs = [
            (row[1], eval(row[5], {"np": np}), int(row[4]))
            for row in self.ops
            if row[2] == "Elementwise" and row[5] and isinstance(eval(row[5], {"np": np}), np.ufunc)
        ]
        for name, function, arity in ufuncs:
            for _ in range(max(3, self.count // 12)):
                shape = self.shape()
                operands = [self.operand(shape) for _ in range(arity)]
                if name == "signbit" and np.asarray(operands[0]).dtype == bool:
                    continue  # goes through float16
                if name in OPERATORS and name in SYMBOLS and self.rng.random() < 0.5:
                    self.show(name, operands, {}, SYMBOLS[name], lambda: OPERATORS[name](*operands))
                else:
                    self.show(name, operands, {}, f"np.{function.__name__}", lambda: function(*operands))

    def selection(self):
        for _ in range(self.count):
            shape = self.shape()
            operands = [self.array(shape, "bool"), self.operand(shape), self.operand(shape)]
            self.show("where", operands, {}, "np.where", lambda: np.where(*operands))
            x, lo, hi = self.array(shape), self.operand(shape), self.operand(shape)
            if x.dtype != bool:
                self.show("clip", [x, lo, hi], {}, "np.clip", lambda: np.clip(x, lo, hi))
                self.show("clip", [x, hi], {"has_min": "false"}, "np.clip", lambda: np.clip(x, None, hi))
                decimals = self.rng.choice([0, 1, -1])
                self.show("round", [x], {"decimals": decimals}, "np.round", lambda: np.round(x, decimals))

    def copies(self):
        for _ in range(self.count):
            x, order = self.array(self.shape()), self.rng.choice("CFKA")
            dtype = self.rng.choice(DTYPES)
            attrs = {"dtype": SHORT[dtype], "order": order if order != "K" else None}
            self.show("cast", [x], attrs, "ndarray.astype", lambda: x.astype(dtype, order=order))
            attrs = {"order": order if order != "K" else None}
            self.show("copy", [x], attrs, "ndarray.copy", lambda: x.copy(order=order))
            self.show("like", [x], attrs, "np.empty_like", lambda: np.empty_like(x, order=order))

    def reductions(self):
        rows = [row for row in self.ops if row[2] == "Reduce"]
        for _ in range(self.count):
            row = self.rng.choice(rows)
            name, function = row[1], eval(row[5], {"np": np})
            x = self.array(self.shape())
            keepdims = self.rng.random() < 0.3
            single = name.startswith("arg")
            if self.rng.random() < 0.3 or x.ndim == 0:
                axis, attrs = None, {"all_axes": "true"}
            else:
                axes = self.rng.sample(range(x.ndim), 1 if single else self.rng.randint(0 if x.ndim else 1, x.ndim))
                axis, attrs = (axes[0] if single else tuple(axes)), {"axes": axes}
            attrs["keepdims"] = "true" if keepdims else None
            if name in ("mean", "var", "std"):
                # NumPy only warns about what the builder leaves to it.
                warnings.simplefilter("error")
            self.show(name, [x], attrs, f"np.{name}", self.raising(lambda: function(x, axis=axis, keepdims=keepdims)))
            warnings.simplefilter("ignore")

    @staticmethod
    def raising(compute):
        def run():
            try:
                return compute()
            except RuntimeWarning as warning:
                raise ValueError(str(warning)) from warning

        return run

    def index_item(self, extent):
        roll = self.rng.random()
        if roll < 0.25 and extent:
            i = self.rng.randrange(extent)
            return i, str(i)
        ends = [None, *range(-extent - 1, extent + 2)]
        item = slice(self.rng.choice(ends), self.rng.choice(ends), self.rng.choice([None, 1, 2, -1, -2, 3]))
        start, stop, step = item.indices(extent)
        return item, f"slice({start}, {len(range(start, stop, step))}, {step})"

    def slices(self):
        for _ in range(self.count):
            x = self.array(self.shape())
            index, text = [], []
            for extent in x.shape:
                if self.rng.random() < 0.1:
                    index.append(None)
                    text.append("None")
                item, item_text = self.index_item(extent)
                index.append(item)
                text.append(item_text)
            ellipsis = self.rng.random() < 0.2
            key = tuple(index) + ((Ellipsis,) if ellipsis else ())
            attrs = {"index": f"[{', '.join(text)}]" if text else None, "ellipsis": "true" if ellipsis else None}
            self.show("slice", [x], attrs, "[]", lambda: x[key])

    def factors(self, size):
        dims = []
        while size > 1 and self.rng.random() < 0.9:
            divisors = [d for d in range(1, size + 1) if size % d == 0]
            d = self.rng.choice(divisors)
            dims.append(d)
            size //= d
        return [*dims, size] if size != 1 or self.rng.random() < 0.2 else dims

    def views(self):
        for _ in range(self.count):
            x = self.array(self.shape())
            dims = self.factors(x.size) if x.size else [self.rng.choice([0, 2]), 0]
            if dims and self.rng.random() < 0.3:
                dims[self.rng.randrange(len(dims))] = -1
            if self.rng.random() < 0.05:
                dims = [*dims, 2]
            self.show("reshape", [x], {"dims": dims or None}, "ndarray.reshape", lambda: x.reshape(dims))
            axes = self.rng.sample(range(x.ndim), x.ndim)
            self.show("transpose", [x], {"axes": axes or None}, "np.transpose", lambda: x.transpose(axes))
            rank = x.ndim + self.rng.randint(1, 2)
            axes = self.rng.sample(range(rank), rank - x.ndim)
            self.show("expand_dims", [x], {"axes": axes}, "np.expand_dims", lambda: np.expand_dims(x, tuple(axes)))
            self.show("squeeze", [x], {"all_axes": "true"}, "np.squeeze", lambda: np.squeeze(x))
            if x.ndim:
                axis = self.rng.randrange(x.ndim)
                self.show("squeeze", [x], {"axes": [axis]}, "np.squeeze", lambda: np.squeeze(x, axis))
            target = [self.rng.choice([2, 3])] * self.rng.randint(0, 1)
            target += [self.rng.choice([2, 3, 1]) if e == 1 else e for e in x.shape]
            self.show(
                "broadcast_to", [x], {"dims": target or None}, "np.broadcast_to", lambda: np.broadcast_to(x, target)
            )

    def creations(self):
        for _ in range(self.count // 4):
            dims, dtype, order = list(self.shape()), self.rng.choice(DTYPES), self.rng.choice("CF")
            attrs = {"dims": dims or None, "dtype": SHORT[dtype], "order": order}
            self.show(
                "full", [self.rng.choice([1.5, 3, True])], attrs, "np.full", lambda: np.full(dims, 1, dtype, order)
            )
            self.show("empty", [], attrs, "np.empty", lambda: np.empty(dims, dtype, order))

    def products(self):
        for _ in range(self.count):
            n, k, m = (self.rng.choice([1, 2, 3, 4, 0]) for _ in range(3))
            batch = list(self.shape(2))
            a = [*[1 if self.rng.random() < 0.2 else b for b in batch], n, k][
                self.rng.choice([0, 0, len(batch) + 1, len(batch)]) :
            ]
            b = [*batch, k, m][self.rng.choice([0, 0, len(batch)]) :]
            if self.rng.random() < 0.3:
                b = [k]
            if self.rng.random() < 0.05:
                b[-1] += 1
            x, y = self.array(tuple(a)), self.array(tuple(b))
            self.show("matmul", [x, y], {}, "@", lambda: x @ y)
            self.show("dot", [x, y], {}, "np.dot", lambda: np.dot(x, y))

    def stores(self):
        for _ in range(self.count):
            shape = self.shape()
            x, y = self.array(shape), self.operand(shape)
            if isinstance(y, np.ndarray) and self.rng.random() < 0.2:
                y = y[None]
            if type(y) is float and x.dtype.kind in "iu":
                continue  # refused on purpose: see infer_create.cpp

            def assign():
                x[...] = y
                return x

            self.show("store", [x, y], {}, "=", assign)

    def in_place(self):
        """The two nodes of x += y, as one pseudo op: the operation, then the store."""
        for _ in range(self.count):
            shape = self.shape()
            x, y = self.array(shape), self.operand(shape)
            name = self.rng.choice(list(IN_PLACE))

            def update():
                result = IN_PLACE[name](x, y)
                assert result is x
                return x

            self.show(f"inplace_{name}", [x, y], {}, SYMBOLS[name] + "=", update)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    oracle = Oracle(arguments.seed, arguments.count, pathlib.Path(__file__).resolve().parent.parent)
    for kind in (
        "elementwise",
        "selection",
        "copies",
        "reductions",
        "slices",
        "views",
        "creations",
        "products",
        "stores",
        "in_place",
    ):
        getattr(oracle, kind)()


if __name__ == "__main__":
    main()
