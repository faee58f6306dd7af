"""Notes about a configuration: each note has a case, and a near miss that isn't noted."""

from __future__ import annotations

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress._config.from_harness import INFERENCER_MODES

COLUMNS = ["question", "answer"]
META = {
    "round": [{"role": "HUMAN", "begin": "U:"}, {"role": "BOT", "begin": "A:", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "prompt": "Be brief."}],
}
ASK, REPLY = {"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}
READER = {"input_columns": ["question"], "output_column": "answer"}
SHOTS = {"retriever": {"type": "FixKRetriever", "fix_id_list": [0]}, "reader": READER}
TAGGED = {
    "text": {"type": "text", "text": "{question}"},
    "image": {"type": "image_url", "image_url": {"url": "{image}"}},
}


def schema_of(columns):
    """The columns are texts, unless a dict says what they are."""
    types = columns if isinstance(columns, dict) else dict.fromkeys(columns, pa.string())
    return pa.schema(list(types.items()))


def notes(arguments, columns=COLUMNS):
    arguments = dict(arguments)
    if "retriever" in arguments:
        arguments.setdefault("examples", pa.table({name: ["x"] for name in arguments.pop("train", columns)}))
    return pp.Renderer(**arguments).notes(schema_of(columns)).to_pylist()


def dialogue(*turns, **rest):
    return {"prompt_template": {"round": list(turns)}, **rest}


def media(text="{question}", image="{image}", **rest):
    parts = {
        **TAGGED,
        "text": {"type": "text", "text": text},
        "image": {"type": "image_url", "image_url": {"url": image}},
    }
    turn = {"role": "HUMAN", "prompt_mm": parts, **rest}
    template = {"type": "MMPromptTemplate", "template": {"round": [turn]}}
    return {"prompt_template": template, "dialect": "aisbench"}


def talk(**sections):
    template = {"type": "MultiTurnPromptTemplate", "template": {"round": [ASK, REPLY], **sections}}
    return {"prompt_template": template, "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": "last"}}


MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
TURN = pa.struct([("from", pa.string()), ("value", pa.string())])
LISTS = dict.fromkeys(COLUMNS, pa.list_(pa.string()))


def compact(**parts):
    template = {"type": "MMPromptTemplate", "template": {"round": [{"role": "HUMAN", "prompt_mm": parts}]}}
    return {"prompt_template": template, "dialect": "aisbench"}


