"""Texts that are safe for HTML, beside Jinja2's: with origins they stay safe, so what is joined to them is escaped."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest
from amounts import part_of
from marks import UNWARNED
from parts.small_tokenizers import small_tokenizer

pytest.importorskip("jinja2")

import jinja2
from promptpress import ChatTemplate
from promptpress._jinja.reference import Reference
from promptpress._jinja.traced_values import Origin, traced

pytestmark = UNWARNED

ORIGINS = {"X": Origin("field", "x"), "Y": Origin("field", "y")}
VALUES = {"x": "X<X'", "y": ' Y&"Y ', "n": 2}
"""Values of the row. Their letters occur in no escape, so a letter says which origin it has to have."""
FILTERS = (
    *("safe", "e", "forceescape", "string", "upper", "trim", "tojson", "replace('K', y)", "replace('X', '<')"),
    *("default(y)", "indent(1, true)", "indent('<', true)", "center(9)", "truncate(3, true, '<')", "list", "first"),
    *("format(x)", "join(x)", "urlize", "striptags", "wordwrap(2)", "title", "reverse", "length", "pprint"),
)
METHODS = (
    *("upper()", "strip()", "split('<')", "split()", "rsplit('<', 1)", "join([x, y])", "join(y)", "format(x, y)"),
    *("replace('K', y)", "partition('<')", "rpartition(x)", "splitlines()", "center(9, '<')", "ljust(9)", "title()"),
    *("removeprefix('K')", "removesuffix(x)", "zfill(9)", "lower()", "swapcase()", "striptags()", "unescape()"),
    *("find(x)", "startswith(x)", "escape(y)", "format_map({'x': x})", "expandtabs(tabsize=2)", "capitalize()"),
)
LEAVES = ("x", "y", "n", "'K<'", "'K%s'", "'{}K'", "'<K>'|safe", "x|safe", "y|e", "'K%s<'|safe")
FORMS = (
    LEAVES,
    [f"(#)|{name}" for name in FILTERS],
    [f"(#).{call}" for call in METHODS],
    [f"(#)[{item}]" for item in ("1:", ":2", "0", "::-1", "-1:")],
    ["(# + #)", "(# ~ #)", "(# * 2)", "(# % #)", "(# % (#, 1))", "([#, #]|join)", "([#, #]|join(#))", "[#, #]"],
)
"""Expressions; each # stands for one more."""
BODIES = (
    "{{ # }}",
    "{{ (#) ~ '<' }}",
    "{% set z = # %}{{ z }}{{ z ~ '<' }}",
    "{% set z %}K<{{ # }}{% endset %}{{ z ~ '<' }}",
    "{% filter upper %}{{ # }}<{% endfilter %}",
    "{% macro m(a) %}<{{ a }}{% endmacro %}{{ m(#) ~ '<' }}{{ m }}",
    "{% macro m(a) %}<{{ a }}{{ caller() }}{% endmacro %}{% call m(#) %}{{ # }}{% endcall %}",
    "{% block b %}<{{ # }}{% endblock %}{{ self.b() ~ '<' }}",
    "{% for c in [#] %}{{ c ~ loop.cycle(x, 'K') }}{% endfor %}",
    "{% autoescape true %}{{ # }}<{% endautoescape %}",
    "{% autoescape false %}{{ # }}<{% endautoescape %}",
    "{% autoescape n > 1 %}{{ (#) ~ '<' }}{% set z %}{{ x }}{% endset %}{{z}}{% endautoescape %}",
)
"""Templates; each # stands for one expression."""


def template(rng: random.Random) -> str:
    """Return a small template about safe texts."""

    def value(depth: int) -> str:
        form = rng.choice(rng.choice(FORMS if depth < 3 else FORMS[:1]))
        return re.sub("#", lambda _: value(depth + 1), form)

    return rng.choice(BODIES).replace("#", value(0))


def origin_errors(parts: list[tuple[str, Origin | None]]) -> list[Any]:
    """Letters that don't have the origin of their value, or none."""
    out: list[Any] = []
    for text, origin in parts:
        for letter, wanted in ORIGINS.items():
            if letter in text.upper() and origin != wanted and (origin is None or origin.source != "computed"):
                out.append((text, origin))
    return out


@pytest.mark.parametrize("is_escaped", [False, True])
def test_generated_templates(is_escaped: bool) -> None:
    rng = random.Random(str(is_escaped))
    environment = jinja2.Environment(autoescape=is_escaped)
    names = {name: traced(value, Origin("field", name)) for name, value in VALUES.items()}
    compared = 0
    for _ in range(part_of(400)):
        source = template(rng)
        try:
            wanted = environment.from_string(source).render(VALUES)
        except Exception:
            continue
        if " at 0x" in wanted.lower():
            continue  # of an object, and different each time
        reference = Reference(source, "jinja2", options={"autoescape": is_escaped})
        assert reference.render(VALUES) == wanted, source
        parts = reference.parts(names)
        assert "".join(part for part, _ in parts) == wanted, source
        assert not origin_errors(parts), (source, parts)
        compared += 1
    assert compared > part_of(400) / 3


CONTENTS = [f"c{number}<|im_end|>" for number in range(6)]
TABLE = pa.table({"messages": [[{"role": "assistant", "content": content}] for content in CONTENTS]})
GIVEN = "g<|im_end|>'"
JOINED = (
    *("'a'|safe + given", "given + 'a'|safe", "'a'|safe + given + 'b'"),
    *("given|safe", "given|e", "given|forceescape", "given|urlize", "given[:1]|safe", "(given|e)|upper"),
    *("(given|e) * 2", "('a'|safe).join([given])", "('a'|safe).replace('a', given)", "('{}'|safe).format(given)"),
)


@pytest.mark.parametrize("joined", [*JOINED, *(text.replace("given", "messages[0].content") for text in JOINED)])
def test_what_is_joined_to_a_safe_text_is_escaped(joined: str) -> None:
    source = "<|im_start|>{{ (" + joined + ") + '<' }}<|im_end|>{{ messages[0].content }}"
    wanted = [
        jinja2.Template(source).render(given=GIVEN, messages=messages) for messages in TABLE["messages"].to_pylist()
    ]
    chat = ChatTemplate(source, given=GIVEN)
    rendered = chat.render(TABLE, spans="detailed")
    assert rendered["prompt"].to_pylist() == wanted
    for spans, prompt in zip(rendered["spans"].to_pylist(), wanted, strict=True):
        start = prompt.encode().rindex(b"<|im_end|>")  # that of the message
        sources = {span["source"] for span in spans if span["end"] <= start and span["end"] > len("<|im_start|>")}
        assert sources <= {"template", "argument", "field"}
        assert spans[-1]["source"] == "field"
    tokenizer = small_tokenizer()
    mask: Any = "assistant" if "given" in joined else None  # of a changed content no mask is made
    tokens = chat.tokenize(TABLE, tokenizer, control_tokens="text", mask=mask).to_pylist()
    for row, prompt in zip(tokens, wanted, strict=True):
        assert tokenizer.decode(row["input_ids"], skip_special_tokens=False) == prompt
        assert row["input_ids"].count(tokenizer.token_to_id("<|im_end|>")) == 1
