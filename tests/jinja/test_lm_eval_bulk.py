"""Bulk results equal single results: draws, contexts, literals, equal rows."""

import ast
import random
import re

import promptpress as pp
import pyarrow as pa
import pytest

pytest.importorskip("jinja2")

import promptpress._core as _core
from promptpress.lm_eval import requests
from promptpress_harness.lm_eval import contexts as contexts_module
from promptpress_harness.lm_eval.documents import TableDocuments, listed_choices, render_row, syntax_tree
from promptpress_harness.lm_eval.fields import literal, number
from promptpress_harness.lm_eval.task import Groups, draw, equal_rows, first_n

SIZES = [1, 2, 5, 20, 21, 22, 30, 64, 85, 86, 100, 285, 1000, 70_000, 2**17]


@pytest.mark.parametrize("pool", SIZES)
@pytest.mark.parametrize("shots", [1, 5, 6, 12])
def test_draws_are_those_of_sample(pool, shots):
    if shots > pool:
        with pytest.raises(ValueError, match=f"{shots} shots are asked for, and there are {pool}"):
            draw(random.Random(1), pool, shots, None, 1)
        return
    for count in (0, 1, 3, 400):
        ours, theirs = random.Random(f"{pool} {shots} {count}"), random.Random(f"{pool} {shots} {count}")
        ours.random(), theirs.random()
        expected = [row for _ in range(count) for row in theirs.sample(range(pool), shots)]
        assert draw(ours, pool, shots, None, count).to_pylist() == expected
        assert ours.getstate() == theirs.getstate()


@pytest.mark.parametrize("seed", range(40))
def test_random_draws_are_those_of_sample(seed):
    choose = random.Random(seed)
    ours = random.Random(seed)
    for _ in range(choose.randrange(2000)):
        ours.random()
    ours.gauss(0, 1)
    theirs = random.Random()
    theirs.setstate(ours.getstate())
    for _ in range(30):
        shots = choose.choice([1, 2, 5, 6, 21, 64, 65, 100, choose.randrange(1, 500)])
        pool = shots + choose.choice([0, 1, choose.randrange(40), choose.randrange(2000), choose.randrange(10**6)])
        count = choose.randrange(20)
        expected = [row for _ in range(count) for row in theirs.sample(range(pool), shots)]
        assert draw(ours, pool, shots, None, count).to_pylist() == expected
        assert ours.getstate() == theirs.getstate()


def in_groups(numbers):
    return pa.array(numbers, pa.int64())


@pytest.mark.parametrize("kind", [random.Random, type("Own", (random.Random,), {})])
@pytest.mark.parametrize("pool", [6, 21, 30, 300])
def test_draws_leave_equal_rows_out(pool, kind):
    choose = random.Random(pool)
    for shots in (1, 2, 5):
        few = [0] * (pool - shots) + list(range(1, shots + 1))
        for groups in (few, [choose.randrange(-1, 9) for _ in range(pool)], list(range(pool)), [-1] * pool):
            large = {group for group in groups if group >= 0 and len(groups) - groups.count(group) >= shots}
            documents = [choose.choice([*large, -1, 1000]) for _ in range(100)]
            ours, theirs = kind(shots), random.Random(shots)
            expected = []
            for group in documents:
                equal = {row for row in range(pool) if groups[row] == group >= 0}
                drawn = [row for row in theirs.sample(range(pool), shots + 1) if row not in equal][:shots]
                if len(drawn) < shots:
                    drawn = theirs.sample([row for row in range(pool) if row not in equal], shots)
                expected += drawn
            assert draw(ours, pool, shots, Groups(in_groups(groups), in_groups(documents)), 100).to_pylist() == expected
            assert ours.getstate() == theirs.getstate()


def test_a_generator_of_another_class_draws_itself():
    class Lowest(random.Random):
        def getrandbits(self, k):
            return super().getrandbits(k) & 3

    expected = Lowest(5).sample(range(100), 4)
    assert set(expected) <= {0, 1, 2, 3}
    assert draw(Lowest(5), 100, 4, None, 1).to_pylist() == expected


