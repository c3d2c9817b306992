"""The smallest program with something to diagnose: one branch that depends on array values.

suture check examples/seed.py
SUTURE_LOGS=graph_breaks,recompiles,output_code python examples/seed.py
"""

import numpy as np

import suture


@suture.compile
def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


def main():
    rng = np.random.default_rng(0)
    for size in (32, 48, 64):
        x = rng.standard_normal((size, size))
        result = f(x, 3.0)
        print(f"{size:3d}x{size}: mean {result.mean():.6f}, max {result.max():.6f}")


if __name__ == "__main__":
    main()
