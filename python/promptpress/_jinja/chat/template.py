"""The chat template: any number of conversations, each as `apply_chat_template` renders it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NoReturn

import pyarrow as pa

from promptpress._errors import PromptWarning, render_error, template_error
from promptpress._from_config import callers_level
from promptpress._jinja.chat.bos import starts_with_bos
from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.messages import plain
from promptpress._jinja.chat.misspelt import misspelt
from promptpress._jinja.chat.report import compiled_table
from promptpress._jinja.chat.settings import ChatSettings, document_list, tool_schemas
from promptpress._jinja.chat.sources import templates_of
from promptpress._jinja.one_array import one_array
from promptpress._jinja.run import JinjaRun
from promptpress._kept_columns import kept_schema, names_of
from promptpress._model_classes import did_you_mean
from promptpress._sample_numbers import indexed_schema
from promptpress._tables import as_reader, as_table, column_names
from promptpress.typing import StreamLike, StringLayout, TableLike

__all__ = ["ChatTemplate"]

_STRINGS = {"string": pa.string(), "large_string": pa.large_string(), "string_view": pa.string_view()}
_PROMPT = "prompt"


class ChatTemplate:
    r"""Renders conversations into the texts that a model's chat template makes of them.

    They are those of transformers' `apply_chat_template(..., tokenize=False)`, byte for byte. The template is compiled
    for each shape of conversations, which is all of them but what is said; what can't be compiled with certainty is
    rendered by Jinja2, in a sandbox, row by row. Some rows are rendered both ways, and a difference is an error.

    A column of conversations holds lists of messages, which are structs: `role` and `content`, and whatever else
    the template reads, or ShareGPT's `from` and `value` (`human` is the user, `gpt` the assistant; any other name is a
    role's). Or it holds texts: such a list as JSON, or an object that has it under `messages` or `conversations`. A
    message's key whose value is null is no key; within what a message holds, a null stays one.

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

    __slots__ = ("__weakref__", "_column", "_last_run", "_names", "_renderer", "_starts_with_bos", "_strings")

    _column: str
    _last_run: JinjaRun | None
    _names: dict[str, str]
    _renderer: ChatRenderer
    _starts_with_bos: list[bool | None]
    _strings: StringLayout

    def __init__(
        self,
        source: str,
        /,
        *,
        environment: Literal["transformers", "jinja2", "lm_eval"] = "transformers",
        column: str = "messages",
        fallback: Literal["jinja2", "refuse"] = "jinja2",
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
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
        )
        if not isinstance(column, str):
            message = f"expected the name of a column, found a {type(column).__name__}"
            raise template_error("wrong_type", "column", message)
        if strings not in _STRINGS:
            message = f"expected one of {', '.join(map(repr, _STRINGS))}, found {strings!r}"
            raise template_error("unknown_name", "strings", message)
        renderer = ChatRenderer(settings)
        told = misspelt(renderer.reference, variables)
        if told:
            warnings.warn(told, PromptWarning, stacklevel=callers_level())
        self._set(renderer, column, strings, _checked_names(names))

    def _set(self, renderer: ChatRenderer, column: str, strings: StringLayout, names: dict[str, str]) -> None:
        object.__setattr__(self, "_renderer", renderer)
        object.__setattr__(self, "_column", column)
        object.__setattr__(self, "_strings", strings)
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_last_run", None)
        object.__setattr__(self, "_starts_with_bos", [])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = f"a ChatTemplate can't be changed: {name!r} is set when it is made"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> NoReturn:
        message = f"a ChatTemplate can't be changed: {name!r} can't be deleted"
        raise AttributeError(message)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, /, *, template: str | None = None, **arguments: Any) -> ChatTemplate:
        """Make a chat template of what a model's tokenizer has.

        Args:
            tokenizer: The folder of a model, with `tokenizer_config.json`, `chat_template.jinja` and so on; one of
                these files; the configuration as a dict; or a tokenizer in memory.
            template: Which template, where there are several; None: "tool_use" where there are tools, else "default".
            arguments: Those of `ChatTemplate`. They win over the tokenizer's special tokens.

        Returns:
            The template.

        Raises:
            TemplateError: As the constructor; if nothing can be read, or there is no such template.

        >>> config = {"chat_template": "{{ bos_token }}{{ messages[0].content }}", "bos_token": "<s>"}
        >>> chat = ChatTemplate.from_tokenizer(config)
        >>> chat.render([{"messages": [{"role": "user", "content": "Hi."}]}])["prompt"].to_pylist()
        ['<s>Hi.']

        """
        found = templates_of(tokenizer)
        source = found.chosen(template, with_tools=arguments.get("tools") is not None)
        return cls(source, **{**found.tokens, **arguments})

    def render(self, conversations: TableLike, keep: Sequence[str] = (), *, index: str | None = None) -> pa.Table:
        """Render all conversations.

        Args:
            conversations: A table with the column of conversations, in any form that `Renderer.render` takes.
            keep: Columns to keep beside the texts.
            index: The name of a column for the number of each row, from 0.

        Returns:
            One row a conversation: the index (int64), the kept columns, then `prompt`.

        Raises:
            RenderError: If a conversation can't be rendered, with what the template or transformers raised for it;
                nothing is returned then.
            TypeError: As `Renderer.render`.

        >>> chat = ChatTemplate("{{ messages[-1].content }}")
        >>> rows = [{"id": 7, "messages": [{"role": "user", "content": "Hi."}]}]
        >>> chat.render(rows, keep=["id"]).to_pylist()
        [{'id': 7, 'prompt': 'Hi.'}]

        """
        table = as_table(conversations)
        keep = names_of(keep)
        schema = self._output_schema(table.schema, keep, index)
        run = JinjaRun()
        arrays = list(self._renderer.texts(table, self._column, 0, self._strings, run))
        object.__setattr__(self, "_last_run", run)
        columns = [table.column(name) for name in keep]
        if index is not None:
            columns.insert(0, pa.chunked_array([pa.array(range(table.num_rows), pa.int64())]))
        columns.append(pa.chunked_array(arrays, _STRINGS[self._strings]))
        return pa.Table.from_arrays(columns, schema=schema)

    def stream(
        self, batches: StreamLike, keep: Sequence[str] = (), *, index: str | None = None
    ) -> pa.RecordBatchReader:
        """Render a stream batch by batch, as it is read.

        Args:
            batches: As `Renderer.stream` takes them.
            keep: As in `render`.
            index: As in `render`.

        Returns:
            A reader; its memory is bounded by the batch.

        Raises:
            RenderError: As `render`, when the batch is read.
            TypeError: As `render`.

        >>> import pyarrow as pa
        >>> says = [{"role": "user", "content": "Hi."}]
        >>> batches = pa.table({"messages": [says, says]}).to_batches(max_chunksize=1)
        >>> [batch["prompt"].to_pylist() for batch in ChatTemplate("{{ messages[0].content }}").stream(batches)]
        [['Hi.'], ['Hi.']]

        """
        reader = as_reader(batches)
        keep = names_of(keep)
        schema = self._output_schema(reader.schema, keep, index)
        return pa.RecordBatchReader.from_batches(schema, self._batches(reader, schema, keep, index is not None))

    def _stream_from(
        self, reader: pa.RecordBatchReader, keep: Sequence[str], index: str | None, first: int
    ) -> pa.RecordBatchReader:
        """Render a stream that goes on behind `first` rows which an earlier run has rendered."""
        schema = self._output_schema(reader.schema, list(keep), index)
        return pa.RecordBatchReader.from_batches(
            schema, self._batches(reader, schema, list(keep), index is not None, first)
        )

    def _batches(
        self, reader: Iterable[pa.RecordBatch], schema: pa.Schema, keep: list[str], numbered: bool, first: int = 0
    ) -> Iterator[pa.RecordBatch]:
        run = JinjaRun()
        for batch in reader:
            table = pa.Table.from_batches([batch])
            at = 0
            for texts in self._renderer.texts(table, self._column, first, self._strings, run):
                columns = [table.column(name).slice(at, len(texts)) for name in keep]
                if numbered:
                    columns.insert(0, pa.array(range(first + at, first + at + len(texts)), pa.int64()))
                yield from pa.Table.from_arrays([*columns, texts], schema=schema).to_batches()
                at += len(texts)
            first += batch.num_rows
            object.__setattr__(self, "_last_run", run)

    def __call__(self, batch: Any) -> Any:
        """Render one batch and keep all its columns: what `map_batches` and `mapInArrow` want.

        Args:
            batch: A `pyarrow.RecordBatch`, or a table.

        Returns:
            The same kind with the texts appended; one record batch stays one record batch.

        Raises:
            RenderError: As `render`; and if the texts pass what one array of 32-bit offsets can hold.

        >>> import pyarrow as pa
        >>> batch = pa.record_batch({"messages": [[{"role": "user", "content": "Hi."}]]})
        >>> ChatTemplate("{{ messages[0].content }}")(batch).column_names
        ['messages', 'prompt']

        """
        if not isinstance(batch, pa.RecordBatch):
            table = as_table(batch)
            return self.render(table, column_names(table.schema))
        table = self.render(pa.Table.from_batches([batch]), column_names(batch.schema))
        text = one_array(table.column(table.num_columns - 1).chunks, self._column)
        return pa.RecordBatch.from_arrays([*batch.columns, text], schema=table.schema)

    def output_schema(self, schema: pa.Schema, keep: Sequence[str] = (), *, index: str | None = None) -> pa.Schema:
        """Return the schema of what rendering a table of `schema` gives.

        Args:
            schema: That of the table.
            keep: As in `render`.
            index: As in `render`.

        Returns:
            The schema of `render` and `stream`.

        Raises:
            RenderError: If the column of conversations is missing, or a kept one, or two columns would have one name.

        >>> import pyarrow as pa
        >>> ChatTemplate("", column="chat").output_schema(pa.schema({"chat": pa.string()}))
        prompt: string

        """
        return self._output_schema(schema, names_of(keep), index)

    def _output_schema(self, schema: pa.Schema, keep: Sequence[str], index: str | None) -> pa.Schema:
        names = column_names(schema)
        if self._column not in names:
            known = ", ".join(map(repr, names)) or "no columns"
            message = (
                f"the table has no such column, which holds the conversations; it has {known}"
                f"{did_you_mean(self._column, names) or '; name it by column='}"
            )
            raise render_error("missing_column", message, column=self._column)
        kept = kept_schema(schema, keep, [pa.field(self._names.get(_PROMPT, _PROMPT), _STRINGS[self._strings])])
        return kept if index is None else indexed_schema(kept, index, keep)

    @property
    def required_columns(self) -> list[str]:
        """The columns that a scan has to read: that of the conversations.

        >>> ChatTemplate("").required_columns
        ['messages']

        """
        return [self._column]

    def fingerprint(self) -> str:
        """Say in one short text what decides the bytes of the texts: as `Renderer.fingerprint`.

        It is made of the source and its environment, of what the template is given, of the column of conversations, and
        of the number of the rules. The clock counts where the template asks for it.

        Returns:
            64 hexadecimal digits.

        >>> ChatTemplate("{{ bos_token }}").fingerprint() == ChatTemplate("{{ bos_token }}", bos_token="").fingerprint()
        False

        """
        from promptpress._fingerprint.fingerprint import of_chat_template  # noqa: PLC0415 - seldom asked for

        return of_chat_template(self._renderer.settings, self._column)

    @property
    def source(self) -> str:
        """The template's text.

        >>> ChatTemplate("{{ messages }}").source
        '{{ messages }}'

        """
        return self._renderer.settings.source

    @property
    def compiled(self) -> pa.Table:
        """What is compiled, and what is left to Jinja2: usual shapes of conversations, and those that were rendered.

        A row for each shape and each reason: `shape` (roles, with what else a message has), `rows` that were rendered
        of it so far, `compiled` (whether there is a program), and where rows leave it, the `line` and the `reason`.

        >>> ChatTemplate("{{ messages[0].content }}").compiled.to_pylist()[0]
        {'shape': 'user', 'rows': 0, 'compiled': True, 'line': None, 'reason': None}

        """
        return compiled_table(self._renderer)

    @property
    def last_run(self) -> JinjaRun | None:
        """How many rows were rendered by programs, and how many by Jinja2 and why, when last a table was rendered.

        The first conversation of a shape is always Jinja2's. Of a stream, as far as it has been read. None before.

        >>> chat = ChatTemplate("{{ messages[0].content }}")
        >>> table = chat.render([{"messages": [{"role": "user", "content": "Hi."}]}] * 3)
        >>> chat.last_run.rows, chat.last_run.compiled
        (3, 2)

        """
        return self._last_run

    @property
    def starts_with_bos(self) -> bool | None:
        """Whether the texts begin with the `bos_token`, so that no tokenizer should put another one before.

        None where that depends on the conversation, or can't be told: usual conversations are rendered to see.

        >>> ChatTemplate("{{ bos_token }}{{ messages[0].content }}", bos_token="<s>").starts_with_bos
        True

        """
        if not self._starts_with_bos:
            self._starts_with_bos.append(starts_with_bos(self._renderer))
        return self._starts_with_bos[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChatTemplate):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        settings = self._renderer.settings
        return hash((settings.source, settings.environment, self._column, self._strings))

    def __getstate__(self) -> dict[str, Any]:
        return {
            "settings": dict(vars(self._renderer.settings)),
            "column": self._column,
            "strings": self._strings,
            "names": self._names,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(ChatRenderer(ChatSettings(**state["settings"])), state["column"], state["strings"], state["names"])

    def __repr__(self) -> str:
        settings = self._renderer.settings
        source = settings.source if len(settings.source) <= 60 else settings.source[:60] + "…"
        given: dict[str, Any] = {
            "environment": settings.environment,
            "column": self._column,
            "fallback": settings.fallback,
            "add_generation_prompt": settings.add_generation_prompt,
            "continue_final_message": settings.continued or False,
            "strings": self._strings,
            "names": self._names,
        }
        shown = [f"{name}={value!r}" for name, value in given.items() if value != _DEFAULTS[name]]
        for name, value in (("tools", settings.tools), ("documents", settings.documents)):
            if value is not None:
                shown.append(f"{name}=<{len(value)}>")
        if settings.now is not None:
            shown.append(f"now={settings.now!r}")
        shown += [f"{name}={value!r}" for name, value in settings.variables.items()]
        return f"ChatTemplate({', '.join([repr(source), *shown])})"


_DEFAULTS: dict[str, Any] = {
    "environment": "transformers",
    "column": "messages",
    "fallback": "jinja2",
    "add_generation_prompt": False,
    "continue_final_message": False,
    "strings": "string",
    "names": {},
}


def _checked_names(names: Mapping[str, str] | None) -> dict[str, str]:
    names = {} if names is None else names
    if not isinstance(names, Mapping):
        message = f'expected {{"{_PROMPT}": ...}}, found a {type(names).__name__}'
        raise template_error("wrong_type", "names", message)
    for name, own in names.items():
        if name != _PROMPT:
            message = f"there is no output column {name!r}; there is {_PROMPT!r}"
            raise template_error("unknown_name", "names", message)
        if not isinstance(own, str) or not own or "\0" in own:
            raise template_error("wrong_type", f"names.{name}", f"{own!r} is no name for a column")
    return dict(names)
