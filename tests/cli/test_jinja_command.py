"""Jinja templates and chat templates on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from promptpress_workbench.cli import main
from promptpress_workbench.cli.jinja_sources import OF_CONFIGURATIONS
from promptpress_workbench.cli.options import OPTIONS, option_name

jinja2 = pytest.importorskip("jinja2")

CHAT = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}{% if think is defined %}[{{ think }}]{% endif %}"
)
TALKS = [
    [{"role": "user", "content": "Hi."}],
    [{"role": "user", "content": "Yes?"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "No."}],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.jsonl").write_text('{"q": " 1+1? ", "a": "2"}\n{"q": "2+2?", "a": "4"}\n{"q": "3?", "a": "3"}\n')
    (tmp_path / "train.jsonl").write_text('{"q": "5+5?", "a": "10"}\n')
    (tmp_path / "talks.jsonl").write_text(
        "".join(json.dumps({"id": n, "messages": m}) + "\n" for n, m in enumerate(TALKS))
    )
    (tmp_path / "chat_template.jinja").write_text(CHAT)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": [{"name": "default", "template": CHAT}, {"name": "other", "template": "other"}],
                    "bos_token": {"content": "<s>"}})
    )  # fmt: skip
    return tmp_path


def render(*arguments: str, out: str = "out.jsonl") -> int:
    return main(["render", "--out", out, *arguments])


def prompts(name: str = "out.jsonl") -> list[Any]:
    return [json.loads(line)["prompt"] for line in Path(name).read_text().splitlines()]


# A template over a table


def test_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert render("--jinja", "Q: {{ q.strip() }}", "--data", "test.jsonl", "--keep", "a", "--index", "row") == 0
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert rows[0] == {"row": 0, "a": "2", "prompt": "Q: 1+1?"}
    assert [row["prompt"] for row in rows] == ["Q: 1+1?", "Q: 2+2?", "Q: 3?"]
    assert "Jinja2" not in capsys.readouterr().err


def test_a_file_is_as_jinja2_reads_it(folder: Path) -> None:
    source = "{# what is asked #}\n{{ q }}\n{% if a == '2' %}two{% endif %}\n"
    for name in ("q.jinja", "q.txt"):
        (folder / name).write_text(source)
        assert render("--jinja", name, "--data", "test.jsonl", "--quiet") == 0
        rows = [json.loads(line) for line in Path("test.jsonl").read_text().splitlines()]
        assert prompts() == [jinja2.Template(source).render(**row) for row in rows]


def test_rows_that_jinja2_renders_are_counted_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    some = "{% if a == '4' %}{{ q | striptags }}{% else %}{{ q }}{% endif %}"
    assert render("--jinja", some, "--data", "test.jsonl", "--batch-size", "1") == 0
    errors = capsys.readouterr().err
    assert "2 rows compiled, 1 rendered by Jinja2: line 1: the filter `striptags` on a value of the row (1)" in errors
    assert "last_run" not in errors
    assert render("--jinja", "{{ q | striptags }}", "--data", "test.jsonl") == 0
    errors = capsys.readouterr().err
    assert "0 rows compiled, 3 rendered by Jinja2: line 1: the filter `striptags` on a value of the row (3)" in errors
    assert render("--jinja", "{{ q | striptags }}", "--data", "test.jsonl", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_options_of_templates() -> None:
    clock = ["--environment", "transformers", "--now", "2026-01-31"]
    assert render("--jinja", "{{ strftime_now('%d %b') }} {{ a }}", "--data", "test.jsonl", *clock, "--quiet") == 0
    assert prompts()[0] == "31 Jan 2"
    assert render("--jinja", "{{ a }}", "--data", "test.jsonl", "--strings", "large_string", out="out.parquet") == 0
    assert pq.read_schema("out.parquet").field("prompt").type == pa.large_string()


@pytest.mark.parametrize(
    ("code", "message", "arguments"),
    [
        (3, "--jinja: line 1: TemplateSyntaxError", ["--jinja", "{{ q"]),
        (3, "--fallback jinja2 has Jinja2 render it", ["--jinja", "{{ q|striptags }}", "--fallback", "refuse"]),
        (3, "q.jinja: No such file", ["--jinja", "q.jinja"]),
        (2, "--jinja Q: {q}: no such file; and as a template it names no column", ["--jinja", "Q: {q}"]),
        (4, "row 0: UndefinedError: 'str object' has no attribute 'b'", ["--jinja", "{{ q.b.c }}"]),
        (4, "row 0: limit exceeded", ["--jinja", "{% for i in range(10**9) %}{% endfor %}"]),
        (2, "--jinja with c.json", ["c.json", "--jinja", "{{ q }}"]),
        (2, "--jinja with --template", ["--template", "{q}", "--jinja", "{{ q }}"]),
        (
            2,
            "--column: names the prompts of a rendered file, or conversations",
            ["--jinja", "{{ q }}", "--column", "q"],
        ),
        (2, "--mode: says how a configuration is rendered", ["--jinja", "{{ q }}", "--mode", "ppl"]),
        (2, "--environment: goes with --jinja or --chat-template", ["--template", "{q}", "--environment", "jinja2"]),
        (2, "is no time as in 2026", ["--jinja", "{{ q }}", "--now", "noon"]),
        (2, "--shots: says how a configuration is rendered", ["--jinja", "{{ q }}", "--shots", "1"]),
        (3, "--chat-template model: no such file or folder", ["--chat-template", "model"]),
        (3, "test.jsonl is no folder, and no file of a tokenizer", ["--chat-template", "test.jsonl"]),
        (4, "it has 'q', 'a'; --column names it", ["--chat-template", "."]),
        (4, "and it is no JSON", ["--chat-template", ".", "--column", "q"]),
        (2, "'enable': expected NAME=VALUE", ["--chat-template", ".", "--chat-argument", "enable"]),
        (2, "--chat-argument column: --column says it", ["--chat-template", ".", "--chat-argument", "column=q"]),
        (2, "--chat-argument x: is given twice", ["--chat-template", ".", "--chat-argument", "x=1", "x=2"]),
        (2, "--chat-argument tools: not valid JSON", ["--chat-template", ".", "--chat-argument", "tools=[1"]),
        (
            2,
            "--jinja-option trim_block: there is no such option",
            ["--jinja", "{{ q }}", "--jinja-option", "trim_block=1"],
        ),
        (2, "--jinja-option source: there is no such option", ["--jinja", "{{ q }}", "--jinja-option", "source=x"]),
        (2, "--jinja-option undefined: 'no' is not one of", ["--jinja", "{{ q }}", "--jinja-option", "undefined=no"]),
        (2, "--jinja-option extensions: not valid JSON", ["--jinja", "{{ q }}", "--jinja-option", "extensions=[do]"]),
        (2, "--jinja-option now: --now says it", ["--jinja", "{{ q }}", "--jinja-option", "now=1"]),
        (2, "--jinja-option: goes with --jinja", ["--chat-template", ".", "--jinja-option", "undefined=strict"]),
        (2, "--jinja-option: goes with --jinja", ["--template", "{q}", "--jinja-option", "undefined=strict"]),
        (2, "expected NAME=COL, such as tools=functions, or none", ["--chat-template", ".", "--argument-column", "x"]),
        (
            2,
            "--argument-column: an argument is given twice",
            ["--chat-template", ".", "--argument-column", "a=q", "a=a"],
        ),
        (2, "or none goes with a column", ["--chat-template", ".", "--argument-column", "a=q", "none"]),
        (2, "--argument-column: goes with --chat-template", ["--jinja", "{{ q }}", "--argument-column", "a=q"]),
        (3, "--argument-column: 'messages': no column", ["--chat-template", ".", "--argument-column", "messages=q"]),
        (3, "has no chat template 'rag'", ["--chat-template", ".", "--chat-argument", "template=rag"]),
        (2, "--column: goes with conversations", ["--template", "{q}", "--chat-template", ".", "--column", "q"]),
        (2, "--dataset: says how a configuration is rendered", ["--chat-template", ".", "--dataset", "all"]),
        (2, "the same file as the input", ["--jinja", "out.jsonl"]),
    ],
)
def test_errors(
    folder: Path, code: int, message: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out.jsonl").write_text("before {{ q }}")
    (folder / "c.json").write_text('{"prompt_template": "{q}"}')
    assert render(*arguments, "--data", "test.jsonl") == code
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
    assert (folder / "out.jsonl").read_text() == "before {{ q }}"


def test_a_line_break_of_the_shell_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    assert render("--jinja", r"{{ q.split('\n')[0] }}", "--data", "test.jsonl") == 0
    assert "backslash" not in capsys.readouterr().err
    assert render("--jinja", r"{{ q }}\nA:", "--data", "test.jsonl") == 0
    assert r"note: --jinja: \n is a backslash and an n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("--jinja: \\n is a backslash and an n", ["--jinja", r"{{ q }}\nA:", "--data", "test.jsonl"]),
        (
            "line 1: 'questn' is no column, and the template doesn't set it, so it is undefined; "
            "did you mean 'question'?",
            ["--jinja", "{{ questn }}", "--data", "asked.jsonl"],
        ),
        (
            "add_generation_promt: the template doesn't read it; did you mean 'add_generation_prompt'?",
            ["--chat-template", ".", "--chat-argument", "add_generation_promt=true", "--data", "talks.jsonl"],
        ),
    ],
)
def test_what_is_probably_a_mistake_is_noted_and_strict_refuses_it(
    folder: Path, message: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "asked.jsonl").write_text('{"question": "1+1?", "hint": "x"}\n')
    assert render(*arguments) == 0
    assert capsys.readouterr().err.count(f"note: {message}") == 1
    assert render(*arguments, "--strict", out="strict.jsonl") == 3
    assert f"error: {message}" in capsys.readouterr().err
    assert not Path("strict.jsonl").exists()
    assert render(*arguments, "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_names_that_the_template_guards_or_sets_are_not_noted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "asked.jsonl").write_text('{"question": "1+1?"}\n')
    source = "{{ question }}{{ questions | d('') }}{{ zebra if zebra is defined }}{% set questio = 1 %}{{ questio }}"
    assert render("--jinja", source, "--data", "asked.jsonl") == 0
    assert "note:" not in capsys.readouterr().err


def test_a_configuration_without_a_template_next_to_a_template(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    assert render("--chat-template", "tokenizer_config.json", "--data", "talks.jsonl") == 3
    assert "has no chat template; chat_template.jinja may be it: give the folder" in capsys.readouterr().err


# Conversations


@pytest.mark.parametrize("source", ["chat_template.jinja", "tokenizer_config.json", "."])
def test_conversations(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--chat-template", source, "--data", "talks.jsonl", "--add-generation-prompt"]
    assert render(*arguments, "--chat-argument", "think=true", "bos_token=<b>", "--keep", "id") == 0
    assert prompts()[2] == "<b><system>Be brief.\n<user>No.\n<assistant>[True]"
    assert "Jinja2" not in capsys.readouterr().err  # it has rendered the first row of each shape, as always
    assert render("--chat-template", source, "--data", "talks.jsonl", "--quiet") == 0
    assert prompts()[0] == ("" if source == "chat_template.jinja" else "<s>") + "<user>Hi.\n"


def test_arguments_of_chat_templates() -> None:
    arguments = ["--chat-template", "tokenizer_config.json", "--data", "talks.jsonl", "--quiet", "--chat-argument"]
    assert render(*arguments, "template=other") == 0
    assert prompts()[0] == "other"
    assert render(*arguments, "continue_final_message=true") == 0
    assert prompts()[0] == "<s><user>Hi."
    assert render(*arguments, 'think={"a": [1]}') == 0
    assert prompts()[0] == "<s><user>Hi.\n[{'a': [1]}]"


def test_arguments_of_each_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chat_template.jinja").write_text("{{ tools | tojson }}{{ mood | default('-') }}")
    rows = {"messages": TALKS, "tools": [[{"n": 1}], None, [{"m": 2}]], "more": ['{"mood": "x"}', None, None]}
    pq.write_table(pa.table(rows), "rows.parquet")
    arguments = ["--chat-template", "chat_template.jinja", "--data", "rows.parquet"]
    assert render(*arguments) == 0
    assert prompts() == ['[{"n": 1}]-', "null-", '[{"m": 2}]-']
    assert "promptpress: tools from the column 'tools'\n" in capsys.readouterr().err
    assert render(*arguments, "--argument-column", "tools=tools", "*=more") == 0
    assert prompts()[0] == '[{"n": 1}]x'
    assert "arguments from the column 'more'" in capsys.readouterr().err
    assert render(*arguments, "--argument-column", "none") == 0
    assert prompts() == ["null-"] * 3
    after = ["--template", "{more}", "--chat-template", "chat_template.jinja", "--data", "rows.parquet", "--quiet"]
    assert render(*after) == 0
    assert prompts()[0] == '[{"n": 1}]-'
    assert render(*arguments, "--argument-column", "tools=more") == 4
    assert "expected a list of tools, or one as JSON, found {'mood': 'x'}; --errors" in capsys.readouterr().err


def test_options_of_the_environment() -> None:
    arguments = ["--jinja", "[[ q ]] {{ q }} [[ gone ]]\n", "--data", "test.jsonl", "--quiet", "--jinja-option"]
    options = ["variable_start_string=[[", 'variable_end_string="]]"', "keep_trailing_newline=true", "undefined=debug"]
    assert render(*arguments, *options) == 0
    text = json.loads(Path("test.jsonl").read_text(encoding="utf-8").splitlines()[0])["q"]
    assert prompts()[0] == text + " {{ q }} {{ gone }}\n"
    arguments = ["--jinja", "<< q >>", "--data", "test.jsonl", "--quiet", "--jinja-option", "variable_start_string=<<"]
    assert render(*arguments, "variable_end_string=>>") == 0
    assert prompts()[0] == text


def test_a_chat_template_after_a_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogue = {"round": [{"role": "HUMAN", "prompt": "Q {q}"}, {"role": "BOT", "prompt": "{a}"}]}
    (folder / "c.json").write_text(json.dumps({"prompt_template": dialogue, "reader": {"output_column": "a"}}))
    assert render("c.json", "--chat-template", ".", "--data", "test.jsonl", "--batch-size", "2") == 0
    assert prompts()[1] == "<s><user>Q 2+2?\n\n<assistant>"  # with a line feed of OpenCompass's own
    assert "Jinja2" not in capsys.readouterr().err
    few = ["--answer", "a", "--shots", "1", "--examples", "train.jsonl"]
    assert render("--template", "{q}", *few, "--chat-template", ".", "--data", "test.jsonl", "--quiet") == 0
    assert prompts()[1] == "<s><user>5+5?\n<assistant>10\n<user>2+2?\n<assistant>"


def test_all_datasets_of_a_configuration(folder: Path) -> None:
    (folder / "c.json").write_text(
        json.dumps({"datasets": [
            {"abbr": name, "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
             "infer_cfg": {"prompt_template": {"type": "PromptTemplate", "template": f"{name} {{q}}"},
                           "retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": "GenInferencer"}}}
            for name in ("one", "two")
        ]})
    )  # fmt: skip
    data = [f"{name}=test.jsonl" for name in ("one", "two")]
    assert render("c.json", "--dataset", "all", "--chat-template", ".", "--data", *data, "--quiet", out="all/") == 0
    assert prompts("all/two.jsonl")[1] == "<s><user>two 2+2?\n<assistant>"


# Looking at them


def output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    return capsys.readouterr().out


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    jinja = ["show", "--jinja", "[{{ q }}]", "--data", "test.jsonl"]
    assert "[2+2?]" in output(capsys, *jinja, "--row", "1")
    assert "2 of 3 requests match" in output(capsys, *jinja, "--grep", r"\+")
    assert "  1-5  column q  " in output(capsys, *jinja, "--row", "1", "--origins")
    assert "column messages[0].content, role user" in output(
        capsys, "show", "--chat-template", ".", "--data", "talks.jsonl", "--origins"
    )
    assert "<user>Yes?" in output(capsys, "show", "--chat-template", ".", "--data", "talks.jsonl", "--row", "1")
    with_chat_template = ["show", "--template", "{q}", "--chat-template", ".", "--data", "test.jsonl", "--row", "1"]
    assert "<assistant>" in output(capsys, *with_chat_template)
    assert "column q" in output(capsys, *with_chat_template, "--origins")
    assert main([*jinja, "--row", "7"]) == 4
    assert main(["show", "--jinja", "{{ q.b.c }}", "--data", "test.jsonl", "--row", "1"]) == 0
    assert "row 1 · no prompt: template_raised: UndefinedError" in capsys.readouterr().out


def test_stats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--jinja", "{{ a | escape }}", "--data", "test.jsonl", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["requests"] == 3
    assert printed.err.startswith("promptpress: 0 rows compiled, 3 rendered by Jinja2: line 1: the filter `escape`")
    with_chat_template = ["--template", "{q}", "--chat-template", ".", "--data", "test.jsonl", "--json"]
    assert json.loads(output(capsys, "stats", *with_chat_template))["requests"] == 3


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["--jinja", "{{ q }}", "--jinja-b", "{{ q ~ '' }}"]),
        (1, ["--jinja", "{{ q }}", "--jinja-b", "{{ q.strip() }}"]),
        (1, ["--jinja", "{{ q }}\n", "--environment-b", "lm_eval"]),
        (0, ["--jinja", "{{ q }}", "--environment", "lm_eval", "--template-b", "{q}"]),
        (0, ["--template", "{q}", "--output", "text", "--jinja-b", "{{ q }}"]),
        (0, ["--jinja", "{{ q }}", "c.json"]),
        (1, ["c.json", "--chat-template-b", "."]),
        (2, ["--jinja", "{{ q }}"]),
    ],
)
def test_diff(folder: Path, code: int, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.json").write_text('{"prompt_template": "{q}"}')
    if arguments[-1] == "c.json":  # the second side, which comes first only where it is alone
        assert main(["diff", "c.json", *arguments[:-1], "--data", "test.jsonl"]) == 2
        assert "--jinja with c.json" in capsys.readouterr().err
        return
    assert main(["diff", *arguments, "--data", "test.jsonl"]) == code


@pytest.mark.parametrize("command", ["render", "show", "stats", "audit", "export"])
def test_each_option_of_a_configuration_is_refused_next_to_a_template(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that no template has would change nothing, in silence."""
    kinds = ["openai-batch", "--model-name", "m"] if command == "export" else []
    out = ["--out", "out.jsonl"] if command in ("render", "export") else []
    tried = 0
    for option in OF_CONFIGURATIONS:
        if (option, command) == ("answer", "audit"):
            continue
        name = option_name(option)
        value = "prompt_bytes=9" if name == "--limits" else "A=user" if name == "--roles" else "1"
        words = [command, *kinds, "--jinja", "{{ q }}", "--data", "test.jsonl", *out]
        values = (
            () if OPTIONS[option].get("action") == "store_true" else (str(OPTIONS[option].get("choices", [value])[0]),)
        )
        assert main([*words, name, *values]) == 2, name
        assert name in capsys.readouterr().err
        tried += 1
    assert tried > 15


