"""An example for each thing that Jinja has: what becomes of it says what is compiled."""

from __future__ import annotations

import pyarrow as pa

TABLE = pa.table({
    "text": pa.array(["one, two", "b", "Three"]),
    "number": pa.array([3, 4, 5]),
    "ratio": pa.array([0.5, 1.5, 2.5]),
    "flag": pa.array([True, False, True]),
    "words": pa.array([["a", "b"], ["c"], ["a", "d"]]),
    "numbers": pa.array([[1, 2], [3], [4, 5]]),
    "record": pa.array([{"name": "n", "size": 1}, {"name": "m", "size": 2}, {"name": "o", "size": 3}]),
    "records": pa.array([[{"name": "n"}, {"name": "m"}], [{"name": "o"}], [{"name": "p"}]]),
})  # fmt: skip
"""`text`, `number`, `ratio` and `flag`; lists `words` and `numbers`; a struct `record`, and a list of them."""

EXPRESSIONS = [
    "text", "number", "ratio", "flag", "words", "record", "missing",
    "record.name", "record['name']", "record[text]", "words[0]", "words[-1]", "words[number - 3]", "text[0]",
    "text[1:3]", "words[1:]", "{'b': 1}.get(text)",
    "{'one, two': 1, 'b': 2, 'Three': 3}[text]", "[text, number]", "(text, 1)",
    "{'a': text}", "text ~ number", "text + '!'", "words + ['z']", "number + 1", "number - 1", "number * 2", "text * 2",
    "number / 2", "number // 2", "number % 2", "'%s' % text", "number ** 2", "-number", "text == 'b'", "number > 3",
    "1 < number < 5", "'e' in text", "text in ['b', 'c']", "text in words", "text not in words", "flag and text",
    "flag or text", "not flag", "text if flag else number", "text if flag",
]  # fmt: skip

STATEMENTS = [
    "{% if flag %}a{% elif number > 3 %}b{% else %}c{% endif %}",
    "{% for word in words %}{{ word }}{% endfor %}",
    "{% for word in words %}{{ word }}{% else %}none{% endfor %}",
    "{% for word in words %}{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for one in records %}{{ one.name }}{% endfor %}",
    "{% for key, value in record.items() %}{{ key }}={{ value }}{% endfor %}",
    "{% for key in record %}{{ key }}{% endfor %}",
    "{% for n in range(number) %}{{ n }}{% endfor %}",
    "{% for part in text.split(',') %}{{ part }}{% endfor %}",
    "{% for word in words if flag is defined %}{{ word }}{% endfor %}",
    "{% for word in words if word != 'a' %}{{ word }}{% endfor %}",
    "{% for character in text %}{{ character }}{% endfor %}",
    "{% for word in words recursive %}{{ word }}{% endfor %}",
    "{% for word in words %}{% if word == 'a' %}{% continue %}{% endif %}{{ word }}{% endfor %}",
    "{% for word in words %}{% if word == 'a' %}{% break %}{% endif %}{{ word }}{% endfor %}",
    "{% set name = text %}{{ name }}",
    "{% set name %}{{ text }}!{% endset %}{{ name }}",
    "{% set ns = namespace(n=0) %}{% for word in words %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "{% macro shout(word) %}{{ word.upper() }}{% endmacro %}{{ shout(text) }}",
    "{% macro twice() %}{{ caller() }}{{ caller() }}{% endmacro %}{% call twice() %}{{ text }}{% endcall %}",
    "{% filter upper %}{{ text }}{% endfilter %}",
    "{% with name = text %}{{ name }}{% endwith %}",
    "{% raw %}{{ text }}{% endraw %}",
    "{# a comment #}{{ text }}",
    "{% block name %}{{ text }}{% endblock %}",
    "{% autoescape true %}{{ text }}{% endautoescape %}",
    "{% generation %}{{ text }}{% endgeneration %}",
]

FILTERS = {
    "abs": "number|abs", "attr": "record|attr('name')", "batch": "words|batch(2)|list", "capitalize": "text|capitalize",
    "center": "text|center(9)", "count": "words|count", "d": "text|d('none')", "default": "text|default('none', true)",
    "dictsort": "record|dictsort", "e": "text|e", "escape": "text|escape", "filesizeformat": "number|filesizeformat",
    "first": "words|first", "float": "text|float", "forceescape": "text|forceescape", "format": "'%s'|format(text)",
    "groupby": "records|groupby('name')|list", "indent": "text|indent", "int": "text|int", "items": "record|items|list",
    "join": "words|join(', ')", "last": "words|last", "length": "text|length", "list": "text|list",
    "lower": "text|lower", "map": "words|map('upper')|join", "max": "numbers|max", "min": "numbers|min",
    "pprint": "record|pprint", "random": "words|random", "regex_replace": "text|regex_replace('e', 'a')",
    "reject": "words|reject('eq', 'a')|list", "rejectattr": "records|rejectattr('name', 'eq', 'n')|list",
    "replace": "text|replace('e', 'a')", "reverse": "words|reverse|list", "round": "ratio|round(1)",
    "safe": "text|safe", "select": "words|select('eq', 'a')|list",
    "selectattr": "records|selectattr('name', 'eq', 'n')|list", "slice": "words|slice(2)|list",
    "sort": "words|sort", "string": "number|string", "striptags": "text|striptags", "sum": "numbers|sum",
    "title": "text|title", "tojson": "record|tojson", "trim": "text|trim", "truncate": "text|truncate(5)",
    "unique": "words|unique|list", "upper": "text|upper", "urlencode": "text|urlencode", "urlize": "text|urlize",
    "wordcount": "text|wordcount", "wordwrap": "text|wordwrap(3)", "xmlattr": "record|xmlattr",
}  # fmt: skip

