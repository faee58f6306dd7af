"""Bounds: what would ask for too much is an error that names the limit, before memory is asked for."""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import textwrap
import time
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from fuzz import limits, stages
from marks import UNWARNED

SAMPLES = pa.table({"q": ["1+1?", "2+2?"], "a": ["2", "4"]})


def laughing(columns: int, times: int) -> tuple[str, pa.Table]:
    """A template, and a row whose columns each name the next one `times` times."""
    names = [f"c{n}" for n in range(columns)]
    values = {name: f"{{{after}}}" * times for name, after in itertools.pairwise(names)}
    return f"{{{names[0]}}}", pa.table({**{n: [v] for n, v in values.items()}, names[-1]: ["ha"]})


def refused(limit: str) -> Any:
    return pytest.raises((pp.RenderError, pp.TemplateError), match=rf"limits=\{{\"{limit}\"")


@pytest.mark.parametrize("explained", [False, True], ids=["rendered", "explained"])
@pytest.mark.parametrize("columns", [12, 80], ids=["nested", "nested deeper than is followed"])
def test_values_that_name_values_end_with_an_error_within_a_second(columns: int, explained: bool) -> None:
    template, samples = laughing(columns, 10)
    renderer = pp.Renderer(template, substitution="harness", limits={"prompt_bytes": 1_000_000})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with refused("prompt_bytes") as caught:
        renderer.explain(samples, 0) if explained else renderer.render(samples)
    assert caught.value.code == "limit_exceeded"
    assert caught.value.row == 0
    assert time.process_time() - start < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


def test_a_filled_text_may_be_as_long_as_the_limit_and_no_longer() -> None:
    template, samples = laughing(4, 10)
    length = 2 * 10**3
    for limit, fits in ((length, True), (length - 1, False)):
        renderer = pp.Renderer(template, substitution="harness", limits={"prompt_bytes": limit})
        if fits:
            assert renderer.render(samples)["prompt"].to_pylist() == ["ha" * 1000]
        else:
            with refused("prompt_bytes"):
                renderer.render(samples)


@UNWARNED
@pytest.mark.parametrize("template", ["Q: {q}", "{a}{q}", "no column"])
@pytest.mark.parametrize("rows", [[1, 5, 3], [9], [0, 0, 9]])
def test_a_copied_text_may_be_as_long_as_the_limit_and_no_longer(template: str, rows: list[int]) -> None:
    samples = pa.table({"q": ["x" * n for n in rows], "a": ["y"] * len(rows)})
    lengths = [
        len(text) for text in pp.Renderer(template, substitution="harness").render(samples)["prompt"].to_pylist()
    ]
    longest = max(lengths)
    pp.Renderer(template, substitution="harness", limits={"prompt_bytes": longest}).render(samples)
    with refused("prompt_bytes") as caught:
        pp.Renderer(template, substitution="harness", limits={"prompt_bytes": longest - 1}).render(samples)
    assert caught.value.row == lengths.index(longest)


def test_a_prompt_is_all_of_its_messages_texts() -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}
    meta = {"round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT"}]}
    samples = pa.table({"q": ["12345", "1"], "a": ["123456", "1"]})
    make = lambda limit: pp.Renderer(template, meta_template=meta, limits={"prompt_bytes": limit})  # noqa: E731
    make(11).render(samples)
    with refused("prompt_bytes") as caught:
        make(10).render(samples)
    assert caught.value.row == 0


def test_a_batch_is_all_of_its_texts() -> None:
    samples = pa.table({"q": ["12345"] * 100})
    pp.Renderer("{q}", limits={"batch_bytes": 2_400}).render(samples)
    with refused("batch_bytes"):
        pp.Renderer("{q}", limits={"batch_bytes": 2_399}).render(samples)
    long = pa.table({"q": ["x" * 1000] * 100})
    with refused("batch_bytes"):
        pp.Renderer("{q}", limits={"batch_bytes": 99_999}).render(long)
    assert len(list(pp.Renderer("{q}", limits={"batch_bytes": 10_000}).stream(long.to_batches(10)))) == 10


