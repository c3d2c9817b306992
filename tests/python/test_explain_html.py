"""_repr_html_ of an explanation: static, escaped, of bounded size, whatever a program is called or says."""

from __future__ import annotations

import functools
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import suture
from suture import _backends
from suture._explain_html import to_html

VOID_OF_CONTENT = "<div class='tex2jax_ignore mathjax_ignore'></div>"
# All there may be: tag -> attributes. None of them names anything outside or runs.
TAGS: dict[str, set[tuple[str, str | None]]] = {
    "div": {("class", "tex2jax_ignore mathjax_ignore")},
    "details": {("open", None)},
    "th": {("style", "text-align:left")},
    "td": {("style", "text-align:left")},
    **{tag: set() for tag in ("p", "b", "code", "pre", "summary", "table", "thead", "tbody", "tr", "ul", "li")},
}

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "</pre></td></table></details></div><img src=x onerror=alert(1)>",
    "\"'><b onmouseover='alert(1)' x=\"",
    "' style='position:fixed",
    "<!-- <![CDATA[ <?php --",
    "&lt;i&gt; &amp;amp; &#60;u&#62; &copy",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "first\nsecond\tthird",
    "größe 漢字 😀 \N{COMBINING ACUTE ACCENT}",
    "$x$ \\(y\\) {{7*7}} %s {0}",
]


