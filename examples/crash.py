"""A program that dies in a kernel. The kernel is that of a backend which fails on purpose, as told by its name.

python examples/crash.py
suture minify --last
"""

import numpy as np

import suture


@suture.compile(backend="faulty:op=sqrt,kind=segfault")
def norms(x):
    centred = x - x.mean(axis=0)
    return np.sqrt((centred * centred).sum(axis=1)) + 1


def main():
    x = np.random.default_rng(0).standard_normal((100, 3))
    print(f"mean {norms(x).mean():.6f}")


if __name__ == "__main__":
    main()
