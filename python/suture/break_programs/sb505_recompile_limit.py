import numpy as np

REASON, AT, FRAMES, CALLS = "SB505", "", 8, 10
FIXED_FRAMES = 2
sizes = iter(range(40))


def arguments():
    # Another number of dimensions at every second call (each argument tuple is made twice per call).
    return (np.ones((2,) * (1 + next(sizes) // 2)),)


def f(x):
    return x * 2 + 1


# Fix: give the function arrays of one rank; a size that varies becomes a symbol.


def fixed(x):
    return x * 2 + 1


def caller(fixed, x):
    return fixed(x.reshape(-1)).reshape(x.shape)