def test_where_sample_is_another_it_draws(monkeypatch):
    def sample(self, population, k):
        return list(population)[self.getrandbits(3) : 8 + k][:k]

    monkeypatch.setattr(random.Random, "sample", sample)
    ours, theirs = random.Random(3), random.Random(3)
    expected = [row for _ in range(50) for row in theirs.sample(range(99), 4)]
    assert draw(ours, 99, 4, None, 50).to_pylist() == expected
    assert ours.getstate() == theirs.getstate()


def test_the_core_checks_what_it_is_given():
    state = random.Random(1).getstate()[1]
    some = in_groups([0, 1, 2])
    for wrong in ([], state[:-1], [*state, 1], [*state[:-1], 625]):
        with pytest.raises(ValueError, match="no generator's state"):
            _core.drawn_rows(wrong, 9, 2, 1)
    two = some.slice(1)
    assert _core.drawn_rows(state, 3, 1, 2, (some, two))
    for pool, documents in ((some, some), (two, two), (some.cast(pa.int32()), two), (in_groups([0, None, 1]), two)):
        with pytest.raises(ValueError, match="int64, one for each document"):
            _core.drawn_rows(state, 3, 1, 2, (pool, documents))
    with pytest.raises(ValueError, match="int64, one for each document"):
        _core.first_rows(1, some, in_groups([0, None]))


def test_the_first_ones_leave_equal_rows_out():
    for pool, documents, expected in (
        ([0, 1, 2, 3, 4], [9, 0, -1, 4], [0, 1, 1, 2, 0, 1, 0, 1]),
        ([7, 7, 7, 3, 4], [7, -1, 3], [3, 4, 0, 1, 0, 1]),
    ):
        groups = Groups(in_groups(pool), in_groups(documents))
        assert first_n(5, 2, groups, len(documents)).to_pylist() == expected
    with pytest.raises(AssertionError, match="3 shots are asked for, and there are 2"):
        first_n(5, 3, groups, 3)
    assert first_n(5, 2, None, 3).to_pylist() == [0, 1] * 3
    assert first_n(5, 2, None, 0).to_pylist() == []
    with pytest.raises(AssertionError, match="6 shots are asked for, and there are 5"):
        first_n(5, 6, None, 1)


PIECES = ["", "a", " b ", "{q}", "{{x}}", "\uf8ff0", "{\uf8ff0}", "\uf8ffshots\uf8ff", "é\n", "7", "[1]", "x\u3000"]


@pytest.mark.filterwarnings("ignore:doc_to_text")
@pytest.mark.parametrize("seed", range(60))
def test_contexts_in_bulk_are_those_made_one_by_one(seed, monkeypatch):
    choose = random.Random(seed)

    def table(rows):
        return pa.table(
            {
                "q": choose.choices(PIECES, k=rows),
                "n": choose.choices([0, 1], k=rows),
                "p": choose.choices(PIECES, k=rows),
            }
        )

    config = {
        "test_split": "test",
        "fewshot_split": choose.choice(["test", "dev"]),
        "doc_to_text": choose.choice(["q", "{{q}}", "Q: {{q.strip()}}\nA:", "constant {q}"]),
        "doc_to_target": choose.choice(["q", "p", "{{p}}x"]),
        "description": choose.choice(["", *PIECES[:3], *PIECES[5:8], "p", "{{p}} "]),
        "gen_prefix": choose.choice([None, None, "", "So", " so", "p", "{{p}}", PIECES[6]]),
        "target_delimiter": choose.choice([" ", "", PIECES[6]]),
        "fewshot_delimiter": choose.choice(["\n\n", "", PIECES[7]]),
        "fewshot_config": {"sampler": choose.choice(["default", "first_n"])},
    }
    if choose.random() < 0.3:
        config |= {"doc_to_choice": ["x", "{y}"], "doc_to_target": choose.choice(["n", "{{n}}", 1])}
    if choose.random() < 0.5:
        config["fewshot_config"]["gen_prefix"] = None
    docs, shots = table(choose.choice([1, 9, 40])), table(40)
    docs = docs.set_column(0, "q", pa.array([f"q{row} {text}" for row, text in enumerate(docs["q"].to_pylist())]))
    options = {
        "num_fewshot": choose.choice([0, 1, 3]) if len(docs) > 4 else 0,
        "system_instruction": choose.choice([None, "{q}"]),
    }
    bulk = requests(config, docs, shots, **options).to_pylist()
    monkeypatch.setattr(contexts_module, "plain_contexts", lambda *_, **__: None)
    assert bulk == requests(config, docs, shots, **options).to_pylist()


