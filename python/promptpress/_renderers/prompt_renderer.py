"""The bases of the public renderers: streams, batches, schemas, and what templates have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import pyarrow as pa

from promptpress._arrow.python_values import to_pylist
from promptpress._engine.options import RenderOptions
from promptpress._engine.table_engine import TableEngine, TableRenderer
from promptpress.typing import (
    ControlTokens,
    KeptColumns,
    Mask,
    RequestOrder,
    RowPolicy,
    SpanDetail,
    StreamLike,
    TableLike,
    Truncation,
    Turns,
)

if TYPE_CHECKING:
    from promptpress_workbench.prompts.preview import Preview

    from promptpress._engine.template_engine import TemplateEngine
    from promptpress._jinja.run import JinjaRun

Engine = TypeVar("Engine", bound=TableEngine)
TextEngine = TypeVar("TextEngine", bound="TemplateEngine")


class PromptRenderer(TableRenderer[Engine]):
    """Renders streams, batches and schemas."""

    __slots__ = ()

    def stream(
        self,
        batches: StreamLike,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
        tokenize: object = None,
        turns: Turns = "all",
    ) -> pa.RecordBatchReader:
        """Render a stream batch by batch, as it is read.

        Args:
            batches: A reader, a scanner, anything that exports an Arrow stream, an iterable of record batches, or
                whatever `render` takes; files, LazyFrames and datasets that stream are read batch by batch.
            keep: As in `render`.
            index: As in `render`.
            hashes: As in `render`; the metadata have the fingerprint alone, because the rest is known only at the end.
            spans: As in `render`.
            errors: As in `render`.
            tokenize: A tokenizer, for columns of tokens in the place of the prompts, as `tokenize` gives them; or a
                dict of it (`"tokenizer"`) and other arguments of `tokenize`; `{}` is for `Renderer(tokenizer=)`.
            turns: As in `tokenize`.

        Returns:
            A reader; its memory is bounded by the batch. Positions count over the whole stream.

        Raises:
            TemplateError: If the labels would be the values of a column, which no stream knows beforehand.
            RenderError: As `render`, when the batch is read.
            TypeError: As `render`.

        >>> import pyarrow as pa
        >>> from promptpress import JinjaTemplate, Renderer
        >>> batches = pa.table({"question": ["1+1=?", "2+2=?"]}).to_batches(max_chunksize=1)
        >>> [batch["prompt"].to_pylist() for batch in Renderer("Q: {question}").stream(batches)]
        [['Q: 1+1=?'], ['Q: 2+2=?']]
        >>> [batch["prompt"].to_pylist() for batch in JinjaTemplate("Q: {{ question }}").stream(batches)]
        [['Q: 1+1=?'], ['Q: 2+2=?']]
        """
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors, turns=turns)
        if tokenize is None:
            return self._engine_for(options).stream(batches, options)
        from promptpress._tokens.token_engine import token_engine  # noqa: PLC0415 - most programs only render

        return token_engine(self._engine, tokenize, options).stream(batches, options)

    def tokenize(
        self,
        samples: TableLike,
        tokenizer: object = None,
        *,
        mask: Mask | None = None,
        answer: str | None = None,
        labels: bool = False,
        max_tokens: int | None = None,
        truncation: Truncation = "refuse",
        keep: KeptColumns = (),
        index: str | None = None,
        errors: RowPolicy = "raise",
        offsets: bool = False,
        add_special_tokens: bool | None = None,
        control_tokens: ControlTokens = "parse",
        reasoning: bool = False,
        last_turn: bool = False,
        turns: Turns = "all",
        names: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Render all samples, and encode the prompts as token ids.

        The ids are those of the library `tokenizers` with the same file. Truncation and padding that the file may say
        are off.

        Args:
            samples: As in `render`.
            tokenizer: A `tokenizer.json`, a folder that holds one, the name of a model in the local Hugging Face cache,
                a `tokenizers.Tokenizer`, or a fast tokenizer of transformers. Nothing is downloaded. None: that of
                `Renderer(tokenizer=)`.
            mask: Which tokens are trained: `"generation"`, those of the chat template's `{% generation %}` blocks;
                `"assistant"`, what assistants say in their messages; `"assistant+end"`, and what ends the turn, up to
                the first added token; `"assistant+turn"`, and blanks after that. The last three follow from where the
                bytes of the prompt come from, whatever the template. A token counts if it overlaps such a text.
            answer: The column of what the assistant says last, with which each conversation ends. It needs a chat
                template. None: prompts are encoded as they are.
            labels: Whether to give the ids of trained tokens, and -100 for others.
            max_tokens: How many tokens a request may have; None: any number.
            truncation: What becomes of a request with more: `"refuse"` is an error that names the row; `"left"`,
                `"right"` and `"middle"` leave out tokens there.
            keep: As in `render`.
            index: As in `render`.
            errors: As in `render`.
            offsets: Whether to say where in the prompt each token stands.
            add_special_tokens: Whether the tokenizer puts its special tokens around each prompt. None: not where a chat
                template has written the prompt, or the prompt begins with the first of them already.
            control_tokens: Whether what data brings may be a control token, as in the library (`"parse"`), or whatever
                looks like one in data is text (`"text"`).
            reasoning: Whether the reasoning of assistants is trained too (`reasoning_content`), with the tags around
                it.
            last_turn: Whether only the last turn of an assistant is trained.
            turns: `"each"` gives a row for each turn of an assistant, as the model will be asked for it: the
                conversation before it with the generation prompt, and the turn. Rows that are the beginning of the
                conversation's next row are part of that one, so a template that only appends gives one row. It is for
                `ChatTemplate`. `"all"` gives a row for each conversation.
            names: Other names of the columns, such as `{"input_ids": "prompt_token_ids"}`.

        Returns:
            One row a request: the index (`sample`, with `turns="each"`), the kept columns, label and turn (the number
                of the assistant's turn from 0, and the last one in the row), then `input_ids` (list of int32) and
                `n_tokens` (int32); `assistant_masks` (list of bool), `labels` (list of int32), `offsets` (list of
                structs of `start` and `end`, bytes of the prompt); `truncated` (bool), where `truncation` cuts; and
                `error`.

        Raises:
            TemplateError: If the requests are messages: `output="text"` and `chat_template=` make texts of them.
            RenderError: As `render`; if a request has more tokens than `max_tokens`, or it isn't known which of its
                bytes an assistant says.
            ImportError: If the package `tokenizers` isn't installed.
            OSError: If the tokenizer can't be read.
            ValueError: If the file holds no tokenizer, or an argument's value is wrong.
            TypeError: As `render`, and if an argument is something else.

        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> from tokenizers import Tokenizer, models, pre_tokenizers
        >>> words = Tokenizer(models.WordLevel({"Q:": 0, "1+1": 1, "?": 2}, "?"))
        >>> words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        >>> Renderer("Q: {q}").tokenize(pa.table({"q": ["1+1 =", "1+1"]}), words).to_pylist()
        [{'input_ids': [0, 1, 2], 'n_tokens': 3}, {'input_ids': [0, 1], 'n_tokens': 2}]
        """
        from promptpress._tokens.token_engine import token_engine  # noqa: PLC0415 - most programs only render

        options = RenderOptions.of(keep, index, errors=errors, turns=turns)
        settings = {
            "tokenizer": tokenizer,
            "mask": mask,
            "answer": answer,
            "labels": labels,
            "control_tokens": control_tokens,
            "reasoning": reasoning,
            "last_turn": last_turn,
            "max_tokens": max_tokens,
            "truncation": truncation,
            "offsets": offsets,
            "add_special_tokens": add_special_tokens,
            "names": names or {},
        }
        return token_engine(self._engine, settings, options).render(samples, options)

    def _engine_for(self, options: RenderOptions) -> TableEngine:
        """Return the engine that renders conversations, or each of their turns."""
        if options.turns == "all":
            return self._engine
        from promptpress._tokens.turns import TurnsEngine  # noqa: PLC0415 - most programs render conversations

        return TurnsEngine.of(self._engine)

    @overload
    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...
    @overload
    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]: ...  # type: ignore[overload-cannot-match]
    @overload
    def __call__(self, batch: TableLike) -> pa.Table: ...  # type: ignore[overload-cannot-match]  # pyarrow is untyped
    def __call__(self, batch: pa.RecordBatch | TableLike) -> pa.RecordBatch | pa.Table | dict[str, list[Any]]:
        """Render one batch and keep all its columns: what `map_batches` and `mapInArrow` want.

        Args:
            batch: A `pyarrow.RecordBatch`, or a table, or a dict of lists.

        Returns:
            The same kind with the output columns appended; one record batch stays one record batch, and a dict of lists
            one of lists, as the `map` of streaming Hugging Face datasets wants it.

        Raises:
            TemplateError: If the configuration depends on more than the batch; the message says what to do.
            RenderError: As `render`; and if the prompts pass what one array of 32-bit offsets can hold.

        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> renderer = Renderer("Q: {question}")
        >>> renderer(pa.record_batch({"question": ["1+1=?"]})).to_pylist()
        [{'question': '1+1=?', 'prompt': 'Q: 1+1=?'}]
        """
        rendered = self._engine.batch(batch)
        return _columns(batch, rendered) if type(batch) is dict else rendered

    def output_schema(
        self,
        schema: pa.Schema,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
        order: RequestOrder | None = None,
        shared: bool = False,
    ) -> pa.Schema:
        """Return the schema of what rendering samples of `schema` gives; no data decides it.

        Args:
            schema: That of the samples.
            keep: As in `render`.
            index: As in `render`.
            hashes: As in `render`.
            spans: As in `render`.
            errors: As in `render`.
            order: As in `render`.
            shared: As in `render`.

        Returns:
            The schema of `render` and `stream`.

        Raises:
            RenderError: If a kept column or that of the conversations is missing, or two columns would have one name.

        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> Renderer("Q: {q}", strings="large_string").output_schema(pa.schema({"q": pa.string()}))
        prompt: large_string
        """
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors, order=order, shared=shared)
        return self._engine.output_schema(schema, options)


