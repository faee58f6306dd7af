"""The configurations that the harnesses ship get next to no notes with the columns that they name.

`pytest -s` prints every note, those that don't warn too.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import promptpress as pp
import pyarrow as pa
import pytest
from real.harness.shipped import labels_of
from real.harness.shipped_columns import columns_of, shipped

META = {
    "none": {},
    "text": {
        "meta_template": {
            "begin": "<s>",
            "round": [{"role": "HUMAN", "begin": "U:"}, {"role": "BOT", "begin": "A:", "generate": True}],
            "reserved_roles": [{"role": "SYSTEM", "begin": "S:"}],
        }
    },
    "messages": {
        "meta_template": {
            "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
            "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
        }
    },
}

WRONG = {
    "opencompass": {
        # The reader names all its columns in one, with commas.
        ("ProcessBench/processbench_gen", "missing_input_column"): {"reader.input_columns[0]"},
        # It is called few-shot, chooses five examples, and has no place for them.
        ("SuperGLUE_BoolQ/SuperGLUE_BoolQ_few_shot_ppl", "examples_nowhere"): {"ice_template.template"},
        # The template asks for {question}; the data, and the reader, have 'problem'.
        ("eese/eese_llm_judge_gen", "unknown_placeholder"): {"{question}"},
        ("eese/eese_llm_judge_rawprompt_gen", "unknown_placeholder"): {"{question}"},
        # The data have {option_A}; and what {input} was to be, the reader and the data of one of them call 'question'.
        ("infinitebench/infinitebench", "unknown_placeholder"): {
            *(f"{{OPTION_{letter}}}" for letter in "ABCD"),
            "{input}",
        },
    },
    "aisbench": {},
}


@cache
def noted(harness: str) -> tuple[int, dict[tuple[str, str, str, str, str], str]]:
    """Return the number of configurations, and every note on them with the first file that gets it."""
    count, notes = 0, {}
    for file, config in shipped(harness):
        columns = columns_of(file, config)
        examples = pa.table({name: [""] * 64 for name in columns})
        labels = labels_of(config["infer_cfg"].get("ice_template"))
        output = config["reader_cfg"].get("output_column")
        if labels and output:
            index = examples.column_names.index(output)
            examples = examples.set_column(index, output, pa.array([labels[0]] * 64))
        made = 0
        for meta in META.values():
            try:
                renderer = pp.Renderer.from_config(config, examples=examples, dialect=harness, **meta)
            except pp.TemplateError:
                continue  # a retriever that isn't computed here, roles that this meta template lacks, ...
            made = 1
            # A conversation's data have a text a turn.
            turns = "MultiTurnPromptTemplate" in str(config["infer_cfg"].get("prompt_template"))
            kind = pa.list_(pa.string()) if turns else pa.string()
            for note in renderer.notes(pa.schema([(name, kind) for name in columns])).to_pylist():
                notes.setdefault((file, *map(note.get, ("severity", "code", "place", "message"))), note["remedy"])
        count += made
    return count, notes


@pytest.mark.parametrize("harness", ["opencompass", "aisbench"])
def test_shipped_configurations_are_warned_about_where_something_is_wrong(request, harness):
    request.getfixturevalue(harness)
    count, notes = noted(harness)
    for (file, severity, code, path, message), remedy in sorted(notes.items(), key=lambda item: item[0][1:]):
        print(f"{harness} {severity} {code} {file} {path}: {message}; {remedy}")
    print(f"{harness}: {count} configurations, {Counter(key[1] for key in notes)}")
    assert count > {"opencompass": 1000, "aisbench": 100}[harness]
    warned: dict[tuple[str, str], set[str]] = {}
    for file, severity, code, path, message in notes:
        if severity == "warning":
            name = message.split("'")[1] if code == "unknown_placeholder" else path
            warned.setdefault((file, code), set()).add(name)
    assert warned == WRONG[harness]
