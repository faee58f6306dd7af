"""Random tasks, documents and options: the table of requests beside what the real harness makes."""

import contextlib
import copy
import io
import logging
import math
import random

import promptpress as pp
import pyarrow as pa
import pytest

datasets = pytest.importorskip("datasets")
lm_eval_task = pytest.importorskip("lm_eval.api.task")

from promptpress.lm_eval import requests  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

TEXTS = [
    "",
    "a",
    "yes",
    " no ",
    "two\nlines",
    "é ü",
    "tab\t",
    "x\u00a0",
    "[1]",
    "it's",
    '"q"',
    "\u2028",
    "{{x}}",
    "Q: {q}",
]
RARE_TEXTS = [*TEXTS, "1", "7", "00", "²", "007"]
CHOICES = [["A", "B", "C"], ["yes", "no"], [" a", "b"], ["1", "2"], [1, 2], ["only"]]
FIELDS = ["q", "n", "flag", "lists", "maybe", "real", "info", "nothing_of_that_name"]
TEMPLATES = [
    "{{q}}",
    "Q: {{q.strip()}}\nA:",
    "{{n}}",
    "{{ lists[n % 2] }}",
    "{% if flag %}{{q}}{% else %}-{% endif %} ",
    "plain\r\ntext",
    "",
    "{{info.name}}?",
    "{{lists}}",
    "{{undefined_name}}",
    "{{maybe}}",
]
TARGETS = [*FIELDS, *TEMPLATES, 0, 1, -1, 5, ["a", "b"], "{{[q, q]}}", "0", "x"]
DELIMITERS = [" ", "", "\n", "\n\n", ": ", " ## "]
NULLED = [(), ("target_delimiter",), ("fewshot_delimiter",), ("target_delimiter", "fewshot_delimiter")]
DESCRIPTIONS = [None, "", "Answer.\n\n", "q", "About {{n}}.", "Be kind. "]
PREFIXES = [None, None, None, "", "The answer is", "{{q}}", "q", "maybe", "So: "]


def chat(messages, add_generation_prompt=True):
    turns = "".join(f"<{message['role']}>{message['content']}" for message in messages)
    return turns + ("</>" if add_generation_prompt else "")


def documents(draw: random.Random, rows: int) -> pa.Table:
    schema = pa.schema(
        {
            "q": pa.string(),
            "n": pa.int64(),
            "flag": pa.bool_(),
            "lists": pa.list_(pa.string()),
            "maybe": pa.string(),
            "real": pa.float64(),
            "info": pa.struct({"name": pa.string()}),
        }
    )
    texts = RARE_TEXTS if draw.random() < 0.15 else TEXTS
    pool = [
        {
            "q": draw.choice(texts),
            "n": draw.randrange(2),
            "flag": draw.random() < 0.5,
            "lists": [draw.choice(TEXTS[1:4]), draw.choice(texts)][: 2 if draw.random() < 0.98 else 1],
            "maybe": draw.choice([None, "", "m", " m"]),
            "real": draw.choice([0.0, 1.5, math.nan]) if draw.random() < 0.1 else 2.0,
            "info": {"name": draw.choice(TEXTS)},
        }
        for _ in range(rows)
    ]
    if draw.random() < 0.3:
        pool = [draw.choice(pool[:3]) for _ in pool]
    return pa.Table.from_pylist(pool, schema)


def task_config(draw: random.Random) -> dict:
    config = {
        "task": draw.choice(["t", None]),
        "output_type": draw.choice(
            ["multiple_choice"] * 4 + ["generate_until"] * 3 + ["loglikelihood", "loglikelihood_rolling"]
        ),
    }
    often = draw.random() < 0.85
    config["doc_to_text"] = draw.choice([*TEMPLATES[:7], "q"] if often else [*FIELDS, *TEMPLATES, 0])
    config["doc_to_target"] = draw.choice(["q", "n", "{{n}}", "{{q}}"] if often else TARGETS)
    if config["output_type"] == "multiple_choice" or draw.random() < 0.2:
        usual = [*CHOICES[:4], "lists", "{{lists}}", "{{[q, 'x']}}", {"a": "x", "b": "y"}, "{{['u', 'v']}}"]
        config["doc_to_choice"] = draw.choice(usual if often else [*CHOICES, *usual, "q", "n"])
    splits = draw.choice(
        [("test_split",), ("test_split", "training_split"), ("validation_split",), ("validation_split", "test_split")]
    )
    config |= dict.fromkeys(splits, "own")
    config |= {split: split for split in splits}
    few = draw.choice([None, "dev", "test_split", "validation_split", "training_split"])
    if few == "dev" or few in config:
        config["fewshot_split"] = few
    for key, values in (
        ("target_delimiter", DELIMITERS),
        ("fewshot_delimiter", DELIMITERS),
        ("description", DESCRIPTIONS),
        ("gen_prefix", PREFIXES),
        ("repeats", [1, 3]),
    ):
        if draw.random() < 0.4:
            config[key] = draw.choice(values)
    shot_config = {}
    if draw.random() < 0.3:
        shot_config["sampler"] = draw.choice(["first_n", "default"])
    if draw.random() < 0.1:
        shot_config["samples"] = [
            {"q": "s1", "n": 0, "lists": ["l"], "maybe": "m"},
            {"q": "s2", "n": 1, "lists": ["l", "k"]},
        ]
    for key, values in (
        ("doc_to_text", [*TEMPLATES, "q"]),
        ("doc_to_target", ["n", "q", "{{q}}", *TARGETS]),
        ("doc_to_choice", [None, ["v", "w"], "lists"]),
        ("gen_prefix", PREFIXES),
        ("fewshot_delimiter", DELIMITERS),
        ("target_delimiter", DELIMITERS),
    ):
        if draw.random() < 0.08:
            shot_config[key] = draw.choice(values)
    if shot_config or draw.random() < 0.1:
        config["fewshot_config"] = shot_config
    if draw.random() < 0.4:
        config["generation_kwargs"] = draw.choice(
            [{}, {"temperature": "0.5"}, {"until": ["\n"], "do_sample": True}, {"temperature": 1, "max_gen_toks": 5}]
        )
    if draw.random() < 0.1:
        config["metric_list"] = [{"metric": "acc_mutual_info", "aggregation": "mean", "higher_is_better": True}]
    return config