def test_filled_texts_count_to_their_batch_as_they_are_made() -> None:
    template, sample = laughing(4, 10)
    samples = pa.concat_tables([sample] * 100).combine_chunks()
    with refused("batch_bytes"):
        pp.Renderer(template, substitution="harness", limits={"batch_bytes": 100_000}).render(samples)
    assert len(pp.Renderer(template, substitution="harness", limits={"batch_bytes": 200_000}).render(samples)) == 100


def test_labels_are_bounded_wherever_they_come_from() -> None:
    with refused("labels") as caught:
        pp.Renderer("{q}", mode="ppl", labels=["A", "B", "C"], limits={"labels": 2})
    assert (type(caught.value), caught.value.path) == (pp.TemplateError, "labels")
    column = pp.Renderer("{q}", mode="ppl", reader={"output_column": "a"}, limits={"labels": 1})
    with refused("labels") as caught:
        column.render(SAMPLES)
    assert (type(caught.value), caught.value.column) == (pp.RenderError, "a")
    with refused("labels"):
        pp.Renderer({"A": "a", "B": "b"}, mode="ppl", limits={"labels": 1})


@pytest.mark.parametrize("part", ["prompt_template", "ice_template", "meta_template", "inferencer"])
def test_the_configuration_s_texts_are_counted(part: str) -> None:
    long = "x" * 1000
    arguments: dict[str, Any] = {
        "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
        "ice_template": "{q}",
        "meta_template": {"round": [{"role": "HUMAN", "begin": ""}]},
        "inferencer": {"type": "GenInferencer"},
    }
    arguments[part] = {
        "prompt_template": {"template": long},
        "ice_template": long,
        "meta_template": {"round": [{"role": "HUMAN", "begin": long}]},
        "inferencer": {"type": "GenInferencer", "gen_field_replace_token": long},
    }[part]
    with refused("template_bytes") as caught:
        pp.Renderer(**arguments, limits={"template_bytes": 1000})
    assert caught.value.path == part


def test_nesting_is_bounded_at_the_part_that_is_nested() -> None:
    template = {"template": {"round": [{"role": "HUMAN", "prompt": "{q}"}]}}
    arguments = {"meta_template": {"round": [{"role": "HUMAN", "begin": ""}]}}
    assert pp.Renderer(template, **arguments, limits={"nesting": 4}).render(SAMPLES).num_rows == 2
    with refused("nesting") as caught:
        pp.Renderer(template, **arguments, limits={"nesting": 3})
    assert (caught.value.code, caught.value.path) == ("limit_exceeded", "prompt_template")


def test_many_turns_under_a_long_role_are_refused_before_they_are_written() -> None:
    template = {"round": [{"role": "HUMAN", "prompt": ""}] * 10_000}
    meta = {"round": [{"role": "HUMAN", "begin": "x" * 1_000_000}]}
    start = time.process_time()
    with refused("prompt_bytes"):
        pp.Renderer(template, meta_template=meta)
    assert time.process_time() - start < 5


@UNWARNED
@pytest.mark.parametrize(
    "retriever",
    [{"type": "SlidingWindowRetriever", "k": 10**12}, {"type": "FixKRetriever", "fix_id_list": [0] * 100_000}],
    ids=["window", "fixed"],
)
def test_examples_of_a_batch_are_bounded(retriever: dict[str, Any]) -> None:
    template = {"template": "</E>{q}", "ice_token": "</E>"}
    with pytest.raises((pp.RenderError, pp.TemplateError)) as caught:
        pp.Renderer(template, "x" * 100_000, retriever, SAMPLES, reader={"output_column": "a"}).render(SAMPLES)
    assert caught.value.code == "limit_exceeded"


