"""Requests of a task, piece by piece; tests/real/jinja compares them with the real harness."""

import math

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress.lm_eval import requests

pytest.importorskip("jinja2")

DOCS = pa.table(
    {
        "q": ["Is ice cold? ", "Is fire cold?"],
        "options": [["yes", "no"], ["aye", "nay", "hm"]],
        "gold": [0, 1],
        "said": ["yes", "no"],
        "hint": ["", "So"],
    }
)
SHOTS = pa.table(
    {
        "q": ["s0", "s1", "s2"],
        "options": [["a0", "b0"], ["a1", "b1"], ["a2", "b2"]],
        "gold": [0, 1, 0],
        "said": ["t0", "", "t2"],
        "hint": ["", "", "h"],
    }
)
TASK = {"task": "t", "test_split": "test", "fewshot_split": "dev", "doc_to_text": "{{q.strip()}}"}
CHOICES = TASK | {"output_type": "multiple_choice", "doc_to_choice": "options", "doc_to_target": "gold"}
ANSWERS = TASK | {"doc_to_target": "said"}
LIKELIHOOD = TASK | {"output_type": "loglikelihood", "doc_to_target": "said"}


def arguments(config, docs=DOCS, shots=SHOTS, **options):
    return [row["arguments"] for row in requests(config, docs, shots, **options).to_pylist()]


def contexts(config, **options):
    return list(dict.fromkeys(request[0] for request in arguments(config, **options)))


def test_each_choice_is_a_request_with_its_documents_context():
    table = requests(CHOICES, DOCS)
    assert table.to_pylist() == [
        {
            "request_type": "loglikelihood",
            "arguments": context_and_choice,
            "idx": idx,
            "doc_id": doc,
            "metadata": ("t", doc, 1),
        }
        for context_and_choice, idx, doc in [
            (("Is ice cold?", " yes"), 0, 0),
            (("Is ice cold?", " no"), 1, 0),
            (("Is fire cold?", " aye"), 0, 1),
            (("Is fire cold?", " nay"), 1, 1),
            (("Is fire cold?", " hm"), 2, 1),
        ]
    ]


def test_contexts_are_stored_once_for_all_choices():
    storage = requests(CHOICES | {"doc_to_choice": ["x"] * 9}, DOCS)["arguments"].chunk(0).storage
    assert len(storage.field("context").dictionary) == 2
    assert len(storage.field("continuation").dictionary) == 9
    assert len(storage) == 18


@pytest.mark.parametrize(
    ("choices", "first"),
    [
        (["x", "y"], ["x", "y"]),
        ({"a": "x", 7: "y"}, ["x", "y"]),
        ("{{options}}", ["yes", "no"]),
        ("{{[said, 'it\\'s']}}", ["yes", "it's"]),
        ("('u', 'v')", ["u", "v"]),
        ("said", ["y", "e", "s"]),
    ],
)
def test_choices_come_from_lists_columns_and_literals(choices, first):
    config = CHOICES | {"doc_to_choice": choices, "doc_to_target": "0", "target_delimiter": "="}
    rows = requests(config, DOCS, limit=1).to_pylist()
    assert [row["arguments"][1] for row in rows] == [f"={choice}" for choice in first]


def test_a_generation_takes_settings_with_what_ends_it():
    config = ANSWERS | {"generation_kwargs": {"temperature": "0.7", "nested": {"a": [1, None]}}}
    (_, first), (_, second) = arguments(config)
    assert first == second == {"temperature": 0.7, "nested": {"a": [1, None]}, "until": ["\n\n"]}
    assert first is not second
    assert list(first) == ["temperature", "nested", "until"]
    default = arguments(ANSWERS | {"fewshot_delimiter": "##"})[0][1]
    assert default["until"] == ["##"]
    assert default["temperature"] == 0.0


@pytest.mark.parametrize(
    ("target", "column"),
    [
        ("said", pa.array(["a", "b"])),
        ("said", pa.array([1, 2])),
        ("said", pa.array([1.5, -math.inf])),
        ("said", pa.array([["a"], []])),
        ("said", pa.array([None, "x"])),
        ("said", pa.array([{"$tuple": [1]}, {"$tuple": []}])),
        ("said", pa.array([b"\xff", b""])),
        ("said", pa.array([0, 86_400_000], pa.timestamp("ms"))),
    ],
)
def test_targets_are_whatever_a_column_holds(target, column):
    docs = pa.table({"q": ["a", "b"], "said": column})
    expected = [(text, value) for text, value in zip("ab", column.to_pylist(), strict=True)]
    assert repr(arguments(LIKELIHOOD | {"doc_to_target": target}, docs)) == repr(expected)
    rolling = LIKELIHOOD | {"output_type": "loglikelihood_rolling"}
    assert repr(arguments(rolling, docs)) == repr([(value,) for value in column.to_pylist()])


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[1, 'a' 'b']", [1, "ab"]),
        ("[1, (2, {3})]", [1, (2, {3})]),
        ("[{1: b'x', 'k': 2j}]", [{1: b"x", "k": 2j}]),
        ("[...]", [...]),
        ("[unknown]", "[unknown]"),
        ("7", "7"),
    ],
)
def test_a_target_that_reads_as_a_list_is_one(text, target):
    assert arguments(LIKELIHOOD | {"doc_to_target": text})[0] == ("Is ice cold?", target)