def few_shot(ice="{question}", **rest):
    """Examples are given, and a place for them."""
    template = {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"}
    train = pa.table({"question": ["x"], "answer": ["y"]})
    return {"prompt_template": template, "ice_template": ice, "examples": train, **rest}


EXPANDED = {"expand_column": "question"}
TOKENS = {"question": "<q>"}
RAW = [{"role": "user", "content": "{question}"}]

# What is wrong: the arguments, the columns, and the one note: its code, its place, and what its remedy holds.
WRONG = {
    "near": ({"prompt_template": "{questoin}"}, COLUMNS, "unknown_placeholder", "prompt_template", "'{question}'?"),
    "case": ({"prompt_template": "{Question}"}, COLUMNS, "unknown_placeholder", "prompt_template", "'{question}'?"),
    "spaces": ({"prompt_template": "{ question }"}, COLUMNS, "unknown_placeholder", "prompt_template", "'{question}'?"),
    "doubled and near": (
        {"prompt_template": "{{questions}}"}, COLUMNS, "unknown_placeholder", "prompt_template", "'{question}'?",
    ),
    "an identifier": (
        {"prompt_template": "{question} {context}"}, COLUMNS, "unknown_placeholder", "prompt_template", "'answer'",
    ),
    "in Chinese": (
        {"prompt_template": "{question}{\u9898\u76ee}"}, COLUMNS, "unknown_placeholder", "prompt_template", "",
    ),
    "a letter more": (
        {"prompt_template": "{A}{B}{C}"}, ["A", "B"], "unknown_placeholder", "prompt_template", "'A', 'B'",
    ),
    "in a turn": (
        dialogue({"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{ansver}"}),
        COLUMNS, "unknown_placeholder", "prompt_template.round[1].prompt", "'{answer}'?",
    ),
    "in a label": (
        {"prompt_template": {"A": "{question}", "B": "{qeustion}"}, "mode": "ppl"},
        COLUMNS, "unknown_placeholder", "prompt_template.B", "'{question}'?",
    ),
    "in a raw message": (
        {"prompt_template": [*RAW, {"role": "assistant", "content": "{anwser}"}]},
        COLUMNS, "unknown_placeholder", "prompt_template[1].content", "'{answer}'?",
    ),
    "in an example": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
         "ice_template": "{question} {anwser}", **SHOTS},
        COLUMNS, "unknown_placeholder", "ice_template", "'{answer}'?",
    ),
    "the retriever's column": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}{shots}", "ice_token": "</E>"},
         "ice_template": "{question}", "retriever": {"type": "IndexColumn", "column": "shots"}, "reader": READER},
        [*COLUMNS, "shots"], "unknown_placeholder", "prompt_template.template", "",
    ),
    "what the examples lack": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
         "ice_template": "{question} {hint}", **SHOTS, "train": COLUMNS},
        [*COLUMNS, "hint"], "example_column", "ice_template", "'hint'",
    ),
    "of a conversation": (
        talk(round=[{"role": "HUMAN", "prompt": "{question}{quesiton}"}, REPLY]),
        LISTS, "unknown_placeholder", "prompt_template.template.round[0].prompt", "'{question}'?",
    ),
    "a column in a conversation": (
        talk(round=[{"role": "HUMAN", "prompt": "{question}{id}"}, REPLY]),
        {**LISTS, "id": pa.string()}, "unfilled_placeholder", "prompt_template.template.round[0].prompt", "",
    ),
    "before a conversation": (
        talk(begin=[{"role": "SYSTEM", "prompt": "{question}"}]),
        LISTS, "unfilled_placeholder", "prompt_template.template.begin[0].prompt", "round",
    ),
    "content parts": (
        {"prompt_template": [*RAW, {"role": "user", "content": [{"type": "text", "text": "{answer}"}]}]},
        COLUMNS, "unfilled_placeholder", "prompt_template[1].content[0].text", "str",
    ),
    "another column of media": (
        media("{question}{answer}"), ["content", "question", "answer"],
        "unfilled_placeholder", "prompt_template.template.round[0].prompt_mm.text", "tagged",
    ),
    "media beside a prompt": (
        media(prompt="{question}"), ["content", "question"],
        "unfilled_placeholder", "prompt_template.template.round[0].prompt", "prompt_mm",
    ),
    "messages in a text": (
        {"prompt_template": "{m}"}, {"m": pa.list_(MESSAGE)}, "messages_as_text", "prompt_template", "--chat-template",
    ),
    "messages in a turn": (
        dialogue({"role": "HUMAN", "prompt": "{m}"}), {"m": pa.large_list(TURN)},
        "messages_as_text", "prompt_template.round[0].prompt", "{'expand_column': 'm'}",
    ),
    "messages in raw messages": (
        {"prompt_template": {"type": "RawPromptTemplate", "messages": [{"role": "user", "content": "{m}"}]}},
        {"m": pa.list_view(MESSAGE)}, "messages_as_text", "prompt_template.messages[0].content", "'m'",
    ),
    "no column": ({"prompt_template": "Hello."}, COLUMNS, "no_column", "prompt_template", "'question'"),
    "the masked column alone": (
        {"prompt_template": "A: {answer}", "reader": READER}, COLUMNS, "no_column", "prompt_template", "",
    ),
    "no column in an example": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
         "ice_template": "Hello.", **SHOTS},
        COLUMNS, "no_column", "ice_template", "'question'",
    ),
    "an output column that isn't there": (
        {"prompt_template": "{question} {answer}", "reader": {**READER, "output_column": "target"}},
        COLUMNS, "missing_output_column", "reader.output_column", "'answer'",
    ),
    "an output column that is near": (
        {"prompt_template": "{question} {answer}", "reader": {**READER, "output_column": "anwser"}},
        COLUMNS, "missing_output_column", "reader.output_column", "did you mean 'answer'?",
    ),
    "an input column that isn't there": (
        {"prompt_template": "{question}", "reader": {"input_columns": "question qusetion"}},
        COLUMNS, "missing_input_column", "reader.input_columns[1]", "did you mean 'question'?",
    ),
    "a column to expand that isn't there": (
        {"prompt_template": [*RAW, {"expand_column": "histroy"}]}, [*COLUMNS, "history"],
        "missing_expand_column", "prompt_template[1].expand_column", "did you mean 'history'?",
    ),
    "the answer in a raw message": (
        {"prompt_template": [*RAW, {"role": "assistant", "content": "{answer}"}], "reader": READER},
        COLUMNS, "unmasked_output_column", "prompt_template[1].content", "",
    ),
    "the answer's own messages": (
        {"prompt_template": {"type": "RawPromptTemplate", "messages": [*RAW, {"expand_column": "answer"}]},
         "reader": READER},
        COLUMNS, "unmasked_output_column", "prompt_template.messages[1].expand_column", "",
    ),
    "the answer beside each label": (
        {"prompt_template": {"A": "{question} {answer}", "B": "{question}"}, "mode": "ppl", "reader": READER},
        COLUMNS, "unmasked_output_column", "prompt_template.A", "",
    ),
    "promt": (
        dialogue({"role": "HUMAN", "promt": "{question}"}), COLUMNS,
        "unread_key", "prompt_template.round[0]", "did you mean 'prompt'?",
    ),
    "content of a turn": (
        dialogue({"role": "HUMAN", "content": "{question}"}), COLUMNS,
        "unread_key", "prompt_template.round[0]", "did you mean 'prompt'?",
    ),
    "fallback": (
        dialogue({**ASK, "fallback_rol": "HUMAN"}), COLUMNS,
        "unread_key", "prompt_template.round[0]", "did you mean 'fallback_role'?",
    ),
    "a section": (
        {"prompt_template": {"A": {"round": [ASK], "ends": []}}}, COLUMNS,
        "unread_key", "prompt_template.A", "did you mean 'end'?",
    ),
    "a section of a conversation": (
        talk(begn=[]), LISTS, "unread_key", "prompt_template.template", "did you mean 'begin'?",
    ),
    "a role": (
        dialogue(ASK, meta_template={"round": [{"role": "HUMAN", "begn": "U:"}]}), COLUMNS,
        "unread_key", "meta_template.round[0]", "did you mean 'begin'?",
    ),
    "a meta template": (
        dialogue(ASK, meta_template={"round": [{"role": "HUMAN"}], "reserved_role": []}), COLUMNS,
        "unread_key", "meta_template", "did you mean 'reserved_roles'?",
    ),
    "a reader": (
        {"prompt_template": "{question}", "reader": {"input_column": ["question"]}}, COLUMNS,
        "unread_key", "reader", "did you mean 'input_columns'?",
    ),
    "a number of examples": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
         "ice_template": "{question}", **SHOTS,
         "retriever": {"type": "FixKRetriever", "fix_id_list": [0], "ice_num": 5}},
        COLUMNS, "unread_key", "retriever.ice_num", "",
    ),
    "beside a column to expand": (
        {"prompt_template": [*RAW, {"expand_column": "history", "role": "user"}]}, [*COLUMNS, "history"],
        "unread_key", "prompt_template[1]", "",
    ),
    "a template's dict without its key": (
        {"prompt_template": {"tempalte": "{question}"}}, COLUMNS, "label_like_key", "prompt_template", "'template'?",
    ),
    "a kind of parts": (
        media(prompt_mm={**TAGGED, "vidoe": {"type": "video_url"}}), ["content"],
        "unread_key", "prompt_template.template.round[0].prompt_mm", "did you mean 'video'?",
    ),
    "a turn that says nothing": (
        dialogue({"role": "SYSTEM"}, ASK), COLUMNS, "turn_without_text", "prompt_template.round[0]", "prompt",
    ),
    "a reply that says nothing": (
        dialogue(ASK, {"role": "BOT"}, ASK, {"role": "BOT"}, meta_template=META), COLUMNS,
        "turn_without_text", "prompt_template.round[1]", "prompt",
    ),
    "an example that says nothing": (
        {"prompt_template": {"type": "PromptTemplate", "template": {"begin": ["</E>"], "round": [ASK]},
                             "ice_token": "</E>"},
         "ice_template": {"round": [ASK, {"role": "BOT"}]}, **SHOTS},
        COLUMNS, "turn_without_text", "ice_template.round[1]", "prompt",
    ),
    "a str among messages": (
        {"prompt_template": [*RAW, "{answer}"]}, COLUMNS, "dropped_text", "prompt_template[1]", "",
    ),
    "a section that gives nothing in ppl": (
        {"prompt_template": {"A": "{question}", "rounds": [ASK]}, "mode": "ppl", "labels": ["A"]},
        COLUMNS, "label_like_key", "prompt_template", "'round'?",
    ),
    "a conversation over texts": (
        talk(), {**LISTS, "question": pa.large_string()}, "texts_as_turns", "prompt_template", "lists",
    ),
    "a conversation over a dictionary's texts": (
        talk(), {**LISTS, "answer": pa.dictionary(pa.int32(), pa.string())}, "texts_as_turns", "prompt_template", "",
    ),
    "an inferencer": (
        {"prompt_template": "{question}", "inferencer": {"type": "PPLInferencr"}}, COLUMNS,
        "unknown_inferencer", "inferencer.type", "did you mean 'PPLInferencer'?",
    ),
    "an inferencer by its path, misspelt although the mode is given": (
        {"prompt_template": "{question}", "mode": "ppl", "labels": ["A"], "inferencer": {"type": "a.b.PPLInferncer"}},
        COLUMNS, "unknown_inferencer", "inferencer.type", "did you mean 'PPLInferencer'?",
    ),
    "somebody's own inferencer": (
        {"prompt_template": "{question}", "inferencer": {"type": "FooBar"}}, COLUMNS,
        "unknown_inferencer", "inferencer.type", "mode=",
    ),
    "an inferencer without its type": (
        {"prompt_template": "{question}", "inferencer": {"typ": "PPLInferencer"}}, COLUMNS,
        "unread_key", "inferencer", "did you mean 'type'?",
    ),
    **{
        f"an inferencer's {key}": (
            {"prompt_template": "{question}", "inferencer": {"type": "GenInferencer", key: value}}, COLUMNS,
            "unread_key", "inferencer", f"did you mean '{suggestion}'?",
        )
        for key, value, suggestion in [
            ("infer_mod", "last", "infer_mode"),
            ("gen_field_replace_tokn", "x", "gen_field_replace_token"),
            ("normalizing_st", "x", "normalizing_str"),
            ("labls", ["A"], "labels"),
        ]
    },
    "a round without its list": (
        {"prompt_template": {"begin": [ASK], "round": {"role": "BOT", "prompt": "{answer}"}}}, COLUMNS,
        "round_without_list", "prompt_template.round", "[{",
    ),
    "a round without its list and no other": (
        {"prompt_template": {"round": ASK}}, COLUMNS, "round_without_list", "prompt_template.round", "[{",
    ),
    "a label's round without its list": (
        {"prompt_template": {"A": {"begin": [ASK], "round": ASK}}}, COLUMNS,
        "round_without_list", "prompt_template.A.round", "[{",
    ),
    "an example's round without its list": (
        few_shot({"round": ASK}, **SHOTS) | {
            "prompt_template": {"type": "PromptTemplate", "template": {"begin": ["</E>"], "round": [ASK]},
                                "ice_token": "</E>"}},
        COLUMNS,
        "round_without_list", "ice_template.round", "[{",
    ),
    "a turn as a template": (
        {"prompt_template": ASK}, COLUMNS, "label_like_key", "prompt_template", '{"round": [{',
    ),
    "a message within a template": (
        {"prompt_template": {"type": "PromptTemplate", "template": {"role": "user", "content": "{question}"}}},
        COLUMNS, "label_like_key", "prompt_template.template", '{"round": [{',
    ),
    "roles as labels": (
        {"prompt_template": {"system": "Be brief.", "user": "{question}"}}, COLUMNS,
        "label_like_key", "prompt_template", '{"round": [{',
    ),
    "the meta template's roles as labels": (
        {"prompt_template": {"SYSTEM": "{question}", "JUDGE": "{answer}"},
         "meta_template": {"round": [{"role": "JUDGE"}], "reserved_roles": [{"role": "SYSTEM"}]}},
        COLUMNS, "label_like_key", "prompt_template", '{"round": [{',
    ),
    "a section in another case": (
        {"prompt_template": {"Round": "{question}"}}, COLUMNS, "label_like_key", "prompt_template", "'round'?",
    ),
    "a section and a number": (
        {"prompt_template": {"round1": "{question}"}}, COLUMNS, "label_like_key", "prompt_template", "'round'?",
    ),
    "a prompt as a template": (
        {"prompt_template": {"prompt": "{question}"}}, COLUMNS, "label_like_key", "prompt_template", "round",
    ),
    "a template as a template": (
        {"prompt_template": {"tepmlate": "{question}"}}, COLUMNS, "label_like_key", "prompt_template", "'template'?",
    ),
    "a section among labels": (
        {"prompt_template": {"A": "{question}", "begin": "x"}}, COLUMNS, "label_like_key", "prompt_template", "'end'",
    ),
    "a label map whose first says nothing": (
        {"prompt_template": {"A": "Hello.", "B": "{question}"}, "mode": "gen"},
        COLUMNS, "no_column", "prompt_template", "'question'",
    ),
    "the name of a file": (
        {"prompt_template": "shots.yaml"}, COLUMNS, "no_column", "prompt_template", "Renderer.from_config",
    ),
    "semicolons": (
        {"prompt_template": "{id}"}, ["question;answer"], "unknown_placeholder", "prompt_template", "commas",
    ),
    "full-width braces": (
        {"prompt_template": "Q: \uff5bquestion\uff5d"}, COLUMNS, "no_column", "prompt_template", "full-width",
    ),
    "examples without a place": (
        {"prompt_template": {"type": "PromptTemplate", "template": {"round": [ASK, REPLY]}, "ice_token": "</E>"},
         "ice_template": {"round": [ASK, REPLY]}, **SHOTS},
        COLUMNS, "examples_nowhere", "prompt_template.template", "</E>",
    ),
    "examples that nothing chooses": (few_shot(), COLUMNS, "no_retriever", "retriever", "FixKRetriever"),
    **{
        f"a form: {text}": (
            {"prompt_template": "{answer} " + text}, COLUMNS, "placeholder_format", "prompt_template", "'{question}'",
        )
        for text in (
            "{question!r}", "{question!r:>9}", "{question:03d}", "{question[0]}", "{question.upper}", "{questoin!s}",
        )
    },
    "a field of a column of one letter": (
        {"prompt_template": "{question} {s.a}"}, [*COLUMNS, "s"], "placeholder_format", "prompt_template", "'{s}'",
    ),
    "the form of the column that is masked": (
        {"prompt_template": "{question} {answer!r}", "reader": READER}, COLUMNS,
        "placeholder_format", "prompt_template", "'{answer}'",
    ),
    "a medium that nothing fills": (
        compact(text="{question}", image_url="file://{imge}"), ["question", "image"],
        "unknown_placeholder", "prompt_template.template.round[0].prompt_mm", "did you mean '{image}'?",
    ),
}  # fmt: skip