@pytest.mark.parametrize(
    ("limits", "code", "path"),
    [
        ({"promt_bytes": 1}, "unknown_key", "limits.promt_bytes"),
        ({"prompt_bytes": 0}, "invalid_number", "limits.prompt_bytes"),
        ({"nesting": 101}, "invalid_number", "limits.nesting"),
        ({"prompt_bytes": "1"}, "wrong_type", "limits.prompt_bytes"),
        ({"prompt_bytes": True}, "wrong_type", "limits.prompt_bytes"),
        (7, "wrong_type", "limits"),
    ],
)
def test_what_is_no_limit_is_refused(limits: Any, code: str, path: str) -> None:
    with pytest.raises(pp.TemplateError) as caught:
        pp.Renderer("{q}", limits=limits)
    assert (caught.value.code, caught.value.path) == (code, path)


def test_more_than_there_is_memory_for_is_an_error_and_not_the_end() -> None:
    # Two million times 64 MiB: 2**47 bytes, which no machine maps.
    program = """
        import promptpress as pp, pyarrow as pa
        most = 2**62
        renderer = pp.Renderer(
            {"template": "</E>{q}", "ice_token": "</E>"},
            "{q}",
            {"type": "IndexColumn", "column": "shots"},
            pa.table({"q": ["x" * 2**26], "a": ["1"]}),
            reader={"output_column": "a"},
            strings="large_string",
            limits={"prompt_bytes": most, "batch_bytes": most},
        )
        samples = pa.table({"q": ["x"], "a": ["2"], "shots": [[0] * 2**21]})
        try:
            renderer.render(samples)
        except pp.RenderError as error:
            print(error.code)
        print(renderer.render(samples.set_column(2, "shots", [[[]]]))["prompt"].to_pylist())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["out_of_memory", r"['\nx']"], done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS is Linux's")
@pytest.mark.parametrize("template", ["Q: {q}", "{q}{a}", "{a}"], ids=["copied", "two", "filled"])
def test_within_little_memory_rendering_ends_with_an_error(template: str) -> None:
    program = f"""
        import resource
        import promptpress as pp, pyarrow as pa
        pp.set_threads(1)
        renderer = pp.Renderer({template!r}, strings="large_string", substitution="harness")
        samples = pa.table({{"a": ["{{q}}"] * 200_000, "q": ["x" * 1000] * 200_000}})
        renderer.render(samples.slice(0, 10))
        taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        for more in (16, 32, 64):
            resource.setrlimit(resource.RLIMIT_AS, (taken + more * 2**20, -1))
            try:
                renderer.render(samples)
            except (pp.RenderError, MemoryError, pa.ArrowMemoryError) as error:
                print(getattr(error, "code", "other"))
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        print(len(renderer.render(samples)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["out_of_memory"] * 3 + ["200000"], (done.returncode, done.stderr)


LONG = pa.table({"q": ["fits", "x" * 300, "fits"]})
ONE_FIELD: dict[str, dict[str, Any]] = {
    "messages": {"prompt_template": [{"role": "user", "content": "{q}"}], "output": "messages"},
    "prompt list": {"prompt_template": [{"role": "user", "content": "{q}"}], "output": "prompt_list"},
    "chat": {
        "prompt_template": [{"role": "system", "content": "S"}, {"role": "user", "content": "{q}"}], "output": "openai",
    },
    "JSON": {"prompt_template": [{"role": "user", "content": "{q}"}], "output": "messages_json"},
    "text": {"prompt_template": "{q}", "output": "text"},
}  # fmt: skip


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
@pytest.mark.parametrize("form", ONE_FIELD)
def test_a_content_that_is_shown_where_it_lies_counts_as_well(form: str, strings: Any) -> None:
    renderer = pp.Renderer(**ONE_FIELD[form], strings=strings, limits={"prompt_bytes": 200})
    verbs = {
        "render": lambda: renderer.render(LONG),
        "spans": lambda: renderer.render(LONG, spans=True),
        "stream": lambda: renderer.stream(LONG.to_reader()).read_all(),
        "call": lambda: renderer(LONG),
        "explain": lambda: renderer.explain(LONG, 1),
    }
    messages = set()
    for verb, work in verbs.items():
        with refused("prompt_bytes") as caught:
            work()
        assert caught.value.code == "limit_exceeded", verb
        messages.add((caught.value.row, str(caught.value)))
    assert messages == {
        (1, 'row 1: the prompt would have more than 200 bytes; limits={"prompt_bytes": 200} allows no more')
    }
    assert len(renderer.render(LONG.slice(0, 1))) == len(renderer.explain(LONG, 0).slice(0, 1)) == 1
    # Who looks is told, and goes on.
    assert pp.stats(renderer, LONG).errors["first_rows"].to_pylist() == [[1]]
    (finding,) = renderer.audit(LONG, only=["unrenderable_row"]).to_pylist()
    assert (finding["rows"], finding["first_rows"]) == (1, [1])
    assert "limit_exceeded" in renderer.preview(LONG, rows=[1])._repr_html_()


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_a_batch_counts_contents_that_are_shown_where_they_lie(strings: Any) -> None:
    for template in ([{"role": "user", "content": "{q}"}], [{"expand_column": "m"}]):
        samples = pa.table({"q": ["x" * 100] * 10, "m": [[{"role": "user", "content": "x" * 100}]] * 10})
        pp.Renderer(template, strings=strings, limits={"batch_bytes": 1000}).render(samples)
        with refused("batch_bytes"):
            pp.Renderer(template, strings=strings, limits={"batch_bytes": 999}).render(samples)


def test_messages_that_a_column_brings_count_in_every_output() -> None:
    samples = pa.table({"m": [[{"role": "user", "content": "x" * n}] for n in (5, 50)]})
    for output in ("messages", "prompt_list", "messages_json", "openai"):
        pp.Renderer([{"expand_column": "m"}], output=output, limits={"prompt_bytes": 50}).render(samples)
        renderer = pp.Renderer([{"expand_column": "m"}], output=output, limits={"prompt_bytes": 49})
        with refused("prompt_bytes") as caught:
            renderer.render(samples)
        assert caught.value.row == 1
        with refused("prompt_bytes") as caught:
            renderer.explain(samples, 1)
        assert caught.value.row == 1


def test_a_value_that_becomes_shorter_when_it_is_filled_counts_as_it_is_then() -> None:
    samples = pa.table({"q": ["{a}" * 20], "a": ["x"]})
    renderer = pp.Renderer("{q}", limits={"prompt_bytes": 60}, substitution="harness")
    assert renderer.render(samples)["prompt"].to_pylist() == ["x" * 20]


def test_the_error_names_the_sample_of_a_turn_that_is_too_long() -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]}
    renderer = pp.Renderer(
        {"type": "MultiTurnPromptTemplate", "template": template},
        reader={"input_columns": ["question"], "output_column": "answer"},
        inferencer={"type": "MultiTurnGenInferencer", "infer_mode": "every_with_gt"},
        dialect="aisbench",
        limits={"prompt_bytes": 40},
    )
    samples = pa.table({"question": [["a", "b", "c"], ["d", "e" * 50]], "answer": [["1", "2", "3"], ["4", "5"]]})
    with refused("prompt_bytes") as caught:
        renderer.render(samples)
    assert caught.value.row == 1


