import numpy as np


def f(x):
    x *= 2
    x += 1


def arguments():
    return (np.linspace(0, 1, 100_000),)


def use(f, x):
    f(x)
    return x


# Fix: Return a new array, and assign it where the function is called.


def fixed(x):
    return x * 2 + 1


def fixed_use(fixed, x):
    x = fixed(x)
    return x