# What is right, or can't be told from what is.
RIGHT = {
    "a name that is a column": ({"prompt_template": "{question}"}, COLUMNS),
    "an argument": ({"prompt_template": r"{question} \boxed{answers} \frac{a}{answers} x^{answers}"}, COLUMNS),
    "an argument in two braces": ({"prompt_template": r"{question} \boxed{{final_answer}}"}, COLUMNS),
    "an argument in a string that isn't raw": (
        {"prompt_template": "{question} \boxed{answers} \frac{answers}{b} \text{answers}"}, COLUMNS,
    ),
    "mathematics": ({"prompt_template": "{question} {n} $x_{i}$ {1, 2} {}"}, COLUMNS),
    "JSON": ({"prompt_template": '{question} {"answers": "B"} {answer: B}'}, COLUMNS),
    "doubled": ({"prompt_template": "{question} {{final}}"}, COLUMNS),
    "code": ({"prompt_template": "{question} int main() {return 0;} {\n  x\n}"}, COLUMNS),
    "a token": (
        {"prompt_template": {"type": "PromptTemplate", "template": "{ice}{question}", "ice_token": "{ice}"}}, COLUMNS,
    ),
    "the generated column of samples that have none yet": (
        {"prompt_template": "{question} {answer}", "reader": READER}, ["question", "answer"],
    ),
    "single letters of a choice": ({"prompt_template": "{question} {A} {B}"}, ["question", "A", "B"]),
    "a number of examples": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
         "ice_template": "{question}", **SHOTS,
         "retriever": {"type": "FixKRetriever", "fix_id_list": [0], "ice_num": 1}},
        COLUMNS,
    ),
    "an ICE template that renders nothing": (
        {"prompt_template": {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"},
         "ice_template": "{nothing}", "retriever": {"type": "ZeroRetriever"}},
        COLUMNS,
    ),
    "where generation starts": (dialogue(ASK, {"role": "BOT"}, meta_template=META), COLUMNS),
    "where generation starts, by name": (dialogue(ASK, {"role": "BOT"}), COLUMNS),
    "a role's own text": (dialogue({"role": "SYSTEM"}, ASK, meta_template=META), COLUMNS),
    "other turns' keys": (
        dialogue({**ASK, "begin": "<", "end": ">", "fallback_role": "BOT", "api_role": "HUMAN", "generate": False}),
        COLUMNS,
    ),
    "keys that a prompt list hands on": (dialogue({**ASK, "name": "Ann"}, output="prompt_list"), COLUMNS),
    "other keys of a message": ({"prompt_template": [{**RAW[0], "name": "Ann"}]}, COLUMNS),
    "messages that are not filled": (
        {"prompt_template": {"type": "RawPromptTemplate", "format_variables": False,
                             "messages": [{"role": "user", "content": "{question} {anwser}"}, EXPANDED]}},
        COLUMNS,
    ),
    "the ICE token among messages": ({"prompt_template": ["</E>", *RAW]}, COLUMNS),
    "keys of a harness's reader": (
        {"prompt_template": "{question}", "reader": {**READER, "train_split": "dev", "test_range": "[0:3]"}}, COLUMNS,
    ),
    "a label map": ({"prompt_template": {"no": "{question} no", "yes": "{question} yes"}, "mode": "ppl"}, COLUMNS),
    "the answer in ppl": ({"prompt_template": "{question} {answer}", "mode": "ppl", "reader": READER}, COLUMNS),
    "media": (media(), ["content", "answer"]),
    "media without a column of content": (media("{question} {hint}"), ["question", "image", "hint"]),
    "a conversation": (talk(), LISTS),
    "a chat": ({"inferencer": {"type": "ChatInferencer"}, "reader": READER}, COLUMNS),
    "a chat's template": (
        {"prompt_template": "{question}", "inferencer": {"type": "ChatInferencer"}, "reader": READER}, COLUMNS,
    ),
    "tokens of columns": (
        {"prompt_template": {"type": "PromptTemplate", "template": "Q: <q> {b}", "column_token_map": TOKENS},
         "dialect": "openicl"},
        COLUMNS,
    ),
    "labels that are near to sections": (
        {"prompt_template": {"en": "{question}", "ends": {"round": [ASK]}}, "mode": "ppl"}, COLUMNS,
    ),
    "no columns at all": ({"prompt_template": "Hello."}, []),
    "a placeholder and no columns at all": ({"prompt_template": "{question} {context}"}, []),
    "columns of lists in no conversation": ({"prompt_template": "{question}"}, LISTS),
    "a conversation beside a text": (talk(), {**LISTS, "id": pa.string()}),
    "somebody's own inferencer's arguments": (
        {"prompt_template": "{question}",
         "inferencer": {"type": "x.y.GenInferencer", "max_out_len": 5, "stopping_criteria": ["x"], "model": None,
                        "batch_size": 1, "max_seq_len": 9, "generation_kwargs": {}, "save_every": 1, "fields": []}},
        COLUMNS,
    ),
    "begin and end without a list": (
        {"prompt_template": {"begin": {"role": "SYSTEM", "prompt": "x"}, "round": [ASK], "end": "x"}}, COLUMNS,
    ),
    "a round that is a text": ({"prompt_template": {"round": "{question}"}}, COLUMNS),
    "roles that are classes": (
        {"prompt_template": {"human": "{question} human", "bot": "{question} bot"}, "mode": "ppl"}, COLUMNS,
    ),
    "a role among labels": (
        {"prompt_template": {"human": "{question}", "machine": "{question}"}, "mode": "gen"}, COLUMNS,
    ),
    "examples with a place in a turn": (
        {"prompt_template": {"type": "PromptTemplate", "ice_token": "</E>",
                             "template": {"round": [{"role": "HUMAN", "prompt": "</E>{question}"}]}},
         "ice_template": "{question}", **SHOTS},
        COLUMNS,
    ),
    "no examples, and no place for them": (
        {"prompt_template": {"type": "PromptTemplate", "template": {"round": [ASK, REPLY]}, "ice_token": "</E>"},
         "ice_template": {"round": [ASK, REPLY]}, **SHOTS, "retriever": {"type": "ZeroRetriever"}},
        COLUMNS,
    ),
    "roles of a chat that the model describes": (
        dialogue(ASK, REPLY, output="openai", meta_template={
            "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]
        }), COLUMNS,
    ),
    "one role of a chat": (dialogue(ASK, output="openai"), COLUMNS),
    "messages of a chat": ({"prompt_template": RAW, "output": "openai"}, COLUMNS),
    "roles as a text": (dialogue(ASK, REPLY), COLUMNS),
    "a turn that generates by itself": (
        dialogue(ASK, {**REPLY, "generate": True}, reader=READER,
            meta_template={"round": [{"role": "HUMAN"}, {"role": "BOT"}]}),
        COLUMNS,
    ),
    "no answer to be left out": (
        dialogue(ASK, REPLY, meta_template={"round": [{"role": "HUMAN"}, {"role": "BOT"}]}), COLUMNS,
    ),
    "the first label, for generation": (
        {"prompt_template": {"A": "{question}", "B": "{answer}"}, "inferencer": {"type": "GenInferencer"}}, COLUMNS,
    ),
    "examples' answers that are roles": (
        few_shot({"human": "{question} human", "bot": "{question} bot"}, **SHOTS,
            examples=pa.table({"question": ["x"], "answer": ["bot"]})),
        COLUMNS,
    ),
    "examples' one answer that is a word of a turn": (
        few_shot({"text": "{question} text"}, **SHOTS, examples=pa.table({"question": ["x"], "answer": ["text"]})),
        COLUMNS,
    ),
    "labels that are sections' names": (
        {"prompt_template": {"begin": "{question} b", "middle": "{question} m", "end": "{question} e"}, "mode": "ppl"},
        COLUMNS,
    ),
    "labels that are words of a turn": (
        {"prompt_template": {"text": "{question} t", "prompt": "{question} p"}, "mode": "ppl"}, COLUMNS,
    ),
    "labels of which the first has a column": (
        {"prompt_template": {"A": "{question}", "B": "Hello."}, "mode": "gen"}, COLUMNS,
    ),
    "labels of which one has a column in ppl": (
        {"prompt_template": {"A": "Hello.", "B": "{question}"}, "mode": "ppl"}, COLUMNS,
    ),
    "examples and ZeroRetriever": (few_shot(retriever={"type": "ZeroRetriever"}), COLUMNS),
    "an ICE template without examples": (few_shot(examples=None), COLUMNS),
    "what looks like a form": (
        {"prompt_template": r"{question} {question: x} {question:red} {question, y} {question(0)} {other!r}"
                            r" \text{question.upper}"},
        COLUMNS,
    ),
    "messages that are passed on": (
        {"prompt_template": {"type": "RawPromptTemplate", "messages": [{"expand_column": "m"}]}},
        {"m": pa.list_(MESSAGE)},
    ),
    "lists that hold no messages": (
        {"prompt_template": "{question} {t} {s}"},
        {"question": pa.string(), "t": pa.list_(pa.string()), "s": pa.list_(pa.struct([("role", pa.string())]))},
    ),
    "a set": ({"prompt_template": "{question} {s:n} {a.b}"}, [*COLUMNS, "s"]),
    "columns that are called so": (
        {"prompt_template": "{question.text} {question!r}"}, ["question.text", "question!r"],
    ),
    "braces of its own around LaTeX": ({"prompt_template": r"{question} \boxed{{answer}}"}, COLUMNS),
}  # fmt: skip