def test_roles_and_calls_of_conversations(capsys: pytest.CaptureFixture[str]) -> None:
    call = {"name": "f", "arguments": '{"a": 1}'}
    talk = [{"from": "developer", "value": "Be."}, {"from": "human", "value": "Hi."}]
    rows = [{"messages": [*talk, {"from": "function_call", "value": json.dumps(call)}]}]
    Path("calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = (
        "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}"
        "{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %};{% endfor %}"
    )
    Path("calls.jinja").write_text(source)
    words = ["--chat-template", "calls.jinja", "--data", "calls.jsonl"]
    more = ["--roles", "developer=system", "--system-merge", "--decode-arguments"]
    assert main(["render", *words, *more, "--out", "-", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out) == {"prompt": '<user>Be.\n\nHi.;<assistant>{"a": 1};'}
    assert main(["audit", *words, "--only", "arguments_encoded_twice", "--fail-on", "warning"]) == 1
    assert "--decode-arguments" in capsys.readouterr().out
    template = ["--template", "{q}", "--system", "Be.", "--data", "test.jsonl", "--limit", "1"]
    chat = ["--chat-template", "chat_template.jinja", "--chat-argument", "bos_token=", "--roles", "system=user"]
    assert main(["render", *template, *chat, "--out", "-", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt"] == "<user>Be.\n<user> 1+1? \n<assistant>"
    for option in (["--roles", "a=b"], ["--decode-arguments"], ["--system-merge"]):
        assert main(["render", "--jinja", "{{ q }}", "--data", "test.jsonl", *option, "--out", "-"]) == 2
        assert f"{option[0]}: goes with --chat-template" in capsys.readouterr().err
