"""The public classes of templates, which need Jinja2."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.options import RenderOptions
from promptpress._engine.ordered_rendering import render_table
from promptpress._engine.template_engine import JinjaEngine, checked_constants, checked_output, warn_of_file_name
from promptpress._errors.errors import PromptWarning, callers_level, template_error
from promptpress._jinja.chat.append_only import AppendOnly
from promptpress._jinja.chat.arguments import checked_columns
from promptpress._jinja.chat.chat_renderer import ChatRenderer, compiled_table, misspelt
from promptpress._jinja.chat.conversations import COLUMN, plain
from promptpress._jinja.chat.settings import (
    ChatSettings,
    document_list,
    left_out_codes,
    role_names,
    templates_of,
    tool_schemas,
)
from promptpress._jinja.compiler.compilation import outlook
from promptpress._jinja.sandbox.environments import ENVIRONMENTS, changed_options
from promptpress._renderers.prompt_renderer import TemplateRenderer
from promptpress.typing import (
    ConfigFile,
    JinjaOptions,
    KeptColumns,
    RequestOrder,
    RowPolicy,
    SpanDetail,
    StringLayout,
    TableLike,
    Turns,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from promptpress._tokens.talk import Talk

EnvironmentName = Literal["jinja2", "transformers", "lm_eval"]
Fallback = Literal["jinja2", "refuse"]
_FALLBACKS = ("jinja2", "refuse")
_COMPILED_SCHEMA = pa.schema(
    [("line", pa.int64()), ("node", pa.string()), ("compiled", pa.bool_()), ("reason", pa.string())]
)


class JinjaTemplate(TemplateRenderer[JinjaEngine]):
    r"""Renders the rows of tables by a Jinja template, as Jinja2 itself does, but compiled to what the core runs.

    A row's columns are the template's variables, with the values that `to_pylist` gives. Rows that can't be compiled
    with certainty are rendered by Jinja2 itself, in a sandbox and within limits of time and memory.

    Immutable, and safe to share between threads. It can be pickled, and equals another that is made of the same.

    Args:
        source: The template.
        environment: Whose rules hold: `"jinja2"` (`jinja2.Environment()`), `"transformers"` (those of
            `apply_chat_template`), or `"lm_eval"` (those of `lm_eval.utils.apply_template`).
        fallback: What becomes of a row that isn't compiled: `"jinja2"` renders it, `"refuse"` raises.
        names: Another name for the output column `prompt`: `{"prompt": ...}`.
        strings: Arrow layout of the texts: `"string"`, `"large_string"` or `"string_view"`.
        now: The clock that `strftime_now` reads. None: the time when the template is made.
        constants: Variables that are the same in all rows, with values that JSON has. A column of such a name isn't
            read.
        options: Options of `jinja2.Environment` that replace the environment's own: `trim_blocks`, `lstrip_blocks`,
            `keep_trailing_newline`, `newline_sequence`; `undefined` (`"default"`, `"strict"`, `"chainable"` or
            `"debug"`); the delimiters, such as `variable_start_string`; `extensions` (`"do"`, `"loopcontrols"`), added
            to the environment's; and `autoescape`, under which Jinja2 renders all rows.

    Raises:
        TemplateError: If Jinja2 can't compile the template, an argument or option isn't one of those above, or
            `"refuse"` would refuse each row.

    >>> import pyarrow as pa
    >>> template = JinjaTemplate("Q: {{ question.strip() }}\nA:")
    >>> template.render(pa.table({"question": [" 1+1=? ", "2+2=?"]}))["prompt"].to_pylist()
    ['Q: 1+1=?\nA:', 'Q: 2+2=?\nA:']
    >>> template = JinjaTemplate("Q: << question >>", variable_start_string="<<", variable_end_string=">>")
    >>> template.render(pa.table({"question": ["1+1=?"]}))["prompt"].to_pylist()
    ['Q: 1+1=?']
    >>> template = JinjaTemplate("{{ task }}: {{ question }}", constants={"task": "Add"})
    >>> template.render(pa.table({"question": ["1+1=?"]}))["prompt"].to_pylist()
    ['Add: 1+1=?']
    """

    __slots__ = ()

    _engine_class = JinjaEngine

    def __init__(  # noqa: PLR0917 - in the order of the contract
        self,
        source: str,
        environment: EnvironmentName = "jinja2",
        fallback: Fallback = "jinja2",
        names: Mapping[str, str] | None = None,
        strings: StringLayout = "string",
        now: datetime | None = None,
        *,
        constants: Mapping[str, Any] | None = None,
        **options: Unpack[JinjaOptions],
    ) -> None:
        _check("source", source, str)
        _one_of("environment", environment, tuple(ENVIRONMENTS))
        _one_of("fallback", fallback, _FALLBACKS)
        if now is not None:
            _check("now", now, datetime)
        arguments = {
            "source": source,
            "environment": environment,
            "fallback": fallback,
            **checked_output(names, strings),
            "now": datetime.now() if now is None else now,
            "constants": checked_constants(constants),
            "options": changed_options(environment, options),
        }
        warn_of_file_name(source, "open the file and give its text")
        self._set(JinjaEngine(arguments))
        if fallback == "refuse":
            self._refuse_hopeless()

    @classmethod
    def from_config(
        cls, config: str | PathLike[str] | ConfigFile, *, examples: TableLike | None = None, **options: Any
    ) -> JinjaTemplate:
        r"""Make a template of a file of EvalScope or NeMo-Skills: the text of the user's message.

        It is for multiple-choice questions of EvalScope, whose choices are a list in each row. `Renderer.from_config`
        reads the other files, and makes messages of them.

        Args:
            config: The file, or what `load_config` made of it.
            examples: The rows of in-context examples, for a file of NeMo-Skills with `few_shot_examples`.
            options: Arguments of the constructor, but for `source` and `environment`.

        Returns:
            The template; rows that lack one of its columns are errors.

        Raises:
            TemplateError: If the file can't be read, doesn't say with certainty what a prompt is, or has a system
                message.

        >>> import json, pathlib, tempfile
        >>> import pyarrow as pa
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "sums.json")
        >>> sample = {"input": [{"content": "One of A,B: 1+1? A) 2\nB) 3"}], "choices": ["2", "3"]}
        >>> meta = {"category": "llm", "prompt_template": "One of {letters}: {question} {choices}"}
        >>> _ = path.write_text(json.dumps({"meta": meta, "sample_example": {"data": sample}}))
        >>> rows = pa.Table.from_pylist([{"question": "2+2?", "choices": ["3", "4", "5"]}])
        >>> print(JinjaTemplate.from_config(path).render(rows)["prompt"][0])
        One of A,B,C: 2+2? A) 3
        B) 4
        C) 5
        >>> folder.cleanup()
        """
        from promptpress_harness.configs.arguments import jinja_source_of  # noqa: PLC0415 - for files only

        # Columns that aren't there are errors in this environment, as they are for `str.format`.
        return cls(jinja_source_of(config, examples), environment="lm_eval", **options)

    def _refuse_hopeless(self) -> None:
        program = outlook(self._engine.reference, tuple(self.required_columns)).program
        reason = next((program.reasons[statement[1]] for statement in program.block if statement[0] == "bail"), None)
        if reason is not None:
            raise template_error(
                "not_compiled", "source", f'{reason}: that can\'t be compiled; fallback="jinja2" has Jinja2 render it'
            )

    def render(
        self,
        table: TableLike,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
        order: RequestOrder | None = None,
        shared: bool = False,
    ) -> pa.Table:
        """Render all rows.

        Args:
            table: Whatever `Renderer.render` takes.
            keep: Columns to keep next to the texts; `"all"` keeps all of them.
            index: The name of a column for the number of each row, from 0.
            hashes: As `Renderer.render`.
            spans: Whether to say where the bytes of each text come from: spans without gaps, whose `source` is
                `template`, `field` (a column), `computed` (from several columns) or `jinja2` (it isn't known).
                `"detailed"` adds the `column`, and `example` and `role`, which are null.
            errors: As `Renderer.render`: `"column"` puts the error of a row into a column `error`, `"skip"` leaves the
                row out.
            order: As `Renderer.render`: `"prefix"` puts texts with equal beginnings together.
            shared: As `Renderer.render`.

        Returns:
            One row a row of the table: the index (int64), the kept columns, then `prompt`, `spans`, `hash` and
                `error`.

        Raises:
            RenderError: If Jinja2 raises for a row: the message has its exception's type and message. If a row takes
                too long or makes too large a text. If a row isn't compiled under `fallback="refuse"`. As
                `Renderer.render`, for the table.
            TypeError: As `Renderer.render`.

        >>> import pyarrow as pa
        >>> template = JinjaTemplate("{{ 'yes' if ok else 'no' }}")
        >>> template.render(pa.table({"id": [7], "ok": [True]}), keep=["id"]).to_pylist()
        [{'id': 7, 'prompt': 'yes'}]
        >>> template = JinjaTemplate("Q: {{ q | trim }}")
        >>> template.render(pa.table({"q": [" 1+1 "]}), spans="detailed")["spans"][0].as_py()[1]
        {'start': 3, 'end': 6, 'source': 'field', 'column': 'q', 'example': None, 'role': None}
        """
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors, order=order, shared=shared)
        return render_table(self._engine, table, options)

    @property
    def required_columns(self) -> list[str]:
        """The columns that a scan has to read: all variables that the template doesn't set itself.

        A variable that no table has is undefined, so leave it out of the scan.

        >>> JinjaTemplate("{% set x = a %}{{ x ~ b }}{{ range(3) }}").required_columns
        ['a', 'b']
        """
        return self._engine.required_columns

    @property
    def compiled(self) -> pa.Table:
        """The parts of the template that are compiled, whatever a table's columns hold: line by line.

        `line`, `node` (the kind of a node of the template's tree), `compiled`, and for what isn't, the `reason` why
        rows that come there are Jinja2's.

        >>> JinjaTemplate("{{ a.strip() }}").compiled.to_pylist()[-1]
        {'line': 1, 'node': 'Name', 'compiled': True, 'reason': None}
        """
        forecast = outlook(self._engine.reference, tuple(self.required_columns))
        refused = {(bail.line, bail.node): bail.reason for bail in forecast.bails}
        rows = [
            {"line": line, "node": node, "compiled": (line, node) not in refused, "reason": refused.get((line, node))}
            for line, node in dict.fromkeys([*forecast.visited, *refused])
        ]
        return pa.Table.from_pylist(rows, schema=_COMPILED_SCHEMA)

    def fingerprint(self) -> str:
        """Say in one short text what decides the bytes of the prompts: as `Renderer.fingerprint`.

        It is made of the source and its environment, of the clock where it is read, and of the number of the rules.

        Returns:
            64 hexadecimal digits.

        >>> JinjaTemplate("{{ q }}").fingerprint() == JinjaTemplate("{{ q }}", strings="large_string").fingerprint()
        True
        """
        return self._engine.fingerprint()


def _check(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise template_error("wrong_type", name, f"expected a {kind.__name__}, found a {type(value).__name__}")


def _one_of(name: str, value: object, choices: Sequence[str]) -> None:
    _check(name, value, str)
    if value not in choices:
        raise template_error("unknown_name", name, f"{value!r} is not one of {', '.join(map(repr, choices))}")


class ChatTemplate(TemplateRenderer[ChatEngine]):
    r"""Renders conversations into the texts that a model's chat template makes of them.

    They are those of transformers' `apply_chat_template(..., tokenize=False)`, byte for byte. The template is compiled
    for each shape of conversations, which is all of them but what is said; what can't be compiled with certainty is
    rendered by Jinja2, in a sandbox, row by row. Some rows are rendered both ways, and a difference is an error.

    A column of conversations holds lists of messages, which are structs: `role` and `content`, and whatever else
    the template reads, or ShareGPT's `from` and `value` (`human` is the user, `gpt` the assistant, `observation` and
    `tool_response` a tool, in any case; any other name is a role's). A turn of the role `function_call` or `tool_call`
    becomes an assistant's message with the tool calls that its text holds as JSON. Or it holds texts: such a list as
    JSON, or an object that has it under `messages` or `conversations`. A
    message's key whose value is null is no key; within what a message holds, a null stays one. In rows of Python's
    values messages may be objects: dataclasses, pydantic models and mappings.

    Immutable, and safe to share between threads. It can be pickled, and equals another of the same arguments.

    Args:
        source: The template's text.
        environment: Whose environment it is rendered in: `"transformers"`, `"jinja2"` or `"lm_eval"`.
        column: The column of conversations.
        fallback: What becomes of rows that no program renders: `"jinja2"` renders them, `"refuse"` makes them an error.
        add_generation_prompt: Whether the text ends where the assistant is to speak.
        continue_final_message: Whether the text ends with the last message, for the model to go on with it; or the name
            of the field to go on with, such as `"reasoning_content"`.
        tools: Schemas of tools, as dicts; or functions, of which transformers makes such dicts.
        documents: Documents, as dicts.
        roles: Other names of roles, which messages get before they are rendered: `{"developer": "system"}`.
        system: `"merge"` makes system messages at the beginning part of the user's message after them, as a text with a
            blank line after it, if the template has no role for them: if it raises for one, or leaves its text out.
        decode_arguments: Whether `arguments` of tool calls that are JSON texts of objects become these objects.
        argument_columns: Columns of arguments that each row has of its own: `{"tools": "tools"}`. Tools and documents
            are lists of dicts, such lists as JSON, or lists of JSON; none if they are null or empty. Any other
            argument is what its column holds, and isn't given where that is null. `{"*": "chat_template_kwargs"}` names
            a column of dicts of arguments, or of such dicts as JSON; they take the place of arguments of all rows.
            None: `tools` and `documents` come from columns of these names, if the template reads them and nothing is
            given for all rows; `{}`: from none.
        refuse: Codes of what no prompt may lack, such as `"message_left_out"`: a row is an error if the template leaves
            it out. Without them it is counted (`last_run.left_out`), and a warning says so.
        now: The clock that `strftime_now` reads; None: the time at which this is made.
        strings: Arrow layout of written strings: `"string"`, `"large_string"` or `"string_view"`.
        names: Another name for the output column `prompt`.
        variables: What else the template may read: special tokens such as `bos_token`, `enable_thinking` and the like.
            A special token that isn't given is undefined.

    Raises:
        TemplateError: If an argument is wrong, or Jinja2 can't compile the template.

    Warns:
        PromptWarning: Of a variable that the template doesn't read, and whose name is nearly that of another.

    >>> import pyarrow as pa
    >>> source = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}"
    >>> chat = ChatTemplate(source)
    >>> messages = [{"role": "user", "content": " Hi. "}, {"role": "assistant", "content": "Hello!"}]
    >>> chat.render(pa.table({"messages": [messages]}))["prompt"].to_pylist()
    ['<user>Hi.\n<assistant>Hello!\n']
    """

    __slots__ = ()

    _engine_class = ChatEngine

    def __init__(
        self,
        source: str,
        /,
        *,
        environment: Literal["transformers", "jinja2", "lm_eval"] = "transformers",
        column: str = COLUMN,
        fallback: Literal["jinja2", "refuse"] = "jinja2",
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        roles: Mapping[str, str] | None = None,
        system: Literal["merge"] | None = None,
        decode_arguments: bool = False,
        argument_columns: Mapping[str, str] | None = None,
        refuse: Sequence[str] = (),
        now: datetime | None = None,
        strings: StringLayout = "string",
        names: Mapping[str, str] | None = None,
        **variables: Any,
    ) -> None:
        continued = continue_final_message if isinstance(continue_final_message, str) else "content"
        # What never asks for the clock is the same at any time.
        reads_clock = isinstance(source, str) and "strftime_now" in source
        settings = ChatSettings(
            source=source,
            environment=environment,
            fallback=fallback,
            add_generation_prompt=add_generation_prompt,
            continued=continued if continue_final_message else None,
            tools=tool_schemas(tools),
            documents=document_list(documents),
            now=(datetime.now() if now is None else now) if reads_clock else None,
            variables=plain(variables),
            roles=role_names(roles),
            system=system,
            decode_arguments=decode_arguments,
            argument_columns=checked_columns(argument_columns, {**variables, "tools": tools, "documents": documents}),
            refuse=left_out_codes(refuse),
        )
        if not isinstance(column, str):
            raise template_error(
                "wrong_type", "column", f"expected the name of a column, found a {type(column).__name__}"
            )
        output = checked_output(names, strings)
        warn_of_file_name(source, "ChatTemplate.from_tokenizer reads files and folders")
        renderer = ChatRenderer(settings)
        warning = misspelt(renderer.reference, variables)
        if warning:
            warnings.warn(warning, PromptWarning, stacklevel=callers_level())
        self._set(ChatEngine(renderer, column, strings, output["names"]))

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, /, *, template: str | None = None, **arguments: Any) -> ChatTemplate:
        """Make a chat template of what a model's tokenizer has.

        Args:
            tokenizer: The folder of a model, with `tokenizer_config.json`, `chat_template.jinja` and so on; one of
                these files; the configuration as a dict; or a tokenizer in memory.
            template: Which template, where there are several; None: "tool_use" for rows with tools, else "default".
            arguments: Those of `ChatTemplate`. They win over the tokenizer's special tokens.

        Returns:
            The template.

        Raises:
            TemplateError: As the constructor; if nothing can be read, or there is no such template. A ConfigError that
                names the encoder, if Python code encodes the model's conversations and no template does.

        >>> config = {"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<s>"}
        >>> chat = ChatTemplate.from_tokenizer(config)
        >>> chat.render([{"messages": [{"role": "user", "content": "Hi."}]}])["prompt"].to_pylist()
        ['<s>Hi.']
        """
        templates = templates_of(tokenizer)
        can_vary = arguments.get("argument_columns") != {} and arguments.get("environment") in (None, "transformers")
        tools: Literal["given", "of_rows", "none"] = "of_rows" if can_vary else "none"
        source = templates.chosen(template, tools="given" if arguments.get("tools") is not None else tools)
        return cls(source, **{**templates.tokens, **arguments})

    def render(
        self,
        conversations: TableLike,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
        order: RequestOrder | None = None,
        shared: bool = False,
        turns: Turns = "all",
    ) -> pa.Table:
        """Render all conversations.

        Args:
            conversations: A table with the column of conversations, in any form that `Renderer.render` takes.
            keep: Columns to keep next to the texts; `"all"` keeps all of them.
            index: The name of a column for the number of each row, from 0.
            hashes: As `Renderer.render`.
            spans: Whether to say where the bytes of each text come from: spans without gaps. `source` is `template`
                (control tokens and all that the template writes), `field` (a value of a message, whose number is
                `message`, with the keys of dicts), `argument` (`tools`, `documents` and other arguments but special
                tokens), `computed` (from several values) or `jinja2` (it isn't known). `"detailed"` adds the
                `column` of conversations, the message's `role` and the `path` of the value in it, such as `content`
                or `tool_calls[0].function.arguments`; `example` is null.
            errors: As `Renderer.render`: `"column"` puts the error of a row into a column `error`, `"skip"` leaves the
                row out.
            order: As `Renderer.render`: `"prefix"` puts texts with equal beginnings together.
            shared: As `Renderer.render`.
            turns: As in `tokenize`: `"each"` gives a row for each turn of an assistant.

        Returns:
            One row a conversation: the index (int64), the kept columns, `turn` with `turns="each"`, then `prompt`,
                `spans`, `hash` and `error`.

        Raises:
            RenderError: If a conversation can't be rendered, with what the template or transformers raised for it;
                nothing is returned then.
            TypeError: As `Renderer.render`.

        >>> chat = ChatTemplate("{{ messages[-1].content }}")
        >>> rows = [{"id": 7, "messages": [{"role": "user", "content": "Hi."}]}]
        >>> chat.render(rows, keep=["id"]).to_pylist()
        [{'id': 7, 'prompt': 'Hi.'}]
        >>> chat = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
        >>> table = chat.render(rows * 3, spans="detailed")
        >>> [(span["message"], span["role"], span["path"]) for span in table["spans"][2].as_py()]
        [(None, None, None), (0, 'user', 'role'), (None, None, None), (0, 'user', 'content')]
        """
        of_order: dict[str, Any] = {"order": order, "shared": shared, "turns": turns}
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors, **of_order)
        return render_table(self._engine_for(options), conversations, options)

    def begin(
        self,
        messages: Sequence[Any],
        tokenizer: object,
        *,
        add_generation_prompt: bool | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> Talk:
        r"""Begin a conversation that grows, such as a rollout's or a server's: each step gives the new token ids alone.

        Ids are always those of `tokenize` for the whole conversation. If a step changes earlier ones, because the
        template rewrites earlier turns, or a token reaches over the border, that is an error, or is said by `kept`.
        Where the assistant was asked, and answers, the generation prompt has to be how the template begins its turn.

        Args:
            messages: The first messages.
            tokenizer: As in `tokenize`.
            add_generation_prompt: Whether the text ends where the assistant is to speak; None: as the template is made.
            columns: What else the conversation's row has, such as its `tools`.

        Returns:
            The talk: `messages`, `text`, `ids`, and `extend`, which returns a longer talk with its `new_ids`.

        Raises:
            RenderError: As `tokenize`, and so are `ImportError`, `OSError`, `ValueError` and `TypeError`.

        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> words = Tokenizer(models.WordLevel({"<user>": 0, "<bot>": 1, "Hi": 2, "?": 3}, "?"))
        >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        >>> source = "{% for m in messages %}<{{ m.role }}> {{ m.content }}\n{% endfor %}"
        >>> chat = ChatTemplate(source + "{% if add_generation_prompt %}<bot>{% endif %}")
        >>> talk = chat.begin([{"role": "user", "content": "Hi"}], words, add_generation_prompt=True)
        >>> talk.ids
        [0, 2, 1]
        >>> answer, question = {"role": "bot", "content": "Hi Hi"}, {"role": "user", "content": "Hi"}
        >>> talk.extend([answer, question]).new_ids
        [2, 2, 0, 2, 1]
        """
        from promptpress._tokens.encoder import Encoder  # noqa: PLC0415 - most programs only render
        from promptpress._tokens.talk import Talk  # noqa: PLC0415

        has_prompt = bool(self._engine.chat_settings.add_generation_prompt)
        talk = Talk(self, Encoder.of(tokenizer), dict(columns or {}), has_prompt)
        return talk.extend(messages, add_generation_prompt=add_generation_prompt)

    @property
    def required_columns(self) -> list[str]:
        """The columns that a scan has to read: that of the conversations, and those of `argument_columns`.

        Columns of `tools` and `documents` that nothing names are read if they are there.

        >>> ChatTemplate("", argument_columns={"tools": "functions"}).required_columns
        ['messages', 'functions']
        """
        return self._engine.required_columns

    def fingerprint(self) -> str:
        """Say in one short text what decides the bytes of the texts: as `Renderer.fingerprint`.

        It is made of the source and its environment, of what the template is given, of the column of conversations, and
        of the number of the rules. The clock counts where the template asks for it.

        Returns:
            64 hexadecimal digits.

        >>> ChatTemplate("{{ bos_token }}").fingerprint() == ChatTemplate("{{ bos_token }}", bos_token="").fingerprint()
        False
        """
        return self._engine.fingerprint()

    @property
    def source(self) -> str:
        """The template's text.

        >>> ChatTemplate("{{ messages }}").source
        '{{ messages }}'
        """
        return self._engine.renderer.settings.source

    @property
    def compiled(self) -> pa.Table:
        """The shapes of conversations that are compiled or left to Jinja2: usual ones, and those that were rendered.

        A row for each shape and each reason: `shape` (roles, with what else a message has), `rows` that were rendered
        of it so far, `compiled` (whether there is a program), and where rows leave it, the `line` and the `reason`.

        >>> ChatTemplate("{{ messages[0].content }}").compiled.to_pylist()[0]
        {'shape': 'user', 'rows': 0, 'compiled': True, 'line': None, 'reason': None}
        """
        return compiled_table(self._engine.renderer)

    @property
    def starts_with_bos(self) -> bool | None:
        """True if the texts begin with the `bos_token`, so that no tokenizer should put another one before.

        None where that depends on the conversation, or isn't certain: usual conversations are rendered to see.

        >>> ChatTemplate("{{ bos_token }}{{ messages[0].content }}", bos_token="<s>").starts_with_bos
        True
        """
        return self._engine.starts_with_bos

    @property
    def append_only(self) -> AppendOnly:
        """The answer to whether a conversation's text is always the beginning of its text with more messages after it.

        If so, caches of prefixes stay valid and each turn is trained as it is served. `answer` is "always" if that is
        proven from the template's syntax, for all conversations that it renders, with any tools and documents; "never"
        if plain talk shows the opposite; else "depends". `reason` says it in words. `example` is the smallest
        conversation found that shows the opposite: its `messages`, of which the first `turns` have `text`, and all have
        `longer`. `generation_prompt` answers the same for a text with the generation prompt next to the text with
        the assistant's message. It is found when it is first asked for, in some hundredths of a second.

        >>> ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}").append_only.answer
        'always'
        >>> chat = ChatTemplate("{% for m in messages %}{{ m.content }}{{ ';' if loop.last }}{% endfor %}")
        >>> chat.append_only.answer, chat.append_only.example.turns
        ('never', 1)
        >>> chat.append_only.example.text, chat.append_only.example.longer
        ('1+1?;', '1+1?2;')
        """
        return self._engine.append_only