def test_digits_are_numbers_where_there_are_choices():
    config = LIKELIHOOD | {"doc_to_choice": ["x", "y"], "doc_to_target": "{{gold}}"}
    assert [request[1] for request in arguments(config)] == [0, 1]
    with pytest.raises(pp.RenderError, match="row 0: SyntaxError"):
        requests(config | {"doc_to_target": "0{{gold + 1}}"}, DOCS)


def test_shots_stand_before_the_question_with_their_answers():
    config = ANSWERS | {"fewshot_config": {"sampler": "first_n"}, "description": "D. "}
    # The second shot has no answer, and so no delimiters.
    assert contexts(config, num_fewshot=3) == [
        "D. s0 t0\n\ns1s2 t2\n\nIs ice cold?",
        "D. s0 t0\n\ns1s2 t2\n\nIs fire cold?",
    ]
    other = {"doc_to_text": "<{{q}}>", "doc_to_target": 1, "doc_to_choice": ["m", "n"], "target_delimiter": ">"}
    config["fewshot_config"] |= other | {"fewshot_delimiter": "|"}
    assert contexts(config, num_fewshot=2)[0] == "D. <s0>>n|<s1>>n|Is ice cold?"


def test_random_shots_follow_the_seed():
    config = ANSWERS | {"fewshot_delimiter": ";"}
    # random.Random(1234).sample(range(3), 2), twice
    assert contexts(config, num_fewshot=2) == ["s1s0 t0;Is ice cold?", "s0 t0;s2 t2;Is fire cold?"]
    assert contexts(config, num_fewshot=2, seed=8) != contexts(config, num_fewshot=2)
    with pytest.raises(pp.TemplateError, match="num_fewshot: ValueError"):
        requests(config, DOCS, SHOTS, num_fewshot=4)


def test_a_document_is_no_shot_of_itself():
    docs = pa.table({"q": ["a", "b", "a"], "said": ["1", "2", "1"]})
    config = ANSWERS | {"fewshot_split": "test"}
    assert contexts(config, docs=docs, num_fewshot=1) == ["b 2\n\na", "a 1\n\nb"]
    odd = docs.append_column("x", pa.array([math.nan, 0.0, 0.0]))
    # NaN equals nothing: a row that holds it isn't known again.
    drawn = {contexts(config, docs=odd, num_fewshot=2, seed=seed)[0] for seed in range(40)}
    assert any(context.startswith("a 1\n\na 1") or context.endswith("a 1\n\na") for context in drawn)
    first = config | {"fewshot_config": {"sampler": "first_n"}}
    assert contexts(first, docs=docs, num_fewshot=1) == ["b 2\n\na", "a 1\n\nb"]


def test_listed_samples_need_not_be_alike():
    samples = [{"q": "l0", "said": "m0", "hint": "x"}, {"q": "l1", "said": ["n", "o"]}]
    config = ANSWERS | {"fewshot_split": None, "fewshot_config": {"samples": samples, "sampler": "first_n"}}
    assert contexts(config, num_fewshot=2)[0] == "l0 m0\n\nl1 n\n\nIs ice cold?"
    with pytest.raises(pp.RenderError, match="few-shot document 1: KeyError: 'hint'"):
        requests(config | {"doc_to_text": "hint"}, DOCS, num_fewshot=2)


@pytest.mark.parametrize(
    ("prefix", "ends"),
    [
        ("A:", ["Is ice cold? A:", "Is fire cold? A:"]),
        ("\nA:", ["Is ice cold?\nA:", "Is fire cold?\nA:"]),
        ("hint", ["Is ice cold?", "Is fire cold? So"]),
        ("{{hint}}", ["Is ice cold?", "Is fire cold? So"]),
        ("", ["Is ice cold?", "Is fire cold?"]),
        (None, ["Is ice cold?", "Is fire cold?"]),
    ],
)
def test_a_prefix_stands_after_the_question(prefix, ends):
    assert contexts(ANSWERS | {"gen_prefix": prefix}) == ends