def options(draw: random.Random) -> dict:
    chosen = {
        "num_fewshot": draw.choice([0, 0, 1, 2, 3, 6]),
        "seed": draw.choice([1234, 0, 7, "s", 2.5]),
        "system_instruction": draw.choice([None, None, "", "System.", "System.\n"]),
        "fewshot_as_multiturn": draw.random() < 0.5,
        "chat_template": draw.choice([None, None, chat]),
    }
    if draw.random() < 0.2:
        chosen["limit"] = draw.choice([1, 3, 100])
    if draw.random() < 0.1:
        chosen["samples"] = [0, 2]
    if draw.random() < 0.1:
        chosen |= {"rank": draw.choice([0, 1]), "world_size": 2}
    return chosen


def of_harness(config, docs, few, given):
    """Return (instances, None), or (None, the exception)."""
    given = dict(given)
    names = ("training_split", "validation_split", "test_split", "fewshot_split")
    splits = {config[name]: datasets.Dataset(few) for name in names if config.get(name)}
    splits[config.get("test_split") or config.get("validation_split")] = datasets.Dataset(docs)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            config = {**copy.deepcopy(config), "num_fewshot": given.pop("num_fewshot")}
            task = lm_eval_task.ConfigurableTask(config={**config, "custom_dataset": lambda **_: splits})
            task.set_fewshot_seed(given.pop("seed"))
            task.build_all_requests(**given, apply_chat_template=given["chat_template"] is not None)
    except Exception as error:
        return None, error
    return [(i.request_type, i.arguments, i.idx, i.doc_id, i.metadata) for i in task.instances], None


def of_table(config, docs, few, given):
    table = requests(config, docs, few, **given)
    assert table.column_names == ["request_type", "arguments", "idx", "doc_id", "metadata"]
    table.validate(full=True)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def run(seed: int, null_delimiters: bool = False) -> str:
    draw = random.Random(seed)
    docs, few = documents(draw, draw.choice([1, 3, 8, 30])), documents(draw, draw.choice([1, 4, 25]))
    config, given = task_config(draw), options(draw)
    if null_delimiters:
        for settings in (config, config.get("fewshot_config", {})):
            settings.update(dict.fromkeys(draw.choice(NULLED)))
        if draw.random() < 0.7:
            config.pop("doc_to_choice", None)
            config["output_type"] = draw.choice(["generate_until", "loglikelihood"])
    want, error = of_harness(config, docs, few, given)
    if error is not None:
        with pytest.raises((pp.RenderError, pp.TemplateError)) as refused:
            of_table(config, docs, few, given)
        return "named" if type(error).__name__ in str(refused.value) else "unnamed"
    got = of_table(config, docs, few, given)
    assert repr(got) == repr(want), (seed, config, given)
    return "equal"


@pytest.mark.parametrize("block", range(20))
def test_requests_are_those_of_the_harness(block):
    outcomes = [run(block * 1000 + n) for n in range(15)]
    assert outcomes.count("equal") >= 5
    # Where several things are wrong, the harness meets another one first.
    assert outcomes.count("unnamed") <= 2


@pytest.mark.parametrize("block", range(10))
def test_delimiters_that_are_none_are_refused_where_the_harness_uses_them(block):
    outcomes = [run(100_000 + block * 1000 + n, null_delimiters=True) for n in range(15)]
    assert outcomes.count("equal") >= 2
    assert outcomes.count("named") >= 1
    assert outcomes.count("unnamed") <= 2
