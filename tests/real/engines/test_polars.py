"""The namespace `promptpress` of Polars' expressions, next to what the renderers give by themselves."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import promptpress as pp
import pytest

pl = pytest.importorskip("polars")
pytest.importorskip("jinja2")

import promptpress.polars  # noqa: E402 - skipped without Polars
from promptpress_workbench.adapters import _Function  # noqa: E402

SOURCE = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
MESSAGES = [
    [{"role": "user", "content": "One?"}],
    [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "é\n"}],
]
FRAME = pl.DataFrame({"question": ["1+1", None], "answer": [2, 4], "messages": MESSAGES})
ROW = pl.struct("question", "answer")
API = [{"role": "HUMAN", "api_role": "user"}, {"role": "BOT", "api_role": "assistant", "generate": True}]


def texts(table: Any) -> list[Any]:
    return table["prompt"].to_pylist()


def test_conversations() -> None:
    chat = pp.ChatTemplate(SOURCE, bos_token="^", add_generation_prompt=True)
    wanted = texts(chat.render(FRAME))
    expressions = (
        pl.col("messages").promptpress.chat(SOURCE, bos_token="^", add_generation_prompt=True),
        pl.col("messages").promptpress.chat(chat),
        pl.col("messages").promptpress.render(chat),
        pl.struct(pl.all()).promptpress.chat(chat),
        pl.col("other").promptpress.chat(chat),
    )
    for expression in expressions:
        frame = FRAME.rename({"messages": "other"}) if expression.meta.root_names() == ["other"] else FRAME
        assert frame.select(prompt=expression)["prompt"].to_list() == wanted


def test_conversations_as_json() -> None:
    frame = pl.DataFrame({"messages": ['[{"role": "user", "content": "One?"}]']})
    assert frame.select(pl.col("messages").promptpress.chat(SOURCE)).to_series().to_list() == ["<user>One?"]


def test_the_tools_of_each_row() -> None:
    chat = pp.ChatTemplate("{{ messages[0].content }}{{ tools | tojson }}")
    frame = pl.DataFrame({"messages": [[{"role": "user", "content": "Hi."}]] * 2, "tools": [[{"n": 1}], None]})
    wanted = ['Hi.[{"n": 1}]', "Hi.null"]
    assert frame.select(prompt=pl.struct(pl.all()).promptpress.chat(chat))["prompt"].to_list() == wanted
    assert frame.select(prompt=pl.col("messages").promptpress.chat(chat))["prompt"].to_list() == ["Hi.null"] * 2


@pytest.mark.parametrize(
    "renderer",
    [
        pp.Renderer("Q: {question} A: {answer}"),
        pp.JinjaTemplate("Q: {{ question }} A: {{ answer }}"),
        pp.Renderer("Q: {question}", strings="large_string"),
        pp.Renderer("Q: {question}", strings="string_view", names={"prompt": "text"}),
    ],
    ids=["renderer", "jinja", "large", "views"],
)
def test_rows(renderer: Any) -> None:
    wanted = renderer.render(FRAME).column(0).to_pylist()
    for frame in (FRAME, FRAME.lazy(), pl.concat([FRAME, FRAME.clear()])):
        made = frame.with_columns(prompt=ROW.promptpress.render(renderer)).lazy()
        assert made.collect_schema()["prompt"] == pl.String
        for engine in ("in-memory", "streaming"):
            assert made.collect(engine=engine)["prompt"].to_list() == wanted


def test_the_only_column_that_is_read_needs_no_struct() -> None:
    made = FRAME.select(pl.col("question").promptpress.render("Q: {question}"))
    assert made.to_dict(as_series=False) == {"question": ["Q: 1+1", "Q: None"]}


def test_messages_and_other_outputs() -> None:
    template = {"round": [{"role": "HUMAN", "prompt": "Q: {question}"}, {"role": "BOT", "prompt": ""}]}
    renderer = pp.Renderer(template, meta_template={"round": API}, output="openai")
    made = FRAME.lazy().select(prompt=ROW.promptpress.render(renderer))
    assert made.collect_schema() == made.collect().schema
    assert made.collect()["prompt"].to_list() == renderer.render(FRAME).column(0).to_pylist()


def test_no_rows() -> None:
    made = FRAME.clear().select(ROW.promptpress.render("{question}"), pl.col("messages").promptpress.chat(SOURCE))
    assert made.shape == (0, 2)
    assert set(made.dtypes) == {pl.String}


def test_within_groups_and_filters() -> None:
    frame = pl.concat([FRAME.select("question", "answer")] * 5)
    made = frame.lazy().filter(pl.col("answer") == 2).select(ROW.promptpress.render("{question}={answer}")).collect()
    assert made.to_series().to_list() == ["1+1=2"] * 5
    groups = frame.group_by("answer", maintain_order=True).agg(prompts=ROW.promptpress.render("{question}={answer}"))
    assert groups["prompts"].to_list() == [["1+1=2"] * 5, ["None=4"] * 5]


def test_the_function_of_an_expression_can_be_pickled() -> None:
    # Polars pickles it with the query, by cloudpickle, which may not be there.
    function = _Function(pp.ChatTemplate(SOURCE, bos_token="^"))
    again = pickle.loads(pickle.dumps(function))
    assert again(FRAME["messages"]).equals(function(FRAME["messages"]))


def test_errors() -> None:
    with pytest.raises(TypeError, match="found a int"):
        ROW.promptpress.render(3)
    with pytest.raises(TypeError, match="bos_token: a ChatTemplate has its arguments already"):
        pl.col("messages").promptpress.chat(pp.ChatTemplate(SOURCE), bos_token="^")
    with pytest.raises(pp.TemplateError, match="TemplateSyntaxError"):
        pl.col("messages").promptpress.chat("{% if %}")
    with pytest.raises(Exception, match=r"expected a column for each that the templates read \('question', 'answer'\)"):
        FRAME.select(pl.col("question").promptpress.render("{question}{answer}"))
    with pytest.raises(Exception, match=r"row 0.*and it is no JSON"):
        FRAME.select(pl.col("question").promptpress.chat(SOURCE))
    with pytest.raises(Exception, match="it makes several rows of one"):
        FRAME.select(ROW.promptpress.render(pp.Renderer({"A": "{question} A", "B": "{question} B"}, mode="ppl")))


def test_polars_is_imported_with_the_module_alone() -> None:
    code = (
        "import sys, promptpress; assert 'polars' not in sys.modules; import promptpress.polars, polars; "
        "print(polars.Expr.promptpress is not None)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"True\n"
    assert promptpress.polars.PromptExpressions.__module__ == "promptpress.polars"