def test_several_inputs_have_a_context_for_each_choice():
    config = CHOICES | {"doc_to_text": "gold", "doc_to_target": "said", "description": "D:"}
    assert arguments(config, docs=DOCS.slice(0, 1)) == [("D:yes", " yes"), ("D:no", " yes")]
    config["fewshot_config"] = {"sampler": "first_n"}
    assert arguments(config, num_fewshot=1)[0] == ("D:a0 t0\n\nyes", " yes")


def test_mutual_information_asks_for_each_choice_alone():
    config = CHOICES | {"metric_list": [{"metric": "acc_mutual_info"}]}
    rows = requests(config, DOCS, limit=1).to_pylist()
    assert [row["arguments"] for row in rows] == [
        ("Is ice cold?", " yes"),
        ("Is ice cold?", " no"),
        ("", " yes"),
        ("", " no"),
    ]
    assert [row["idx"] for row in rows] == [0, 1, 2, 3]


def chat(messages, add_generation_prompt=True):
    turns = [f"{message['role'][0]}:{message['content']}" for message in messages]
    return "|".join([*turns, "a:"] if add_generation_prompt else turns)


def test_a_chat_holds_shots_in_one_message_or_in_many():
    config = ANSWERS | {"fewshot_config": {"sampler": "first_n"}, "description": "Short."}
    options = {"num_fewshot": 1, "chat_template": chat, "system_instruction": "Be kind."}
    in_one = contexts(config, **options)
    assert in_one[0] == "s:Be kind.\n\nShort.|u:s0 t0\n\nIs ice cold?|a:"
    many = contexts(config, fewshot_as_multiturn=True, **options)
    assert many[0] == "s:Be kind.\n\nShort.|u:s0|a:t0|u:Is ice cold?|a:"
    opened = contexts(config | {"gen_prefix": "It is"}, **options)
    assert opened[0] == "s:Be kind.\n\nShort.|u:s0 It is t0\n\nIs ice cold?|a:It is"


def test_in_a_chat_a_choice_follows_without_delimiter():
    assert arguments(CHOICES, chat_template=chat)[0] == ("u:Is ice cold?|a:", "yes")
    assert arguments(CHOICES | {"gen_prefix": "A"}, chat_template=chat)[0] == ("u:Is ice cold?|a:A", " yes")
    assert arguments(CHOICES | {"gen_prefix": "A "}, chat_template=chat)[0] == ("u:Is ice cold?|a:A ", "yes")


def test_a_chat_template_that_raises_names_the_row():
    def picky(messages, add_generation_prompt=True):
        if "fire" in messages[0]["content"]:
            raise LookupError("no fire")
        return chat(messages, add_generation_prompt)

    with pytest.raises(pp.RenderError, match="row 1: LookupError: no fire"):
        requests(ANSWERS, DOCS, chat_template=picky)


@pytest.mark.parametrize(
    ("options", "ids", "rows"),
    [
        ({"limit": 2}, [0, 1], [0, 1]),
        ({"rank": 1, "world_size": 3}, [1, 4, 7], [1, 4, 7]),
        ({"rank": 1, "world_size": 3, "limit": 5}, [1, 4], [1, 4]),
        ({"samples": [6, 2, 6]}, [0, 1], [2, 6]),
        ({"samples": [2, 6, 3], "rank": 1, "world_size": 2}, [1], [3]),
        ({"samples": [2, 6], "limit": 1}, [0], [2]),
        ({"limit": -1}, None, None),
        ({"limit": 1.5}, None, None),
        ({"samples": [9]}, None, None),
        ({"rank": 9}, None, None),
    ],
)
def test_part_of_the_documents(options, ids, rows):
    docs = pa.table({"q": [f"q{n}" for n in range(9)]})
    config = ANSWERS | {"doc_to_target": "x"}
    if ids is None:
        with pytest.raises((pp.TemplateError, pp.RenderError)):
            requests(config, docs, **options)
        return
    table = requests(config, docs, **options)
    assert table["doc_id"].to_pylist() == ids
    assert [request[0] for request in table["arguments"].to_pylist()] == [f"q{row}" for row in rows]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_to_txt": "q"}, "doc_to_txt: TypeError: no task has this key; did you mean doc_to_text?"),
        ({"output_type": "classification"}, "output_type: ValueError: found 'classification'"),
        ({"test_split": None}, "test_split: ValueError"),
        ({"doc_to_text": len}, "doc_to_text: it is a function"),
        ({"process_docs": len}, "process_docs: it is a function, .* give the documents that it returns"),
        ({"use_prompt": "a:b"}, "use_prompt: only lm-evaluation-harness itself"),
        ({"doc_to_image": "q"}, "doc_to_image: only lm-evaluation-harness itself"),
        ({"fewshot_config": {"sampler": "best"}}, r"fewshot_config\.sampler: KeyError: found 'best'"),
        ({"fewshot_config": {"smapler": "first_n"}}, r"fewshot_config\.smapler: .* did you mean sampler"),
        ({"fewshot_split": None, "fewshot_config": {"samples": "x"}}, r"fewshot_config\.samples: Exception"),
        ({"generation_kwargs": {"temperature": "hot"}}, r"generation_kwargs\.temperature: ValueError"),
        ({"target_delimiter": 3}, "target_delimiter: TypeError: expected a string; found 3, a int"),
        ({"repeats": "2"}, "repeats: expected an int"),
        ({"metric_list": [{"name": "acc"}]}, r"metric_list\[0\]: ValueError"),
        ({"doc_to_text": "{{ q"}, "TemplateSyntaxError"),
    ],
)
def test_configurations_that_make_no_requests(change, message):
    with pytest.raises((pp.TemplateError, pp.RenderError), match=message):
        requests(ANSWERS | change, DOCS, SHOTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_to_text": "{{nothing}}"}, "row 0: UndefinedError: 'nothing' is undefined"),
        ({"doc_to_text": "options"}, "row 0: AssertionError"),
        ({"doc_to_text": "{% if gold %}{{nothing}}{% endif %}"}, "row 1: UndefinedError"),
        ({"doc_to_target": None}, "row 0: TypeError"),
        ({"doc_to_choice": ["x", ""]}, "row 0: IndexError"),
        ({"doc_to_choice": "{{options", "doc_to_target": "gold"}, "TemplateSyntaxError"),
        ({"doc_to_choice": "[{{q}}]"}, "row 0: SyntaxError"),
        ({"gen_prefix": "{{nothing}}"}, "row 0: UndefinedError"),
        ({"description": "{{nothing}}"}, "row 0: UndefinedError"),
        ({"doc_to_choice": ["\ud800"]}, "UnicodeEncodeError"),
    ],
)
def test_documents_at_which_the_harness_raises(change, message):
    with pytest.raises((pp.TemplateError, pp.RenderError), match=message):
        requests(CHOICES | change, DOCS, SHOTS)


