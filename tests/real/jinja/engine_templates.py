# ruff: noqa: E501
"""Templates of our own, by what they try; each is rendered by the real engine and by ours, for each of the rows."""

from __future__ import annotations

from typing import Any

ROWS: list[dict[str, Any]] = [
    {"x": "Some text", "y": "b", "n": 3, "l": ["a", "b", "c"], "d": {"k": "v", "items": 1}, "f": 1.5, "none": None},
    {"x": "  \x1c padded\u00a0\n", "y": "", "n": -7, "l": [], "d": {}, "f": float("nan"), "none": None},
    {"x": "<b>&amp; 'quoted' \"twice\"</b>", "y": "<", "n": 0, "l": ["<", 1, None, 2.5], "d": {"a": {"b": [1, 2]}}, "f": 1e22},
    {"x": "İstanbul ǅ ﬁ ß 😀 {x} %s", "y": "%", "n": 10**20, "l": [[1], [2, 3]], "d": {"1": 1, "_p": 2}, "f": -0.0},
    {"x": 12, "y": ["z"], "n": "7", "l": "letters", "d": [["k", 1]], "f": True},
]  # fmt: skip

TEMPLATES = {
    "plain": ["", "text", "text\n", "text\n\n", "a\r\nb\rc\n", "{{ x }}", "{{ x }}{{ y }}\n", "{# no #}{{ x }}"],
    "attributes": [
        *(
            "{{ d.k }}",
            "{{ d['k'] }}",
            "{{ d.items }}",
            "{{ d['items'] }}",
            "{{ d.a.b }}",
            "{{ d.a.b[0] }}",
            "{{ x.0 }}",
        ),
        *("{{ l.0 }}", "{{ l[-1] }}", "{{ l[5] }}", "{{ l[1:] }}", "{{ x[::-1] }}", "{{ none.a }}", "{{ missing.a }}"),
        *(
            "{{ d._p }}",
            "{{ d['_p'] }}",
            "{{ l['a'] }}",
            "{{ l[1.0] }}",
            "{{ l[true] }}",
            "{{ d[x] }}",
            "{{ x.upper }}",
        ),
    ],
    "undefined": [
        *("{{ missing }}", "{{ [missing] }}", "{{ missing ~ 'a' }}", "{{ missing + 'a' }}", "{{ missing == 1 }}"),
        *("{{ missing|default('d') }}", "{{ missing.a|default('d') }}", "{{ 'a' if missing }}", "{{ 'a' if false }}"),
        *("{% for i in missing %}a{% else %}b{% endfor %}", "{{ missing is defined }}", "{{ missing|length }}"),
        *("{{ missing is none }}", "{{ not missing }}", "{{ x in missing }}", "{{ none|default('d', true) }}"),
    ],
    "methods": [
        *("{{ x.strip() }}", "{{ x.split() }}", "{{ x.split(y) }}", "{{ x.replace('e', 'EE') }}", "{{ x.title() }}"),
        *(
            "{{ x.startswith(y) }}",
            "{{ l.index('b') }}",
            "{{ ', '.join(l) }}",
            "{{ x.find(y) }}",
            "{{ x.center(20, '*') }}",
        ),
        *(
            "{{ x.encode() }}",
            "{{ x.zfill(20) }}",
            "{{ d.get('k', 'none') }}",
            "{{ d.keys()|list }}",
            "{{ x.rsplit('t', 1) }}",
        ),
        *(
            "{{ x.expandtabs(2) }}",
            "{{ x.nothing() }}",
            "{{ x.strip(1) }}",
            "{{ x.rfind('t') }}",
            "{{ x.strip(' <') }}",
        ),
        *("{{ x.partition('e') }}", "{{ x.translate({101: 'E'}) }}", "{{ x.join(l) }}", "{{ x.upper().lower() }}"),
    ],
    "formats": [
        *("{{ '%s|%5s|%-5d|%05.1f' % (x, y, n, f) }}", "{{ '%s' % x }}", "{{ '%(k)s' % d }}", "{{ '%d' % x }}"),
        *("{{ '{}|{:>5}|{n}'.format(x, y, n=n) }}", "{{ '{0}{1}{0}'.format(x, y) }}", "{{ '{:{}}'.format(x, 20) }}"),
        *("{{ '{}'.format() }}", "{{ '{k}'.format_map(d) }}", "{{ '{0[k]}'.format(d) }}", "{{ '{0.real}'.format(n) }}"),
        *("{{ '{'.format(x) }}", "{{ '{:q}'.format(n) }}", "{{ '%s %s'|format(x, y) }}", "{{ '%*d' % (5, n) }}"),
        *("{{ '{0.nothing}'.format(n) }}", "{{ '{!r:>30}'.format(x) }}", "{{ '%%' % () }}", "{{ '%y' % x }}"),
    ],
    "arithmetic": [
        *("{{ n + 1 }}", "{{ n - 1 }}", "{{ n * 2 }}", "{{ n / 2 }}", "{{ n // 2 }}", "{{ n % 3 }}", "{{ n ** 2 }}"),
        *(
            "{{ 2 ** 70 }}",
            "{{ x * 2 }}",
            "{{ l * 2 }}",
            "{{ x + y }}",
            "{{ l + l }}",
            "{{ x + n }}",
            "{{ -n }}",
            "{{ n / 0 }}",
        ),
        *("{{ 1 + 2 * 3 }}", "{{ 'a' + 'b' }}", "{{ 2 ** 3 ** 2 }}", "{{ -2 ** 2 }}", "{{ f * 2 }}", "{{ l - l }}"),
        *("{{ n * x }}", "{{ true + true }}", "{{ x ~ n ~ l }}", "{{ 10 ** 300 }}", "{{ f // 1 }}", "{{ +n }}"),
    ],
    "comparisons": [
        *(
            "{{ n > 1 }}",
            "{{ 1 < n < 5 }}",
            "{{ x == y }}",
            "{{ y in x }}",
            "{{ x in l }}",
            "{{ l == [] }}",
            "{{ x > y }}",
        ),
        *("{{ x in d }}", "{{ 'k' in d }}", "{{ n in range(5) }}", "{{ f == f }}", "{{ [f] == [f] }}", "{{ not x }}"),
        *("{{ x is string }}", "{{ n is number }}", "{{ d is mapping }}", "{{ l is iterable }}", "{{ n is odd }}"),
        *("{{ n is divisibleby 3 }}", "{{ x is in l }}", "{{ x is eq y }}", "{{ none is none }}", "{{ x is upper }}"),
        *("{{ x == y == x }}", "{{ n != 3 or y }}", "{{ n and y }}", "{{ x not in l }}", "{{ d == {'k': 'v'} }}"),
    ],
    "filters": [
        *(f"{{{{ x|{name} }}}}" for name in ("upper", "lower", "title", "capitalize", "trim", "e", "string", "length")),
        *(f"{{{{ x|{name} }}}}" for name in ("list", "first", "last", "reverse|list", "wordcount", "striptags", "int")),
        *(f"{{{{ x|{name} }}}}" for name in ("float", "urlencode", "urlize", "truncate(5)", "center(30)", "pprint")),
        *(f"{{{{ x|{name} }}}}" for name in ("wordwrap(5)", "indent", "indent(2, true)", "safe ~ '<'", "forceescape")),
        *(
            f"{{{{ l|{name} }}}}"
            for name in ("join", "join(', ')", "sort", "unique|list", "sum", "max", "min", "first")
        ),
        *(
            f"{{{{ l|{name} }}}}"
            for name in ("map('upper')|list", "select|list", "reject('none')|list", "batch(2)|list")
        ),
        *(f"{{{{ l|{name} }}}}" for name in ("slice(2)|list", "tojson", "length", "list|tojson", "join('-')|upper")),
        *(
            f"{{{{ d|{name} }}}}"
            for name in ("items|list", "dictsort", "tojson", "tojson(indent=2)", "list", "xmlattr")
        ),
        *(f"{{{{ n|{name} }}}}" for name in ("abs", "round", "filesizeformat", "string", "int", "float", "tojson")),
        *("{{ x|replace('e', 'EE') }}", "{{ x|replace('e', 'E', 1) }}", "{{ f|round(1) }}", "{{ f|round(0, 'ceil') }}"),
        *(
            "{{ [{'a': x}, {'a': y}]|map(attribute='a')|join('|') }}",
            "{{ [d]|join(attribute='k') }}",
            "{{ d|attr('get') }}",
        ),
        *(
            "{{ [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}]|groupby('a')|list }}",
            "{{ l|sum(start=10) }}",
            "{{ [[1], [2]]|sum(start=[]) }}",
        ),
        *(
            "{{ x|nothing }}",
            "{% if false %}{{ x|nothing }}{% endif %}",
            "{{ x|join('-', 'a', 'b') }}",
            "{{ x|center }}",
        ),
        *("{{ range(3)|map('string')|join(',') }}", "{% filter upper %}{{ x }}{% endfilter %}", "{{ x|default }}"),
        *("{{ x|tojson }}", "{{ f|tojson }}", "{{ [x, y, none, true]|tojson }}", "{{ x|int(default=5, base=16) }}"),
    ],
    "loops": [
        "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ i }}{% endfor %}",
        "{% for i in l %}{{ loop.length }}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}",
        "{% for i in l if i %}{{ loop.index }}/{{ loop.length }}{% else %}none{% endfor %}",
        "{% for i in range(3) if i % 2 %}{{ i }}{% endfor %}",
        "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
        "{% for i in [1, [2, [3]]] recursive %}{% if i is iterable %}<{{ loop(i) }}>{% else %}{{ i }}{% endif %}{% endfor %}",
        "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.depth }}{% endfor %}",
        "{% for i in l %}{{ loop.changed(i) }}{% endfor %}",
        "{% for i in x %}{{ i }}.{% endfor %}",
        "{% for i in l|reverse %}{{ i }}{{ loop.revindex0 }}{% endfor %}",
        "{% for i in n %}a{% endfor %}",
        "{% for a, b in l %}{{ a }}{% endfor %}",
        "{% set ns = namespace(c=0) %}{% for i in l %}{% set ns.c = ns.c + 1 %}{% endfor %}{{ ns.c }}",
        "{% set c = 0 %}{% for i in l %}{% set c = c + 1 %}{% endfor %}{{ c }}",
        "{% for i in range(20000) %}{{ i }}{% endfor %}",
        "{% for i in l %}\n  {{ i }}\n{% endfor %}\n",
        "{% for i in l -%} {{ i }} {%- endfor %}",
        "{{ range(5) }}",
    ],
    "macros": [
        "{% macro m(a, b='B') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(x) }}{{ m(x, y, 1, k=2) }}",
        "{% macro m(a) %}{{ a }}{{ caller(y) }}{% endmacro %}{% call(z) m(x) %}[{{ z }}]{% endcall %}",
        "{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}{{ m(1, 2) }}",
        "{% macro m() %}{{ m.name }}{{ m.arguments }}{% endmacro %}{{ m() ~ x }}",
        "{% block b %}{{ x }}{% endblock %}{{ self.b() }}",
        "{% set v %}{{ x }}!{% endset %}{{ v|upper }}",
        "{% with a = x %}{{ a }}{% endwith %}{{ a }}",
        "{% set a, b = x, y %}{{ a }}{{ b }}",
        "{% autoescape true %}{{ x }}{{ x|safe }}{{ x ~ y }}{{ '<' + x }}{% endautoescape %}",
        "{{ cycler('a', 'b').next() }}{{ joiner(',')() }}{{ dict(a=x) }}{{ namespace(a=1).a }}",
        "{{ dict.fromkeys('ab', 1) }}",
        "{% include 'other' %}",
        "{% raw %}{{ x }}{% endraw %}",
        "{% if x %}\n  a\n{% elif y %}\n  b\n{% else %}\n  c\n{% endif %}\n",
        "  {% if x %}a{% endif %}\n  {% set z = 1 %}\nb",
    ],
    "refused": [
        *(
            "{% if %}",
            "{{ x",
            "{% endfor %}",
            "{{ x|nothing }}",
            "{{ x is nothing }}",
            "{% nothing %}",
            "{{ 1 + }}",
            "{{ }}",
        ),
        *("{% for i in l %}", "{{ x }}}}", "{% set 1 = 2 %}", "{% macro m(a, a) %}{% endmacro %}", "{{ loop.index }}"),
        *("{% break %}", "{% for i in l %}{% break %}{% endfor %}", "{% generation %}a{% break %}{% endgeneration %}"),
        "{% for i in l %}\n{% macro m() %}{% break %}{% endmacro %}\n{% endfor %}",
    ],
}