CHARACTERS = list("ab'\"\\\n\r\0 ,[]é\u2028\x85\x0c#{rub")


def test_literals_are_read_as_python_reads_them():
    choose = random.Random(5)
    for _ in range(20_000):
        inner = ["".join(choose.choices(CHARACTERS, k=choose.randrange(4))) for _ in range(choose.randrange(3))]
        source = choose.choice([repr, lambda texts: "[" + ", ".join(f"'{text}'" for text in texts) + "]", "".join])(
            inner
        )
        try:
            expected = repr(ast.literal_eval(source))
        except (SyntaxError, ValueError) as error:
            with pytest.raises(type(error)):
                literal(source)
            continue
        assert repr(literal(source)) == expected, source


ODD_TEXTS = ["", "it's", '"', "\\", "\n\r\0\x1f\x85\u2028", "\u200b\ufeff", "😀", "{{a}}", "]", "\\x41", "None"]
LISTING = [
    "{{ l }}",
    "{{l}}",
    "{{ [a, 'n\\'t', l[0], s.k, s['m'][1]] }}",
    "{{ s.m }}",
    "{{ s['m'] }}",
    "{{ [a] }}",
    "{{ [a, n] }}",
    "{{ [] }}",
    "{{ [a, maybe] }}",
    "{{ maybe }}",
    "{{ [l[3]] }}",
    "{{ [l[-1]] }}",
    "{{ s.items }}",
    "{{ s['items'] }}",
    "{{ [a | upper] }}",
    "{{ nothing }}",
    " {{ l }}",
    "{{ a }}",
    "{{ few }}",
]


@pytest.mark.parametrize("source", LISTING)
@pytest.mark.parametrize("chunks", [1, 3])
def test_listed_choices_are_those_that_are_printed_and_read(source, chunks):
    rows = [
        {
            "a": text,
            "l": [text, "x", text[::-1]],
            "s": {"k": text, "m": ["p", text], "items": [text]},
            "n": 1,
            "maybe": [text] if text else None,
            "few": [None] if text == "]" else [text],
        }
        for text in ODD_TEXTS
    ]
    table = pa.Table.from_pylist(rows)
    table = pa.concat_tables([table] * chunks)
    choices = listed_choices(syntax_tree(source), table)
    by_program = LISTING.index(source) < 6 or "['items']" in source
    assert (choices is not None) is by_program
    if choices is not None:
        assert choices.array.to_pylist() == [ast.literal_eval(render_row(source, row)) for row in rows * chunks]


def test_numbers_are_read_as_python_reads_them():
    for digits in ["0", "00", "10", "1" * 18, "1" * 19, "1" * 40]:
        assert number(digits) == ast.literal_eval(digits)
    for digits in ["01", "²", "٣", "1" * 5000]:
        with pytest.raises(SyntaxError):
            number(digits)


NAN = float("nan")
ROWS = [
    {"a": "x", "n": 1, "f": 1.0, "l": ["p"], "s": {"k": [1.5]}},
    {"a": "x", "n": 1, "f": 1.0, "l": ["p"], "s": {"k": [1.5]}},
    {"a": "x", "n": 1, "f": 1.0, "l": ["q"], "s": {"k": [1.5]}},
    {"a": "y", "n": 1, "f": 2.0, "l": ["p"], "s": {"k": [1.5]}},
    {"a": None, "n": None, "f": None, "l": None, "s": None},
    {"a": None, "n": None, "f": None, "l": None, "s": None},
]


def drawn_contexts(rows, **config):
    """Each context of a task whose documents and shots are these rows."""
    task = {
        "task": "t",
        "test_split": "test",
        "fewshot_split": "pool",
        "doc_to_text": "{{q}}",
        "doc_to_target": "{{a}}",
    }
    pool = pa.Table.from_pylist(rows)
    return [row["arguments"][0] for row in requests(task | config, pool, pool).to_pylist()]


