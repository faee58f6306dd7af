"""Templates, and how columns are put into them."""

from __future__ import annotations

from .build import File, case
from .parts import ANSWER, ASK, CHAT, PAIR, QA, READER, TRAIN, ZERO, fix, raw, says, template, turn, with_ice

BRACES = [("q", "string", ["{a} {nothing}", "{q}"]), ("a", "string", ["{q}", "{k}"]), ("k", "string", ["{", "}"])]
MASKED = {"reader": READER}
PPL = {"mode": "ppl", "labels": [None]}

FILES = {
    "strings": File(
        "A string template is its own request, and no meta template touches it",
        samples=QA,
        cases={
            "text alone": case(prompt_template="no column"),
            "empty": case(prompt_template=""),
            "one column": case(prompt_template="Q: {q}"),
            "both columns, twice": case(prompt_template="{q}{a}{q}{a}"),
            "other alphabets": case(prompt_template="问题{q}\n答😀{a}é"),
            "a control character and a NUL": case(prompt_template="\x1b{q}\x00"),
            "with its type": case(prompt_template=template("Q: {q}")),
            "a type with its module": case(prompt_template={"type": "x.y.PromptTemplate", "template": "Q: {q}"}),
            "under a meta template": case(prompt_template="Q: {q}", meta_template=CHAT),
            "as messages": case(prompt_template="Q: {q}", output="messages"),
            "as a prompt list": case(prompt_template="Q: {q}", output="prompt_list"),
        },
    ),
    "placeholders": File(
        "What is a placeholder: a column's name in braces, and nothing else",
        samples=[
            ("q", "string", ["Q"]),
            ("qq", "string", ["QQ"]),
            ("opt ion", "string", ["O"]),
            ("题", "string", ["T"]),
        ],
        cases={
            name: case(prompt_template=text)
            for name, text in {
                "names that begin alike": "{q}{qq}{q}",
                "a space in the name": "{opt ion}",
                "another alphabet": "{题}",
                "spaces within the braces": "{ q }{q }",
                "no such column": "{unknown}",
                "half of one": "{q {qq q}",
                "doubled braces": "{{q}}",
                "braces in braces": "{{{q}}}{{",
                "a format and a conversion": "{q!r}{q:>4}{q.x}{q[0]}",
                "percent signs and backslashes": "%s \\{q\\} \\n",
                "LaTeX": "\\frac{q}{qq} \\boxed{answer}",
                "an empty pair": "{}{q}{}",
            }.items()
        },
    ),
    "odd names": File(
        "Columns whose names hold braces or nothing, in the harness's order",
        samples=[("", "string", ["E"]), ("{q", "string", ["B"]), ("q", "string", ["Q"]), ("a}", "string", ["A"])],
        cases={
            "each": case(prompt_template="{}|{{q}|{q}|{a}}"),
            "they meet": case(prompt_template="{{}}{{q}}{{{q}}}{a}}}"),
        },
    ),
    "column order": File(
        "One replacement a column in the order of the columns: later ones look into the values of earlier ones",
        settings={"substitution": "harness"},
        samples=BRACES,
        cases={
            **{
                name: case(prompt_template=text)
                for name, text in {
                    "a value brings a later column": "{q}",
                    "a value brings an earlier column": "{a}",
                    "a value completes a placeholder": "{k}q}{k}a}",
                    "braces around one complete another": "{{a}}{{k}}",
                    "all together": "{q}|{a}|{{k}}|{q",
                }.items()
            },
            "in a dialogue": case(prompt_template={"round": [turn("HUMAN", "{q}|{k}a}"), turn("BOT", "{{a}}")]}),
            "the other order": case(samples=BRACES[::-1], prompt_template="{q}|{a}|{{k}}|{q"),
        },
    ),
    "single pass": File(
        "substitution=single_pass: each placeholder of a template is replaced once, and no value is looked into",
        settings={"substitution": "single_pass"},
        samples=BRACES,
        cases={
            **{
                name: case(prompt_template=text)
                for name, text in {
                    "a value brings a later column": "{q}",
                    "a value completes a placeholder": "{k}q}{k}a}",
                    "braces around a placeholder": "{{a}}{{k}}",
                    "all together": "{q}|{a}|{{k}}|{q",
                }.items()
            },
            "the mask is a placeholder": case(
                prompt_template="{q}={a}", inferencer={"gen_field_replace_token": "{q}"}, **MASKED
            ),
            "examples": case(
                prompt_template=with_ice("</E>{q}={a}"),
                ice_template=template("{q}={a}"),
                retriever=fix(0, 1, ice_separator=";{q};"),
                reader=READER,
                examples=[("q", "string", ["{a}", "two"]), ("a", "string", ["1", "{q}"])],
            ),
            "the ICE token in a value": case(
                samples=[("q", "string", ["a </E> b"]), ("a", "string", [""])],
                prompt_template=with_ice("</E>|{q}"),
                ice_template=template("{q}"),
                retriever=fix(0),
                reader=READER,
                examples=TRAIN,
            ),
            "a dialogue under a meta template": case(prompt_template=PAIR, meta_template=CHAT, **PPL),
        },
    ),
    "mask": File(
        "In gen mode the output column's text is gen_field_replace_token, at the column's own place",
        settings={"prompt_template": "{q}={a}", **MASKED},
        samples=QA,
        cases={
            "empty by default": case(),
            "another text": case(inferencer={"type": "GenInferencer", "gen_field_replace_token": "?"}),
            "a text with a placeholder": case(inferencer={"gen_field_replace_token": "<{q}>"}),
            "a text with its own placeholder": case(inferencer={"gen_field_replace_token": "<{a}>"}),
            "within another value": case(samples=[("q", "string", ["{a}!"]), ("a", "string", ["gold"])]),
            "a column before it": case(
                samples=[("a", "string", ["gold"]), ("q", "string", ["{a}!"])],
                inferencer={"gen_field_replace_token": "{q}"},
            ),
            "a column that the table lacks": case(reader={"input_columns": ["q"], "output_column": "gone"}),
            "a column that the table lacks, in the template": case(
                prompt_template="{q}{gone}", reader={"input_columns": ["q"], "output_column": "gone"}
            ),
            "no output column": case(reader={"input_columns": ["q"], "output_column": None}),
            "an empty name is none": case(reader={"input_columns": ["q"], "output_column": ""}),
            "nothing is masked in ppl": case(**PPL),
            "nothing is masked in raw messages": case(prompt_template=raw(says("user", "{q}={a}"))),
            "in a dialogue": case(prompt_template=PAIR),
            "examples are never masked": case(
                prompt_template=with_ice("</E>{q}={a}"),
                ice_template=template("{q}={a}"),
                retriever=fix(0),
                examples=TRAIN,
            ),
        },
    ),
    "dialogues": File(
        "Dialogue templates without a meta template: what is said, a line each",
        samples=QA,
        cases={
            "a pair": case(prompt_template=PAIR),
            "begin and end as lists": case(
                prompt_template={"begin": ["Look.", ASK], "round": [ANSWER], "end": [turn("HUMAN", "Bye {q}.")]}
            ),
            "begin and end as strings": case(prompt_template={"begin": "B {q}", "round": [ASK], "end": "E {a}"}),
            "a turn as begin": case(prompt_template={"begin": turn("SYSTEM", "S {q}"), "round": [ASK]}),
            "strings in the round": case(prompt_template={"round": ["x {q}", ASK, "y", ANSWER]}),
            "an empty item ends the line before it": case(prompt_template={"round": [ASK, "", ANSWER, ""]}),
            "an empty item first": case(prompt_template={"begin": "", "round": ["", ASK]}),
            "a turn without a prompt": case(prompt_template={"round": [{"role": "HUMAN"}, ANSWER]}),
            "keys that nothing reads": case(prompt_template={"round": [{**ASK, "note": "{q}"}, ANSWER]}),
            "an empty round": case(prompt_template={"begin": "{q}", "round": []}),
            "sections in another order": case(prompt_template={"end": "e", "round": [ASK], "begin": "b"}),
            "as a prompt list": case(prompt_template={"begin": "B", **PAIR}, output="prompt_list"),
            "a fallback in a prompt list": case(
                prompt_template={"begin": [turn("SYSTEM", "S", fallback_role="HUMAN")], **PAIR}, output="prompt_list"
            ),
        },
    ),
    "label maps": File(
        "A dict with other keys than begin, round and end has a template for each label; gen takes the first",
        settings={"prompt_template": template({"A": "{q} is A", "B": "{q} is B"}), "reader": READER},
        samples=QA,
        cases={
            "gen": case(),
            "ppl": case(mode="ppl"),
            "labels in another order": case(mode="ppl", labels=["B", "A", "B"]),
            "labels of the inferencer": case(inferencer={"type": "PPLInferencer", "labels": ["B"]}),
            "labels= before the inferencer's": case(
                labels=["A"], inferencer={"type": "PPLInferencer", "labels": ["B"]}
            ),
            "no labels at all": case(mode="ppl", labels=[]),
            "numbers": case(prompt_template=template({0: "zero {q}", 1: "one {q}"}), mode="ppl"),
            "None and a text": case(prompt_template=template({None: "none {q}", "A": "A {q}"}), mode="ppl"),
            "bools": case(prompt_template=template({True: "yes {q}", False: "no {q}"}), mode="ppl"),
            "an empty key": case(prompt_template=template({"": "empty {q}", "A": "A {q}"}), mode="ppl"),
            "a number and a text": case(prompt_template=template({1: "{q}1", "A": "{q}A"}), mode="ppl"),
            "dialogues": case(prompt_template=template({"A": PAIR, "B": {"round": [ASK]}}), mode="ppl"),
            "dialogues under a meta template": case(
                prompt_template=template({"A": PAIR, "B": {"round": [ASK]}}), mode="ppl", meta_template=CHAT
            ),
            "dialogues in gen": case(prompt_template=template({"B": {"round": [ASK]}, "A": PAIR}), meta_template=CHAT),
        },
    ),
    "labels": File(
        "Where the labels of ppl come from when none are given",
        settings={"reader": READER, "mode": "ppl"},
        samples=[("q", "string", ["1", "2", "3"]), ("a", "string", ["B", "A", "B"])],
        cases={
            "the column's sorted values": case(prompt_template="{q}={a}"),
            "numbers": case(
                prompt_template="{q}={a}",
                samples=[("q", "string", ["1", "2", "3"]), ("a", "int64", [10, 9, 10])],
            ),
            "a dialogue's sections": case(prompt_template={"begin": "b", **PAIR}),
            "the ICE template's keys": case(
                ice_template=with_ice({"A": "</E>A {q}", "B": "</E>B {q}"}), retriever=ZERO
            ),
            "one of each sample for a string": case(prompt_template="{q}={a}", labels=["x", "y"]),
            "normalizing_str": case(
                prompt_template=template("{q}<SEP>{a}", sep_token="<SEP>"),
                inferencer={"type": "PPLInferencer", "normalizing_str": "Answer:"},
            ),
            "LLInferencer": case(mode=None, prompt_template="{q}={a}", inferencer={"type": "x.LLInferencer"}),
        },
    ),
    "separators": File(
        "The separator token is removed: in gen from the examples too, in ppl not with a normalising string",
        settings={"reader": READER},
        samples=[("q", "string", ["1<SEP>1"]), ("a", "string", ["<SEP>"])],
        examples=[("q", "string", ["x<SEP>"]), ("a", "string", ["y"])],
        cases={
            "gen": case(prompt_template=template("{q}<SEP>{a}|<SEP>", sep_token="<SEP>")),
            "ppl": case(prompt_template=template("{q}<SEP>{a}", sep_token="<SEP>"), **PPL),
            "a dialogue": case(prompt_template=template({"round": [turn("HUMAN", "a<SEP>b{q}")]}, sep_token="<SEP>")),
            **{
                f"examples, {mode}{', normalised' if normal else ''}": case(
                    prompt_template=with_ice("<SEP></E>{q}<SEP>{a}", sep_token="<SEP>"),
                    ice_template=template("{q}<SEP>{a}", sep_token="<SEP>"),
                    retriever=fix(0, ice_separator="<SEP>"),
                    mode=mode,
                    labels=[None] if mode == "ppl" else None,
                    inferencer={"normalizing_str": "A:"} if normal else None,
                )
                for mode, normal in (("gen", False), ("ppl", False), ("ppl", True))
            },
        },
    ),
    "raw messages": File(
        "RawPromptTemplate: messages in the way of OpenAI, contents filled",
        samples=QA,
        cases={
            "bare": case(prompt_template=[says("system", "{a}"), says("user", "{q}")]),
            "with its type": case(prompt_template=raw(says("user", "{q}"))),
            "contents that aren't filled": case(prompt_template=raw(says("user", "{q}"), format_variables=False)),
            "further keys": case(prompt_template=raw(says("user", "{q}", name="n {q}"))),
            "a content of parts": case(prompt_template=raw(says("user", [{"type": "text", "text": "{q}"}]))),
            "no content": case(
                prompt_template=raw(says("user", "{q}"), says("assistant", None)), output="messages_json"
            ),
            "a string that is no ICE token": case(prompt_template=raw("ignored", says("user", "{q}"))),
            "an empty list": case(prompt_template=raw(), output="prompt_list"),
            "as a prompt list": case(prompt_template=raw(says("user", "{q}")), output="prompt_list"),
            "as JSON": case(prompt_template=raw(says("user", '{q}\n"\\ é')), output="messages_json"),
            "ppl": case(prompt_template=raw(says("user", "{q}={a}")), mode="ppl", labels=["A", "B"]),
        },
    ),
}