def test_no_documents_are_an_error():
    with pytest.raises(pp.RenderError, match="IndexError"):
        requests(ANSWERS, DOCS.slice(0, 0))
    with pytest.raises(pp.RenderError, match="ValueError: no document"):
        requests(ANSWERS, DOCS, rank=5, world_size=9)
    with pytest.raises(pp.TemplateError, match="fewshot_docs: shots are drawn from the split 'dev'"):
        requests(ANSWERS, DOCS, num_fewshot=1)
    with pytest.raises(pp.TemplateError, match="AssertionError: there are no few-shot documents"):
        requests(ANSWERS, DOCS, SHOTS.slice(0, 0), num_fewshot=1)


def test_errors_name_the_row_of_the_whole_table():
    docs = pa.table({"q": ["a", "b", "c", "d"], "said": ["x", "x", "x", None]})
    config = ANSWERS | {"doc_to_text": "{{q + said}}"}
    assert requests(config, docs, rank=0, world_size=2).num_rows == 2
    with pytest.raises(pp.RenderError, match="row 3: TypeError"):
        requests(config, docs, rank=1, world_size=2)


@pytest.mark.parametrize(
    "strings", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
@pytest.mark.parametrize("text", ["q", "{{q}}"])
@pytest.mark.parametrize("split", ["test", "dev"])
def test_any_layout_of_texts(strings, text, split):
    def laid_out(table):
        column = pa.array(table["q"].to_pylist(), pa.string()).dictionary_encode()
        column = column.cast(strings) if pa.types.is_dictionary(strings) else pa.array(table["q"].to_pylist(), strings)
        table = table.set_column(0, "q", column)
        return pa.concat_tables([table.slice(0, 1), table.slice(1)])

    settings = {"doc_to_text": text, "fewshot_split": split}
    for config in (
        CHOICES | settings,
        ANSWERS | settings | {"gen_prefix": "q"},
        LIKELIHOOD | settings | {"doc_to_target": "q"},
    ):
        for options in ({"num_fewshot": 1}, {"rank": 1, "world_size": 2}):
            expected = requests(config, DOCS, SHOTS, **options).to_pylist()
            assert requests(config, laid_out(DOCS), laid_out(SHOTS), **options).to_pylist() == expected


def test_malformed_tables_are_refused():
    offsets = pa.py_buffer(bytes(4) + (100).to_bytes(4, "little") + (9).to_bytes(4, "little"))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"some text")])
    for docs, shots in ((pa.table({"q": broken}), SHOTS), (DOCS, pa.table({"q": broken}))):
        with pytest.raises(pp.RenderError, match="malformed"):
            requests(ANSWERS | {"doc_to_target": "x"}, docs, shots, num_fewshot=1)