@pytest.mark.parametrize("strings", ["string", "large_string", "string_view"])
def test_what_a_chat_template_writes_counts(strings: Any) -> None:
    chat = pp.ChatTemplate("{% for m in messages %}<<<<{{ m.content }}>>>>{% endfor %}")
    turns = {"round": [{"role": "HUMAN", "prompt": "{q}"}]}
    samples = pa.table({"q": ["a", "b" * 30]})
    make = lambda **limits: pp.Renderer(turns, chat_template=chat, strings=strings, limits=limits)  # noqa: E731
    # The harness's own meta template adds a newline.
    assert len(make(prompt_bytes=39).render(samples)) == 2
    with refused("prompt_bytes") as caught:
        make(prompt_bytes=38).render(samples)
    assert caught.value.row == 1
    assert len(make(batch_bytes=39).render(samples.slice(1))) == 1
    with refused("batch_bytes"):
        make(batch_bytes=38).render(samples.slice(1))


@UNWARNED
def test_all_layouts_refuse_the_same_rows() -> None:
    assert sum(map(_refusals, range(42))) > 25


@UNWARNED
@pytest.mark.full
def test_all_layouts_refuse_the_same_rows_of_many_tables() -> None:
    assert sum(map(_refusals, range(42, 600))) > 400


def _refusals(number: int) -> int:
    """Run a case of the fuzzing of limits; a difference is raised."""
    try:
        return limits.run(0, number)
    except stages.Unbuildable:
        return 0