def is_plain(arguments):
    prompt = arguments.get("prompt_template")
    return set(arguments) <= {"prompt_template", "mode", "labels"} and not (
        isinstance(prompt, dict) and "type" in prompt
    )


@pytest.mark.parametrize("name", WRONG)
def test_what_is_probably_a_mistake(name):
    arguments, columns, code, path, remedy = WRONG[name]
    (note,) = notes(arguments, columns)
    is_sure = code == "unknown_placeholder" and "did you mean" in remedy + note["remedy"] and is_plain(arguments)
    assert (note["code"], note["severity"], note["place"]) == (code, "error" if is_sure else "warning", path)
    assert note["message"]
    assert remedy in note["remedy"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_not(name):
    arguments, columns = RIGHT[name]
    assert notes(arguments, columns) == []


def test_what_may_be_intended_is_noted_without_a_warning():
    empty = dialogue({"role": "SYSTEM", "prompt": ""}, ASK)
    (note,) = notes(empty)
    assert (note["code"], note["severity"]) == ("turn_without_text", "info")
    # Samples without answers: left open as if they had them, or not looked at.
    for arguments in (
        {"prompt_template": "{question} {answer}"},
        {"prompt_template": "{question}", "mode": "ppl", "labels": ["A"]},
        {"prompt_template": RAW},
        {"inferencer": {"type": "ChatInferencer"}},
    ):
        (note,) = notes({**arguments, "reader": READER}, ["question"])
        assert (note["code"], note["severity"]) == ("missing_output_column", "info")
    attack = {"type": "AttackInferencer", "adv_key": "adv_prompt"}
    (note,) = notes({"prompt_template": "{adv_prompt} {question}", "inferencer": attack})
    assert (note["code"], note["severity"]) == ("unknown_placeholder", "info")


def test_custom_inferencers_and_doubled_braces_may_be_intended():
    custom = {"type": "my.own.Inferencer"}
    (note,) = notes({"prompt_template": "{question}", "inferencer": custom, "mode": "gen"})
    assert (note["code"], note["severity"]) == ("unknown_inferencer", "info")
    for more in ({}, {"dialect": "opencompass"}):
        (note,) = notes({"prompt_template": "Q: {{question}} {answer}", **more})
        assert (note["code"], note["severity"]) == ("doubled_braces", "info")
    renderer = pp.Renderer("Q: {{question}}", dialect="opencompass")
    assert renderer.render(pa.table({"question": ["x"]}))["prompt"].to_pylist() == ["Q: {x}"]
    # Words that are near to a section's name may be classes.
    of_labels = notes({"prompt_template": {"ground": "{question}", "sky": "{question}"}})
    assert [(note["code"], note["severity"]) for note in of_labels] == [("label_like_key", "info")]


def test_what_is_left_out_is_noted_without_a_warning():
    # The first of the labels alone, where nothing says that it is for generation.
    (note,) = notes({"prompt_template": {"A": "{question}", "B": "{answer}"}})
    assert (note["code"], note["severity"], note["place"]) == ("first_label_only", "info", "prompt_template")
    assert "2 labels" in note["message"]
    assert "mode: ppl" in note["remedy"]
    # An answer's turn that is left open nowhere.
    speakers = [{"role": "HUMAN", "begin": "U:"}, {"role": "BOT", "begin": "A:"}]
    (note,) = notes(dialogue(ASK, REPLY, reader=READER, meta_template={"round": speakers}))
    assert (note["code"], note["severity"], note["place"]) == ("nobody_generates", "info", "meta_template")
    assert "generate" in note["remedy"]
    # Who says what, where a chat API is asked and nothing says how roles are called.
    (note,) = notes(dialogue(ASK, REPLY, output="openai"))
    assert (note["code"], note["severity"], note["place"]) == ("roles_left_out", "info", "prompt_template")
    assert "'BOT', 'HUMAN'" in note["message"]
    assert "api_role" in note["remedy"]


@pytest.mark.parametrize("name", INFERENCER_MODES)
def test_inferencers_of_the_harnesses_are_known(name):
    inferencer = {"type": name, "labels": ["A"]}
    try:
        renderer = pp.Renderer("{question}", reader={"input_columns": ["question"]}, inferencer=inferencer)
    except pp.TemplateError as error:
        assert "not supported" in str(error)  # noqa: PT017
        return
    assert "unknown_inferencer" not in renderer.notes(schema_of(COLUMNS))["code"].to_pylist()


def test_a_split_without_answers_is_no_mistake():
    def severity(template, reader, columns):
        (note,) = notes({"prompt_template": template, "reader": reader}, columns)
        assert note["code"] == "missing_output_column"
        return note["severity"]

    assert severity("{question}", READER, ["question", "level"]) == "info"
    assert severity("{question} {level}", READER, ["question", "level"]) == "warning"
    assert (
        severity("{question} {level}", {**READER, "input_columns": ["question", "level"]}, ["question", "level"])
        == "info"
    )
    assert severity("{question} {level}", {"output_column": "answer"}, ["question", "level"]) == "info"
    assert severity("{question}", READER, ["question", "anwser"]) == "warning"


def test_the_outcome_of_a_placeholder_of_media_is_noted():
    samples = pa.table({"question": ["x"], "image": ["a.png"]})
    for parts, becomes, text in [
        ({"text": "{question}", "image_url": "file://{imge}"}, "nothing is put in its place", "file://"),
        ({"text": "{questoin}", "image_url": "file://{image}"}, "it stays in every prompt", "{questoin}"),
    ]:
        renderer = pp.Renderer(**compact(**parts), output="messages")
        (note,) = renderer.notes(samples).to_pylist()
        assert becomes in note["message"]
        with pytest.warns(pp.PromptWarning):
            assert f"'{text}'" in str(pp.to_pylist(renderer.render(samples)["prompt"]))


def test_the_table():
    renderer = pp.Renderer("{questoin}")
    table = renderer.notes(pa.table({"question": ["x"]}))
    assert table.schema == pa.schema(
        [(name, pa.string()) for name in ("code", "severity", "place", "message", "remedy")]
    )
    assert table.to_pylist() == renderer.notes(schema_of(["question"])).to_pylist()
    assert pp.Renderer("{question}").notes(schema_of(["question"])).schema == table.schema


TRAIN = pa.table({"question": ["1+1=?", "2+2=?", "3+3=?"], "answer": ["2", "4", "6"]})
OTHERS = pa.table({"question": ["5+5=?", "2+2=?"], "answer": ["10", "4"]})


def shots(retriever, examples=TRAIN):
    template = {"type": "PromptTemplate", "template": "</E>{question}", "ice_token": "</E>"}
    return pp.Renderer(template, "{question} {answer}\n", retriever, examples, READER)


@pytest.mark.parametrize(
    ("retriever", "samples", "expected"),
    [
        ({"type": "FixKRetriever", "fix_id_list": [0, 1]}, TRAIN, [("same_table", "warning")]),
        ({"type": "FixKRetriever", "fix_id_list": [0, 1]}, pa.table(TRAIN.to_pydict()), [("same_table", "warning")]),
        ({"type": "RandomRetriever", "ice_num": 1}, TRAIN, [("same_table", "warning")]),
        ({"type": "SlidingWindowRetriever", "k": 1}, TRAIN, [("same_table", "info")]),
        ({"type": "ZeroRetriever"}, TRAIN, []),
        ({"type": "RandomRetriever", "ice_num": 1}, OTHERS, []),
        ({"type": "FixKRetriever", "fix_id_list": [0, 1, -2]}, OTHERS, [("chosen_samples", "warning")]),
        ({"type": "FixKRetriever", "fix_id_list": [0, 2]}, OTHERS, []),
        # Another answer to the same question is another row, and so may one be with columns of its own.
        ({"type": "FixKRetriever", "fix_id_list": [1]}, pa.table({"question": ["2+2=?"], "answer": ["four"]}), []),
        ({"type": "FixKRetriever", "fix_id_list": [1]}, OTHERS.append_column("id", [[0, 1]]), []),
        ({"type": "FixKRetriever", "fix_id_list": [1]}, OTHERS.slice(0, 0), []),
    ],
)
def test_examples_that_are_samples_too(retriever, samples, expected):
    table = shots(retriever).notes(samples)
    assert [(note["code"], note["severity"]) for note in table.to_pylist()] == expected
    if expected == [("chosen_samples", "warning")]:
        assert table["message"][0].as_py().endswith("too: 1, -2")


def test_rows_are_compared_with_nulls_and_nested_values():
    train = pa.table({"question": ["a", None], "answer": [None, "y"], "list": [["x"], None]})
    renderer = shots({"type": "FixKRetriever", "fix_id_list": [0, 1]}, train)
    table = pa.concat_tables([train.slice(1), train.slice(1)])
    assert renderer.notes(table)["message"].to_pylist() == ["samples hold the examples of these rows too: 1"]
