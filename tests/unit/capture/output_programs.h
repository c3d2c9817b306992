// Programs that the tests break everywhere: each defines `f` and `args()`, which makes fresh arguments.
#pragma once

namespace suture::testing {

inline constexpr const char* kPrograms[] = {
    // straight line, nested calls, keywords, methods, slices, f-strings
    R"(
def g(*a, **k): return sum(a) + sum(k.values())
def f(a, b, *rest, c=3, **kw):
    x = g(1, g(a, b), g(b, k=c, j=4))
    y = [x, a][-1:] + list(rest) + sorted(kw)
    s = f'{x!r:>4}-{y}'.upper().replace('-', '+')
    x, y = y, x
    d = {'a': x, **kw}
    d['z'] = g(*[1, 2], **{'q': 3})
    return s, x, y, d, a if b else c
def args(): return (1, 2, 5, 6)
)",
    // branches, boolean operators, comparison chains
    R"(
def f(a, b):
    if a < b < 10 and not (a == 3 or b == 4):
        r = 'x' if a else 'y'
    elif a:
        r = a or b
    else:
        r = None
    if r is None: r = 5
    return r, (a and b), (a or b), a if r is not None else b
def args(): return (0, 7)
)",
    // for with break, continue, else, nested loops, a local that is bound in the loop only
    R"(
def f(n):
    total = 0
    out = []
    for i in range(n):
        if i == 2: continue
        for j in range(i):
            total += i * j
            if total > 40: break
        else:
            out.append(('else', i))
        last = (i, total)
        if i == 9: break
    else:
        out.append('done')
    return total, out, last
def args(): return (8,)
)",
    R"(
def f(n):
    for i in range(n):
        if i > 100: last = i
        if i == n - 1: break
    return last
def args(): return (4,)
)",
    // a return with a value inside nested loops
    R"(
def f(rows):
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if value < 0:
                return r, c, [value] * 2
    return None
def args(): return ([[1, 2], [3, -4, 5]],)
)",
    // while, while True, while with continue and else
    R"(
def f(n):
    steps = []
    while n > 1:
        if n == 16:
            n = 8
            continue
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps.append(n)
    else:
        steps.append('end')
    while True:
        n += 1
        if n > 5: break
    return n, steps
def args(): return (12,)
)",
    // try, except, finally, with, raise
    R"(
class Log:
    def __init__(self): self.seen = []
    def __enter__(self): self.seen.append('in'); return self
    def __exit__(self, t, v, tb): self.seen.append(t.__name__ if t else 'out'); return t is KeyError
def f(d, log):
    r = []
    try:
        r.append(d['a'])
        r.append(d['b'])
    except KeyError as e:
        r.append(str(e))
    finally:
        r.append('finally')
    with log as l:
        r.append(len(l.seen))
        d['missing']
    try:
        with log:
            r.append(1 // d['zero'])
    except ZeroDivisionError:
        r.append('zero')
    else:
        r.append('no')
    return r, log.seen
def args(): return ({'a': 1, 'zero': 0}, Log())
)",
    R"(
def f(items):
    good = bad = 0
    for x in items:
        try:
            good += int(x)
        except ValueError:
            bad += 1
            if bad > 1: break
        finally:
            good += 100
    try:
        for x in items:
            int(x)
    except ValueError:
        return 'stopped', good, bad
    return good, bad
def args(): return (['1', '2', 'x', '3', 'y', '4'],)
)",
    // closures: cells read and written, functions made in the loop, free variables
    R"(
def outer():
    free = [10]
    count = 0
    def f(a, n):
        nonlocal count
        count = a
        b = a * 2
        def h(x): return x + a + b + free[0]
        fs = []
        for i in range(n):
            fs.append(h(i) + count)
        return fs, h(1)
    return f
f = outer()
def args(): return (3, 4)
)",
    // exceptions that leave: unbound locals, errors in the middle
    R"(
def f(flag):
    if flag: value = 1
    return value
def args(): return (False,)
)",
    R"(
def f(x):
    y = 0
    for i in x:
        y += 1 // i
    return y
def args(): return ([1, 1, 0],)
)",
    // del, global, import, unpacking, star, chained assignment, lambda defaults
    R"(
COUNT = 0
def f(t):
    global COUNT
    import math as m
    from os import path
    COUNT = len(t)
    a, (b, *c), d = t
    e = g = a + d
    del d
    h = lambda x, y=e: x * y
    c.append(h(3))
    return a, b, c, e, g, m.floor(2.5), path.join('a', 'b'), COUNT
def args(): return ((1, [2, 3, 4], 5),)
)",
    // match, walrus, set and dict displays, assert, comprehension calls
    R"(
def f(p):
    match p:
        case {'kind': 'a', 'n': n} if n > 3: r = n
        case [x, y]: r = x + y
        case _: r = 'other'
    if (k := len(p)) > 1: r = (r, k)
    assert r, 'empty'
    return r, {1, k}, [q * 2 for q in range(k)], {q: k for q in range(2)}
def args(): return ({'kind': 'a', 'n': 5},)
)",
    // code that nobody wrote for this test
    "from posixpath import normpath as f\ndef args(): return ('/a/./b/../c//d/../../e',)\n",
    "from shlex import split as f\ndef args(): return ('a \"b c\" d\\\\ e',)\n",
    "from statistics import quantiles as f\ndef args(): return ([4.0, 1.0, 3.0, 9.0, 2.0],)\n",
    "from textwrap import dedent as f\ndef args(): return ('    a\\n      b\\n\\n    c\\n',)\n",
    "from json.decoder import py_scanstring as f\ndef args(): return ('ab\\\\n\\\\u00e9c\" rest', 0)\n",
    "from difflib import get_close_matches as f\ndef args(): return ('appel', ['ape', 'apple', 'peach'])\n",
    "from calendar import TextCalendar\nf = TextCalendar.formatmonth\ndef args(): return (TextCalendar(), "
    "2024, 2)\n",
    "from ipaddress import summarize_address_range, ip_address\nf = lambda a, b: [str(n) for n in "
    "summarize_address_range(ip_address(a), ip_address(b))]\ndef args(): return ('10.0.0.1', '10.0.0.9')\n",
    "from fractions import Fraction\nf = Fraction.limit_denominator\ndef args(): return "
    "(Fraction(31415926, 10000000), 1000)\n",
    "from configparser import RawConfigParser\nf = RawConfigParser.read_dict\ndef args(): return "
    "(RawConfigParser(), {'s': {'a': 1, 'b': 2}, 't': {}})\n",
    "import random\nf = random.Random.sample\ndef args(): return (random.Random(3), range(30), 5)\n",
    "import pprint\nf = pprint.PrettyPrinter.pformat\ndef args(): return (pprint.PrettyPrinter(width=20), "
    "{'a': list(range(9)), 'b': 'x'})\n",
};

}  // namespace suture::testing
