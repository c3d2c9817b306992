import numpy as np

REASON, AT, FRAMES = "SB301", "x * 2", 1


def arguments():
    return (np.array([1 + 2j, 3j]), np.ones(2))


def f(x, w):
    v = w + 1
    y = x * 2
    return y, v


# Fix: compute with the real and the imaginary part, which are float64.


def fixed(real, imaginary, w):
    return real * 2, imaginary * 2, w + 1


def caller(fixed, x, w):
    real, imaginary, v = fixed(x.real, x.imag, w)
    return real + 1j * imaginary, v