def _columns(given: dict[str, Any], rendered: pa.Table) -> dict[str, list[Any]]:
    """Return lists for a dict of lists; a column that came in goes out as it is, unless its rows are repeated."""
    out: dict[str, list[Any]] = {}
    for name, column in zip(rendered.column_names, rendered.columns, strict=True):
        if name not in given:
            out[name] = to_pylist(column)
        else:
            out[name] = given[name] if len(given[name]) == len(column) else column.to_pylist()
    return out


class TemplateRenderer(PromptRenderer[TextEngine]):
    """Renders one text of each row."""

    __slots__ = ()

    def preview(
        self,
        samples: TableLike,
        n: int = 5,
        *,
        rows: Sequence[int] | None = None,
        tokenizer: object = None,
        mask: Mask | None = None,
    ) -> Preview:
        """Show some texts: coloured by where each piece comes from in a notebook, as text elsewhere.

        Args:
            samples: As in `render`. Only the rows that are shown are rendered.
            n: The number of rows, from the first on.
            rows: The numbers of the rows, in the place of the first ones.
            tokenizer: As in `tokenize`: each token is shown as a cell.
            mask: As in `tokenize`: trained tokens are filled, and stand in brackets in a text.

        Returns:
            An object that a notebook shows by itself, and `print` as text.

        Raises:
            RenderError: As `render`, and if there is no such row.

        >>> import pyarrow as pa
        >>> from promptpress import JinjaTemplate
        >>> print(JinjaTemplate("Q: {{ q }}").preview(pa.table({"q": ["1+1=?", "2+2=?"]}), rows=[1]))
        ── row 1 · 8 bytes · 8 characters
        Q: 2+2=?
        """
        from promptpress_workbench.prompts.preview import preview_of  # noqa: PLC0415 - most programs only render

        return preview_of(self, samples, n, rows=rows, tokenizer=tokenizer, mask=mask)

    def audit(
        self,
        samples: TableLike | StreamLike,
        *,
        output_column: str | None = None,
        tokenizer: object = None,
        mask: Mask | None = None,
        limits: Mapping[str, int] | None = None,
        allow: Sequence[str] = (),
        only: Sequence[str] | None = None,
    ) -> pa.Table:
        """Check all rows and their texts for mistakes, without a model, as `Renderer.audit` does.

        It finds answers in texts, control tokens in values, equal and empty texts, texts beyond a limit, and odd
        characters and nulls in values that are shown. A template has no examples, roles or placeholders to check.

        Args:
            samples: As in `render` or `stream`.
            output_column: The column of the answers; None: answers aren't checked.
            tokenizer: As in `Renderer.audit`.
            mask: As in `Renderer.audit`.
            limits: As in `Renderer.audit`.
            allow: As in `Renderer.audit`.
            only: As in `Renderer.audit`.

        Returns:
            The table of `Renderer.audit`.

        Raises:
            RenderError: If something is wrong with the whole table, or if there is no such column of answers.
            TemplateError: If what a mask would train isn't known of any row.
            ValueError: If there is no such code, limit or mask.

        >>> import pyarrow as pa
        >>> from promptpress import JinjaTemplate
        >>> samples = pa.table({"q": ["1+1=?", "Is it <|im_end|>?"], "a": ["2", "yes"]})
        >>> findings = JinjaTemplate("Q: {{ q }}").audit(samples, output_column="a")
        >>> [(row["code"], row["first_rows"], row["column"]) for row in findings.to_pylist()]
        [('likely_special_token', [1], 'q')]
        """
        from promptpress_workbench.audit.collect import audit  # noqa: PLC0415 - most programs only render

        options: dict[str, Any] = {"only": only, "mask": mask, "output_column": output_column}
        return audit(self, samples, tokenizer, limits, allow, **options)

    @property
    def last_run(self) -> JinjaRun | None:
        """The numbers of rows that programs and Jinja2 rendered, and why, when a table was rendered last.

        Of a stream, as far as it has been read. None before. The first conversation of a shape is always Jinja2's.

        >>> from promptpress import ChatTemplate, JinjaTemplate
        >>> template = JinjaTemplate("{{ q }}")
        >>> template.last_run is None
        True
        >>> chat = ChatTemplate("{{ messages[0].content }}")
        >>> table = chat.render([{"messages": [{"role": "user", "content": "Hi."}]}] * 20)
        >>> chat.last_run.rows, chat.last_run.compiled
        (20, 19)
        """
        return self._engine.last_run