TESTS = {
    "boolean": "flag is boolean", "callable": "text is callable",
    "defined": "text is defined", "divisibleby": "number is divisibleby 2", "eq": "text is eq 'b'",
    "equalto": "text is equalto 'b'", "escaped": "text is escaped", "even": "number is even", "false": "flag is false",
    "filter": "text is filter", "float": "ratio is float", "ge": "number is ge 3",
    "greaterthan": "number is greaterthan 3",
    "gt": "number is gt 3", "in": "text is in words", "integer": "number is integer", "iterable": "words is iterable",
    "le": "number is le 3", "lessthan": "number is lessthan 3", "lower": "text is lower", "lt": "number is lt 3",
    "mapping": "record is mapping", "ne": "number is ne 3", "none": "text is none", "number": "number is number",
    "odd": "number is odd", "sameas": "flag is sameas true", "sequence": "words is sequence",
    "string": "text is string", "test": "text is test", "true": "flag is true", "undefined": "text is undefined",
    "upper": "text is upper",
}  # fmt: skip

METHODS = {
    "str": {
        "capitalize": "text.capitalize()", "casefold": "text.casefold()", "center": "text.center(9)",
        "count": "text.count('e')", "encode": "text.encode()", "endswith": "text.endswith('e')",
        "expandtabs": "text.expandtabs()", "find": "text.find('e')", "format": "'{}'.format(text)",
        "format_map": "'{name}'.format_map(record)", "index": "(text ~ 'e').index('e')", "isalnum": "text.isalnum()",
        "isalpha": "text.isalpha()", "isascii": "text.isascii()", "isdecimal": "text.isdecimal()",
        "isdigit": "text.isdigit()", "isidentifier": "text.isidentifier()", "islower": "text.islower()",
        "isnumeric": "text.isnumeric()", "isprintable": "text.isprintable()", "isspace": "text.isspace()",
        "istitle": "text.istitle()", "isupper": "text.isupper()", "join": "text.join(words)", "ljust": "text.ljust(9)",
        "lower": "text.lower()", "lstrip": "text.lstrip()", "maketrans": "text.maketrans('e', 'a')",
        "partition": "text.partition(',')", "removeprefix": "text.removeprefix('o')",
        "removesuffix": "text.removesuffix('e')", "replace": "text.replace('e', 'a')", "rfind": "text.rfind('e')",
        "rindex": "(text ~ 'e').rindex('e')", "rjust": "text.rjust(9)", "rpartition": "text.rpartition(',')",
        "rsplit": "text.rsplit(',', 1)", "rstrip": "text.rstrip()", "split": "text.split(',')",
        "splitlines": "text.splitlines()", "startswith": "text.startswith('o')", "strip": "text.strip()",
        "swapcase": "text.swapcase()", "title": "text.title()", "translate": "text.translate({})",
        "upper": "text.upper()", "zfill": "text.zfill(9)",
    },
    "list": {
        "append": "words.append('z')", "clear": "words.clear()", "copy": "words.copy()", "count": "words.count('a')",
        "extend": "words.extend(['z'])", "index": "(words + ['a']).index('a')", "insert": "words.insert(0, 'z')",
        "pop": "words.pop()", "remove": "(words + ['a']).remove('a')", "reverse": "words.reverse()",
        "sort": "words.sort()",
    },
    "dict": {
        "clear": "record.clear()", "copy": "record.copy()", "fromkeys": "record.fromkeys(words)",
        "get": "record.get('name', '')", "items": "record.items()|list", "keys": "record.keys()|list",
        "pop": "record.pop('name')", "popitem": "record.popitem()", "setdefault": "record.setdefault('a', 1)",
        "update": "record.update({'a': 1})", "values": "record.values()|list",
    },
}  # fmt: skip

FUNCTIONS = {
    "range": "range(number)|list", "dict": "dict(a=text)", "namespace": "namespace(a=text).a",
    "cycler": "cycler('a', 'b').current ~ text", "joiner": "joiner(', ')() ~ text", "lipsum": "lipsum(1) ~ text",
    "raise_exception": "raise_exception(text) if number > 9", "strftime_now": "strftime_now('%Y') ~ text",
}  # fmt: skip