class Reader(HTMLParser):
    """As a browser reads it: the text, and every tag checked."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "every tag is closed"
        self.text = "".join(self.texts)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS and set(attributes) <= TAGS[tag], f"<{tag} {attributes}>"
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"<{tag}/>")

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def refuse(self, data: str) -> None:
        raise AssertionError(f"neither tag nor text: {data}")

    handle_comment = handle_decl = handle_pi = unknown_decl = refuse


def branchy(x):
    y = np.sin(x) + 1
    suture.graph_break("said")
    if y.sum() > 0:
        y = y * 2
    return y


def overflowing(x):
    return np.exp(x) + 1


def generator(x):
    yield x + 1


@functools.cache
def full() -> dict[str, Any]:
    """A data with something in every list; what programs do not make at will is made from what they did."""
    compiled = suture.compile(branchy, dynamic=False)
    for size in range(2, 13):
        compiled(np.ones(size))
    data = suture.explain(compiled).to_dict()
    again = suture.compile(overflowing)
    with np.errstate(over="warn"), pytest.warns(RuntimeWarning):
        again(np.full(3, 1e4))
    replayed = suture.explain(again).to_dict()
    data |= {"replays": replayed["replays"], "kernels": replayed["kernels"]}
    data["skipped"] = suture.explain(generator)(np.ones(3)).to_dict()["skipped"]
    data["internal_errors"] = [{"function": "f", "step": "capture", "message": "m", "artifact": "a"}]
    assert all(
        data[key] for key in ("break_reasons", "skipped", "recompile_limits", "recompiles", "replays", "kernels")
    )
    return data


def with_strings(value: Any, text: str) -> Any:
    """Every string of it replaced."""
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [with_strings(item, text) for item in value]
    return {key: with_strings(item, text) for key, item in value.items()} if isinstance(value, dict) else value


def shown(text: str) -> str:
    return text.replace("\r", "\\x0d")  # a carriage return is made visible, newlines and tabs stay


def test_the_reader_of_this_test_refuses_what_must_not_be():
    for bad in ["<script>", "<b onclick='x'></b>", "<p>", "<!-- x -->", "<img src=x>", "<td style='x'></td>", "<br/>"]:
        with pytest.raises(AssertionError):
            Reader(f"<div>{bad}</div>")
    assert Reader(VOID_OF_CONTENT).text == ""


@pytest.mark.parametrize("text", [*HOSTILE, "before\rafter"], ids=range(len(HOSTILE) + 1))
def test_every_string_of_an_explanation_is_text(text):
    html = to_html(with_strings(full(), text))
    plain = to_html(with_strings(full(), "word"))
    read = Reader(html)
    assert read.text == Reader(plain).text.replace("word", shown(text)), "as it was written, at every place"
    assert html.count("<") == plain.count("<") and html.count(">") == plain.count(">"), "no tag more, no tag less"


def hostile_function(text):
    """A function that has the text wherever a program can put it."""

    def made(x, table):
        y = x + table[text]
        suture.graph_break(text)
        return y * 2

    code = made.__code__.replace(co_name=text, co_qualname=text, co_filename=text)
    made.__code__, made.__name__, made.__qualname__ = code, text, text
    return made


@pytest.mark.parametrize(
    "text",
    [
        *HOSTILE,
        "before\rafter",
        "a backslash at the end\\",
    ],
    ids=range(len(HOSTILE) + 2),
)
def test_names_files_messages_and_backends_of_a_program_are_text(text):
    suture.register_backend(text, _backends.eager)
    try:
        explanation = suture.explain(hostile_function(text), backend=text)(np.ones(3), {text: np.arange(3.0)})
    finally:
        del _backends._registered[text]
    assert (explanation.graph_count, explanation.graph_break_count) == (2, 1)
    data, read = explanation.to_dict(), Reader(explanation._repr_html_())
    assert data["function"] == data["file"] == data["backend"] == data["break_reasons"][0]["file"] == text
    assert text in data["break_reasons"][0]["explanation"]
    assert read.text.startswith(f"{shown(text)}: 2 graphs, 1 graph breaks, 2 ops, backend {shown(text)}")
    assert read.text.count(shown(text)) >= 6
    Reader(suture.explain(hostile_function(text))(np.ones(3), {text: np.arange(3.0)})._repr_html_())  # with kernels


def test_control_characters_are_visible_and_the_text_can_be_saved():
    html = to_html(with_strings(full(), "a\x00b\x1b[31mc\x7f\udc80d"))
    html.encode("utf-8")
    assert not set(html) & {"\x00", "\x1b", "\x7f"}
    assert r"a\x00b\x1b[31mc\x7f?d" in Reader(html).text


@pytest.mark.parametrize("unit", ["x", "<", "&", "漢", "\n"])
def test_very_long_texts_are_cut_and_say_so(unit):
    data = with_strings(full(), "begin" + unit * 300_000 + "end")
    html = to_html(data)
    text = Reader(html).text
    texts = sum(map(html.count, ("<td", "<code", "<li", "<summary", "<p>", "<pre")))
    assert len(text) < texts * 2_100 + html.count("<pre") * 201_000
    assert "characters left out" in text and "begin" in text and "end" in text
    assert len(data["function"]) > 300_000, "the data stay whole"


def test_very_long_tables_are_cut_and_say_so():
    data = full() | {"guards": full()["guards"] * 1_000}
    left_out = len(data["guards"]) - 1_000
    html = to_html(data)
    assert f"{left_out} more rows left out" in Reader(html).text
    assert html.count("<tr>") - to_html(full()).count("<tr>") == 1_000 - len(full()["guards"])


def test_a_very_long_name_of_a_real_function():
    name = "n" * 100_000
    explanation = suture.explain(hostile_function(name), backend="eager")(np.ones(3), {name: np.arange(3.0)})
    html = explanation._repr_html_()
    Reader(html)
    assert explanation.to_dict()["function"] == name
    assert "characters left out" in html and len(html) < 1_000_000


def test_every_section_has_its_place():
    text = Reader(to_html(full())).text
    titles = ["Internal errors", "Graph breaks", "Skipped functions", "Recompile limits", "Recompiles"]
    titles += ["Ran again under NumPy", "Kernels", "Graphs", "Guards", "Compile times"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)
    assert "branchy" in text and "(SB205)" in text and __file__ in text


def test_an_explanation_of_nothing_and_one_without_its_callable():
    assert Reader(suture.explain(lambda n: n)(3)._repr_html_()).text.count("0 graphs, 0 graph breaks, 0 ops") == 1
    assert Reader(suture.Explanation([], None)._repr_html_()).text == ": 0 graphs, 0 graph breaks, 0 ops"


WITHOUT_IPYTHON = """\
import sys
for name in ("IPython", "IPython.display", "rich", "matplotlib"):
    sys.modules[name] = None  # importing it raises ImportError
import numpy as np
import suture

def f(x):
    y = x + 1
    print(end="")
    return y < 2

explanation = suture.explain(f)(np.ones(3))
html = explanation._repr_html_()
assert html == explanation._repr_html_()
assert sys.modules["IPython"] is None
sys.stdout.write(html)
"""


def test_no_notebook_is_needed(run_python):
    done = run_python("-c", WITHOUT_IPYTHON)
    assert done.returncode == 0, done.stderr
    assert "2 graphs, 1 graph breaks, 2 ops" in Reader(done.stdout).text