def test_the_limit_of_a_row_of_parts_names_the_sample() -> None:
    text = {"type": "text", "text": "{question}"}
    image = {"type": "image_url", "image_url": {"url": "file://{image}"}}
    template = {"round": [{"role": "HUMAN", "prompt_mm": {"text": text, "image": image}}]}
    bot = {"role": "BOT", "api_role": "assistant", "generate": True}
    meta = {"round": [{"role": "HUMAN", "api_role": "user"}, bot]}
    settings: dict[str, Any] = {"dialect": "aisbench", "meta_template": meta, "limits": {"prompt_bytes": 20}}
    renderer = pp.Renderer({"type": "MMPromptTemplate", "template": template}, **settings)
    tagged = "<AIS_TEXT_START>{}<AIS_CONTENT_TAG>"
    short, long = tagged.format("a") * 3, tagged.format("b") * 2 + tagged.format("c" * 30)
    samples = pa.table({"content": [short, short, long, short]})
    for table, row in ((samples, 2), (samples.slice(2), 0), (samples.slice(1, 2), 1)):
        with pytest.raises(pp.RenderError, match="more than 20 bytes") as raised:
            renderer.render(table)
        assert raised.value.row == row
    errors = renderer.render(samples, errors="column")["error"].to_pylist()
    assert [error is not None for error in errors] == [False, False, True, False]


@pytest.mark.parametrize("verb", ["render", "explain", "spans"])
def test_a_text_that_is_longer_before_it_is_filled_in(verb: str) -> None:
    renderer = pp.Renderer("{q}", reader={"output_column": None}, limits={"prompt_bytes": 4})
    samples = pa.table({"q": ["{a}{a}{a}", "{a}{a}{a}"], "a": ["b", "bb"]})
    work = {
        "render": renderer.render,
        "explain": lambda table: renderer.explain(table, len(table) - 1),
        "spans": lambda table: renderer.render(table, spans="detailed"),
    }[verb]
    assert len(work(samples.slice(0, 1)))
    with pytest.raises(pp.RenderError, match="row 1: the prompt would have more than 4 bytes"):
        work(samples)


@pytest.mark.parametrize("template", ["</E>{q}", {"begin": ["</E>"], "round": [{"role": "HUMAN", "prompt": "{q}"}]}])
def test_the_limit_of_an_example_names_its_row(template: Any) -> None:
    # No request could show so long an example. A shorter one may have placeholders that give way to less.
    train = pa.table({"q": ["e", "{a}" * 9], "a": ["f", "g" * (1 << 18)]})
    with pytest.raises(pp.RenderError, match="more than 20 bytes") as raised:
        pp.Renderer(
            {"template": template, "ice_token": "</E>"},
            {"template": "{q}={a}"},
            {"type": "FixKRetriever", "fix_id_list": [0, 1]},
            train,
            {"output_column": "a"},
            limits={"prompt_bytes": 20},
        ).render(pa.table({"q": ["x"], "a": ["y"]}))
    assert (raised.value.row, raised.value.column) == (1, "examples")
