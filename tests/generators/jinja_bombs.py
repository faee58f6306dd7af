"""Templates that grow without bound while they are compiled: `s` is a text of the row, `words` a list of texts."""

from __future__ import annotations


def _repeated(change: str, start: str = "s", output: str = "{{ ns.x|string|length }}", times: int = 40) -> str:
    """A namespace's `x` that a loop changes again and again."""
    loop = f"{{% for i in range({times}) %}}{change}{{% endfor %}}"
    return f"{{% set ns = namespace(x={start}) %}}{loop}{output}"


def _doubled(value: str, start: str = "s", output: str = "{{ ns.x|string|length }}", times: int = 40) -> str:
    return _repeated(f"{{% set ns.x = {value} %}}", start, output, times)


TEXTS = {
    "tilde": _doubled("ns.x ~ ns.x"),
    "tilde written": _doubled("ns.x ~ ns.x", output="{{ ns.x }}"),
    "tilde of constants": _doubled("ns.x ~ ns.x", "'ab'", "{{ s }}{{ ns.x }}", 60),
    "tilde in another order": _doubled("'<' ~ ns.x ~ '|' ~ ns.x ~ '>'"),
    "plus": _doubled("ns.x + ns.x"),
    "times a constant": _doubled("ns.x * 3"),
    "times a billion": "{{ s * 1000000000 }}",
    "join": _doubled("[ns.x, ns.x]|join"),
    "join by itself": _doubled("ns.x.join([ns.x, ns.x, ns.x])"),
    "join by a long text": "{{ ('a' * 1000000).join([s] * 1000) }}",
    "join of constants": "{{ s }}{{ ('a' * 1000000).join(['b'] * 100000)|length }}",
    "replace": _doubled("ns.x.replace('a', 'aa')"),
    "replace by itself": _doubled("ns.x|replace('a', ns.x)"),
    "replace nothing": _doubled("ns.x|replace('', 'ab')"),
    "set block": _repeated("{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}"),
    "filter block": _repeated("{% set y %}{% filter upper %}{{ ns.x }}{{ ns.x }}{% endfilter %}{% endset %}"
                              "{% set ns.x = y %}"),
    "sharp s": _doubled("(ns.x ~ 'ß')|upper ~ ns.x|upper", "s ~ 'ßßß'"),
    "percent": _doubled("'%s%s' % (ns.x, ns.x)"),
    "percent of a dict": _doubled("'%(a)s%(a)s' % {'a': ns.x}"),
    "format": _doubled("'{0}{0}'.format(ns.x)"),
    "condition": _repeated("{% if s %}{% set ns.x = ns.x ~ ns.x %}{% else %}{% set ns.x = ns.x ~ '-' %}{% endif %}"),
    "conditions": _repeated("{% if s ~ i %}{% set ns.x = ns.x ~ ns.x %}{% elif s == i|string %}"
                            "{% set ns.x = 'a' ~ ns.x %}{% else %}{% set ns.x = ns.x ~ '-' %}{% endif %}"),
    "inline if": _doubled("(ns.x ~ ns.x) if s ~ i == 'ab' else (ns.x ~ i ~ ns.x)"),
    "and, or": _doubled("(ns.x and ns.x ~ ns.x) or ns.x ~ '-'"),
    "output in a loop": "{% for i in range(100000) %}{{ s * 1000 }}{% endfor %}",
    "literals": "{% for i in range(1000) %}{{ 'a' * 1000000 }}{% endfor %}{{ s }}",
    "constants joined": "{{ 'a'.join(['b' * 10**6] * 10**4) }}{{ s }}",
    "constants in a tuple": "{{ (('b' * 10**6,) * 10**4)|join }}{{ s }}",
    "constants one behind the other": "{{ " + " ~ ".join(["'b' * 10**6"] * 2000) + " ~ s }}",
    "constants compared": "{{ s in ['b' * 10**6] * 10**4 }}",
    "constants within constants": "{{ [[['b' * 1000] * 1000] * 1000] * 1000 == s }}",
    "large numbers": "{{ s ~ (7 ** 10**5) % 10 }}{{ s ~ 9 ** 9 ** 9 }}",
    "literals in conditions": "{% for i in range(300) %}{% if s ~ i %}{{ 'a' * 300000 }}{% endif %}{% endfor %}",
}  # fmt: skip
WIDTHS = {
    "json indent": "{{ [s]|tojson(indent=1000000000) }}",
    "json indent of nothing": "{{ s }}{{ [1, 2]|tojson(indent=1000000000) }}",
    "percent width": "{{ '%999999999d' % 5 }}{{ s }}",
    "percent width of the row": "{{ '%999999999s' % s }}",
    "percent star": "{{ '%*d' % (999999999, 5) }}{{ s }}",
    "percent precision": "{{ '%.999999999f' % 1.5 }}{{ s }}",
    "format width": "{{ '{:>9999999999}'.format(s) }}",
    "format filter": "{{ '%999999999s'|format(s) }}",
    "center": "{{ s|center(999999999) }}",
    "ljust": "{{ s.ljust(9999999999) }}",
    "zfill": "{{ s.zfill(9999999999) }}",
    "indent": "{{ (s ~ '\n' ~ s)|indent(999999999, true) }}",
    "expandtabs": "{{ (s ~ '\t').expandtabs(999999999) }}",
    "wordwrap": "{{ ((s ~ ' ') * 5000000)|wordwrap(1, wrapstring='x' * 1000) }}",
    "round": "{{ (1.5)|round(1000000000) }}{{ s }}",
    "round of the row": "{{ (s|length)|round(1000000000) }}",
    "bytes": "{{ (5).to_bytes(10000000000, 'big') }}{{ s }}",
    "power": "{{ 10 ** 1000000000 }}{{ s }}",
    "power of the row": "{{ 10 ** (s|length * 1000000000) }}",
    "product": _doubled("ns.x * ns.x", "3", "{{ ns.x % 7 }}{{ s }}", 100),
    "product of the row": _doubled("ns.x * ns.x", "s|length + 1", "{{ ns.x }}", 100),
    "urlize": "{{ ('(' * 300000 ~ ')' * 300000 ~ s)|urlize }}",
    "xmlattr": _doubled("{'a': ns.x ~ ns.x}|xmlattr"),
    "lipsum": "{{ lipsum(n=1000000000)|length }}{{ s }}",
}
LISTS = {
    "nested lists": _doubled("[ns.x, ns.x]", "[1]", "{{ ns.x }}{{ s }}"),
    "nested lists of the row": _doubled("[ns.x, ns.x]", "[s]", "{{ ns.x }}"),
    "nested lists, compared": _doubled("[ns.x, ns.x]", "[s]", "{{ ns.x == [ns.x] }}{{ ns.x == ns.x }}"),
    "nested lists, searched": _doubled("[ns.x, ns.x]", "[s]", "{{ s in ns.x }}{{ ns.x in [ns.x] }}"),
    "nested lists as JSON": _doubled("[ns.x, ns.x]", "[s]", "{{ ns.x|tojson }}"),
    "nested lists through a filter": _doubled("[ns.x, ns.x]", "[s]", "{{ ns.x|upper }}"),
    "nested lists, joined": _doubled("[ns.x, ns.x]", "[s]", "{{ ns.x|join(', ') }}"),
    "nested tuples as keys": _doubled("(ns.x, ns.x)", "(1,)", "{{ {ns.x: 1} }}{{ s }}"),
    "nested tuples as items": _doubled("(ns.x, ns.x)", "(1,)", "{{ {}[ns.x] }}{{ s }}"),
    "nested dicts": _doubled("{'a': ns.x, 'b': ns.x}", "{'c': s}", "{{ ns.x }}"),
    "nested dicts of constants": _doubled("{'a': ns.x, 'b': ns.x}", "{'c': 1}", "{{ s ~ ns.x }}"),
    "added lists": _doubled("ns.x + ns.x", "[s]"),
    "added words": _doubled("ns.x + ns.x", "words"),
    "lists by conditions": _repeated("{% if s ~ i %}{% set ns.x = ns.x + [i] %}{% endif %}", "[]", "{{ ns.x }}"),
    "lists by conditions, in a loop": _repeated("{% if s ~ i %}{% set ns.x = ns.x + [s] %}{% endif %}", "[]",
                                                "{% for a in ns.x %}{% for b in ns.x %}{{ a }}{{ b }}{% endfor %}"
                                                "{% endfor %}"),
    "dicts by conditions": _repeated("{% if s ~ i %}{% set ns.x = {'a': ns.x} %}{% endif %}", "{}", "{{ ns.x }}"),
    "times": "{{ [s] * 10000000000 }}",
    "batch": "{{ [s]|batch(1000000000, 'x')|list|length }}",
    "slice": "{{ [s]|slice(1000000000, 'x')|list|length }}",
    "slices of a range": "{% set l = range(1000000)|list %}{% for i in range(20000) %}{% set x = l[1:] %}{% endfor %}"
                         "{{ s }}",
    "constant list in a loop": "{% set l = range(1000000)|list %}{% for i in range(20000) %}{{ s in l }}{% endfor %}",
    "sort": "{{ (range(1000000)|list * 3)|sort|length }}{{ s }}",
    "sort of the row": "{{ (words * 1000000)|sort|length }}",
    "groupby": "{{ (range(1000000)|list)|groupby('real')|length }}{{ s }}",
    "sum": "{{ ([[1] * 1000] * 10000)|sum(start=[])|length }}{{ s }}",
    "cycler": "{% set c = cycler(*range(1000000)) %}{% for i in range(100000) %}{{ c.next() }}{{ s }}{% endfor %}",
    "joiner": "{% set j = joiner('x' * 1000000) %}{% for i in range(1000) %}{{ j() }}{{ s }}{% endfor %}",
    "range": "{% for i in range(1000000) %}{% for j in range(1000000) %}{{ s }}{% endfor %}{% endfor %}",
    "range by conditions": _repeated("{% if s ~ i %}{% set ns.x = ns.x + 1 %}{% endif %}", "0",
                                     "{% for i in range(ns.x) %}{{ s }}{% endfor %}"),
    "unpacked": "{% macro f() %}{{ varargs|length }}{% endmacro %}{% for i in range(1000) %}{{ f(*range(100000)) }}"
                "{% endfor %}{{ s }}",
}  # fmt: skip
CALLS = {
    "macro that doubles": "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f(s) }}",
    "macro": "{% macro f() %}{{ s }}{{ f() }}{% endmacro %}{{ f() }}",
    "macro that calls twice": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{{ s }}{% endmacro %}"
                              "{{ f(30) }}",
    "macro in a condition": "{% macro f(x) %}{% if x %}{{ f(x ~ 'a') }}{% endif %}{% endmacro %}{{ f(s) }}",
    "macros that call each other": "{% macro f(x) %}{{ g(x) }}{{ g(x) }}{% endmacro %}"
                                   "{% macro g(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(s) }}",
    "macro through itself": "{% macro f(x) %}{{ x }}{{ x }}{% endmacro %}" + _doubled("f(ns.x)"),
    "call block": "{% macro f(n) %}{{ n }}{{ caller() }}{% endmacro %}{% macro g(n) %}{% call f(n) %}"
                  "{% if n %}{{ g(n - 1) }}{{ g(n - 1) }}{% endif %}{% endcall %}{% endmacro %}{{ g(30) }}{{ s }}",
    "recursive loop": "{% for i in [1, 2] recursive %}{{ s }}{{ loop([1, 2]) }}{% endfor %}",
    "blocks": "{% block a %}{{ s }}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "conditions in conditions": "{% if s %}" * 60 + "{{ s }}" + "{% else %}{{ s }}{% endif %}" * 60,
    "conditions, one after the other": "{% if s ~ 1 %}a{{ s }}{% else %}b{% endif %}" * 2000,
    "macro over conditions": "{% macro f(x) %}{% if x %}{{ x }}{% else %}{{ x }}-{% endif %}{% endmacro %}"
                             + _doubled("f(ns.x)", output="{{ ns.x }}"),
    "namespaces": "{% for i in range(20000) %}{% set n = namespace(x=s) %}{% if s ~ i %}{% set n.x = s ~ i %}"
                  "{% endif %}{{ n.x }}{% endfor %}",
}  # fmt: skip
BOMBS = {**TEXTS, **WIDTHS, **LISTS, **CALLS}
