import numpy as np


def f(x):
    return x + 1


def arguments():
    return (np.linspace(0, 1, 200_000),)


def use(f, x):
    results = [f(x * i) for i in range(8)]
    return [result.sum() for result in results]


# Fix: Let go of each result before the next call.


def fixed(x):
    return x + 1


def fixed_use(fixed, x):
    return [fixed(x * i).sum() for i in range(8)]
