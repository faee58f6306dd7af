"""The text of a value: what Python's str() gives of it."""

from __future__ import annotations

from typing import Any

from .build import File, case


def of(kind: Any, *values: Any) -> Any:
    return case(samples=[("v", kind, list(values))])


FILES = {
    "numbers": File(
        "Numbers, bools and nulls as Python prints them",
        settings={"prompt_template": "{v}"},
        cases={
            "int64": of("int64", 0, -1, 9223372036854775807, -9223372036854775808, None),
            "small ints": of("int8", 127, -128, None),
            "uint32": of("uint32", 4294967295, None),
            "float64": of("float64", 0, -0.0, 1, 0.1, 1e16, 1e22, 1e-5, 1e-4, 123456789012345680.0, 5e-324, None),
            "no numbers": of("float64", "nan", "inf", "-inf"),
            "float32": of("float32", 0.1, 1, 16777216, "nan", 1e-45),
            "bool": of("bool", True, False, None),
            "null": of("null", None, None),
            "decimal": of({"decimal128": [10, 2]}, 12345, -5, 0, None),
            "decimal without digits behind the point": of({"decimal128": [10, 0]}, 12, None),
            "a decimal's exponent": of({"decimal128": [20, 8]}, 1, 0, 123456789),
        },
    ),
    "texts": File(
        "Strings of every layout, and bytes",
        settings={"prompt_template": "<{v}>"},
        cases={
            **{
                name: of(kind, "", "a", "a text that is longer than a view holds in place", "é😀\n", None)
                for name, kind in {
                    "string": "string",
                    "large_string": "large_string",
                    "string_view": "string_view",
                    "dictionary": {"dictionary": "string"},
                }.items()
            },
            "binary": of("binary", "", "00ff27", "6122", None),
        },
    ),
    "times": File(
        "Dates, times and durations as datetime prints them",
        settings={"prompt_template": "{v}"},
        cases={
            "date": of("date32", 0, -1, 19000, None),
            "seconds": of({"timestamp": "s"}, 0, -1, 1700000000, None),
            "milliseconds": of({"timestamp": "ms"}, 0, 1, 1700000000123),
            "microseconds": of({"timestamp": "us"}, 0, 1, -1, 1700000000123456),
            "a time of the day": of({"time32": "s"}, 0, 86399, None),
            "a time with microseconds": of({"time64": "us"}, 0, 1, 86399999999),
            "a duration": of({"duration": "s"}, 0, 59, 86400, 172861, -1, None),
            "a duration with microseconds": of({"duration": "us"}, 1, 1000000, -1),
        },
    ),
    "nested": File(
        "Lists, structs and maps as repr() prints them, with its rules for quotes",
        settings={"prompt_template": "{v}"},
        cases={
            "strings": of({"list": "string"}, [], ["a", None], ["it's"], ['say "hi"'], ['it\'s "both"'], None),
            "escapes": of({"list": "string"}, ["\n\t\\\r\x00\x1b"], ["é题😀"], ["\u00ad\u2028\ue000"]),
            "numbers": of({"list": "int64"}, [1, None, -3]),
            "floats": of({"large_list": "float64"}, [1, 1e22, "nan"], []),
            "bools": of({"list": "bool"}, [True, False, None]),
            "lists of lists": of({"list": {"list": "int8"}}, [[1], [], None], [], None),
            "a struct": of({"struct": [["a", "string"], ["b c", "int64"]]}, {"a": "x", "b c": 1}, {"a": None}, None),
            "structs in a list": of({"list": {"struct": [["a", {"list": "string"}]]}}, [{"a": ["'"]}, None], []),
            "a map": of({"map": ["string", "int64"]}, [["a", 1], ["b", None]], [], None),
            "bytes": of({"list": "binary"}, ["00ff", "27"], None),
            "dates": of({"list": "date32"}, [0, None]),
            "timestamps": of({"struct": [["t", {"timestamp": "us"}]]}, {"t": 1}, {"t": 1700000000000000}),
            "decimals": of({"list": {"decimal128": [10, 2]}}, [12345, None]),
            "durations and times": of(
                {"struct": [["d", {"duration": "s"}], ["t", {"time32": "s"}]]}, {"d": 61, "t": 61}
            ),
        },
    ),
    "values with placeholders": File(
        "Placeholders inside the texts of values that are no strings",
        settings={"prompt_template": "{v}|{w}", "substitution": "harness"},
        cases={
            "a list": case(samples=[("v", {"list": "string"}, [["{w}"]]), ("w", "int64", [7])]),
            "a struct that looks like one": case(
                samples=[("v", {"struct": [["w", "string"]]}, [{"w": "{w}"}]), ("w", "int64", [7])]
            ),
            "bytes": case(samples=[("v", "binary", ["7b777d"]), ("w", "bool", [None])]),
            "a dictionary": case(samples=[("v", {"dictionary": "string"}, ["{w}"]), ("w", "float64", [0.5])]),
        },
    ),
}