TRANSFORMERS = [
    "{% generation %}{{ x }}{% set z = 1 %}{% endgeneration %}{{ z }}",
    "{% for i in l %}{% if loop.first %}{% continue %}{% endif %}{{ i }}{% break %}{% endfor %}",
    "{{ raise_exception('no ' ~ y) }}",
    "{{ strftime_now('%d %b %Y %H:%M') }}",
    "{{ strftime_now(format='%Y') }}",
    "{{ d|tojson(indent=4, sort_keys=true) }}",
    "{{ x|tojson(true) }}",
    "{{ d|tojson(separators=(',', ':')) }}",
    "{{ namespace(_a=1) }}",
    "{% set ns = namespace() %}{% set ns._a = 1 %}",
    "{{ namespace(a=1) }}",
    "{{ dict(a=1).fromkeys }}",
    "{{ dict.fromkeys('ab') }}",
    "{{ dict.mro }}",
    "{{ l.append(1) }}",
    "{{ d.update({}) }}",
    "{{ x.__class__ }}",
    "{{ x.__class__.__mro__ }}",
    "{{ range(10 ** 9)|list }}",
    "{{ tojson(x) }}",
    "{{ x|tojson(nothing=1) }}",
]

LM_EVAL = [
    "{{ x|regex_replace('[aeiou]', '.') }}",
    "{{ x|regex_replace('(\\\\w)(\\\\w)', '\\\\2\\\\1', 2) }}",
    "{{ x|regex_replace('(', '') }}",
    "{{ n|regex_replace('a', 'b') }}",
    "{{ x|regex_replace('a', 'b', count=1) }}\n\n",
    "{% set _ = l.append('d') %}{{ l }}",
    "{% set _ = d.update({'z': 1}) %}{{ d }}",
    "{{ range(200000)|length }}",
    "{{ '{0[items]}{0.items}'.format(d) }}",
]