def test_an_answer_that_is_an_empty_choice_is_an_answer():
    rows = [{"q": f"q{n}", "a": n % 2} for n in range(20)]
    # Of the task's own choices none may be empty; the examples' may.
    config = {
        "output_type": "multiple_choice",
        "doc_to_choice": ["no", "yes"],
        "doc_to_target": "a",
        "num_fewshot": 2,
        "fewshot_config": {"doc_to_choice": ["", "yes"]},
    }
    by_question = {row["q"]: f"{row['q']} {['', 'yes'][row['a']]}" for row in rows}
    for context in drawn_contexts(rows, **config):
        *shots, question = context.split("\n\n")
        assert len(shots) == 2
        assert all(shot == by_question[shot.split(" ")[0]] for shot in shots)
        assert question in by_question


def test_no_answer_has_no_delimiters():
    rows = [{"q": f"q{n}.", "a": ""} for n in range(9)]
    assert all(re.fullmatch(r"(q\d\.){3}", context) for context in drawn_contexts(rows, num_fewshot=2))


@pytest.mark.parametrize("wrong", ["{{q}}{% if n == 7 %}{{gone}}{% endif %}", "{{q.strip()}}"])
def test_a_document_that_is_not_drawn_raises_nothing(wrong):
    rows = [{"q": f"q{n}", "a": "x", "n": n} for n in range(9)]
    rows[7] = {"q": None, "a": "x", "n": 7}
    config = {"num_fewshot": 1, "fewshot_config": {"doc_to_text": wrong}}
    task = {"task": "t", "test_split": "test", "fewshot_split": "pool", "doc_to_text": "{{q}}", "doc_to_target": "a"}
    table = pa.Table.from_pylist(rows)
    is_drawn = []
    for seed in range(40):
        generator = random.Random(seed)
        drawn = [generator.sample(range(9), 1)[0] for _ in rows]
        is_drawn.append(7 in drawn)
        if is_drawn[-1]:
            with pytest.raises(pp.RenderError, match="few-shot document 7: "):
                requests(task | config, table, table, seed=seed)
            continue
        made = [row["arguments"][0] for row in requests(task | config, table, table, seed=seed).to_pylist()]
        assert made == [f"q{number} x\n\n{row['q']}" for number, row in zip(drawn, rows, strict=True)]
    assert set(is_drawn) == {True, False}


def equals(evaluated, pool, same):
    """The rows of the pool that are equal to each evaluated one."""
    groups = equal_rows(evaluated, pool, same)
    of_pool = groups.pool.to_pylist()
    return [
        frozenset(row for row, other in enumerate(of_pool) if group == other >= 0)
        for group in groups.documents.to_pylist()
    ]


@pytest.mark.parametrize(
    "columns", [["a"], ["a", "n"], ["l"], ["a", "l"], ["f"], ["s", "a"], ["a", "n", "f", "l", "s"]]
)
@pytest.mark.parametrize("extra", [None, {"f": NAN}, {"s": {"k": [NAN]}}])
def test_equal_rows_are_those_of_dicts(columns, extra):
    rows = [dict(row) for row in ROWS] + ([ROWS[0] | extra] * 2 if extra else [])
    table = pa.Table.from_pylist(rows).select(columns)
    row_dicts = table.to_pylist()
    expected = [
        frozenset(number for number, other in enumerate(table.to_pylist()) if other == row) for row in row_dicts
    ]
    pool = TableDocuments(table, "few-shot document")
    assert equals(TableDocuments(table, "row"), pool, same=True) == expected
    assert equals(TableDocuments(table, "row"), pool, same=False) == expected
    part = TableDocuments(table, "row").take([0, 4])
    assert equals(part, pool, same=True) == [expected[0], expected[4]]
    other = pa.Table.from_pylist([*rows[2:], {"a": "other", "n": 7}], table.schema)
    expected_of_other = [
        frozenset(number for number, row in enumerate(row_dicts) if row == wanted) for wanted in other.to_pylist()
    ]
    assert equals(TableDocuments(other, "row"), pool, same=False) == expected_of_other
    reordered = TableDocuments(table.select(columns[::-1]), "row")
    assert equals(reordered, pool, same=False) == expected
    assert equals(TableDocuments(table.append_column("z", [["1"] * len(rows)]), "row"), pool, same=False) == [
        frozenset()
    ] * len(rows)
