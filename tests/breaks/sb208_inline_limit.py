import numpy as np

REASON, AT, FRAMES = "SB208", "chain(y)", 4


def chain(x, depth=20):
    def call(v):
        return v + 1

    for _ in range(depth):
        inner = call

        def call(v, inner=inner):
            return inner(v) * 0.5

    return call(x)


def arguments():
    return (np.ones(3),)


def f(x):
    y = x * 2
    z = chain(y)
    return z - 1
