"""The renderer: one configuration, any number of tables."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from promptpress._arrow.as_table import as_table
from promptpress._arrow.core_tables import warm_up
from promptpress._config.from_harness import renderer_arguments
from promptpress._engine.configured_engine import ConfiguredEngine, Conversation
from promptpress._engine.notes import LastRun, find_notes, table_of
from promptpress._engine.options import RenderOptions
from promptpress._engine.ordered_rendering import render_table
from promptpress._renderers.prompt_renderer import PromptRenderer
from promptpress._renderers.renderer_arguments import engine_of_arguments
from promptpress.typing import (
    ChatTemplateLike,
    ConfigFile,
    ConfigLike,
    Dialect,
    Finding,
    FitLabels,
    FitRule,
    KeptColumns,
    Label,
    Mask,
    Mode,
    Output,
    RequestOrder,
    RowPolicy,
    SpanDetail,
    StreamLike,
    StringLayout,
    Substitution,
    TableLike,
    Template,
    Tokens,
    Unknown,
)

if TYPE_CHECKING:
    from promptpress_workbench.prompts.preview import Preview


class Renderer(PromptRenderer[ConfiguredEngine]):
    r"""Renders samples into the prompts that an evaluation harness would have built one by one.

    Immutable, and safe to share between threads; long work runs without the GIL. It can be pickled, with its examples,
    and equals another of the same configuration. Everything that can be checked without samples is checked here.

    Args:
        prompt_template: The harness's dict as it stands in `infer_cfg` (`type`, `template`, `ice_token`, `sep_token`),
            or the bare template: a string, a dialogue (`begin`, `round`, `end`), a label map, or a list of messages.
        ice_template: The template of in-context examples, in the same forms; alone it serves as both.
        retriever: `{"type": "ZeroRetriever" | "FixKRetriever" | "RandomRetriever" | "SlidingWindowRetriever", ...}`, or
            `{"type": "IndexColumn", "column": ...}`: a column of lists of integers says which examples each sample has.
        examples: The table that the retriever's indices point into, the train split; in any form that samples have.
        reader: `{"input_columns": ..., "output_column": ...}`. The output column is masked in gen mode.
        inferencer: `{"type": ..., "gen_field_replace_token": "", "normalizing_str": ..., "labels": ...}`, or with
            `"infer_mode"` for conversations (`MultiTurnGenInferencer`, `ChatInferencer`); the rest is ignored. A
            `ChatInferencer` makes chats of the reader's columns, with a prompt template or without, and gives the
            history before each of the assistant's messages (`"every_with_gt"`), before the last (`"last"`, its
            default), or with the model's own replies (`"every"`, by `converse`).
        meta_template: How the model's roles speak; a dict or a list as in the model's configuration, or
            `"aisbench:<model class>"` for the one that such a model has when none is given.
        mode: `"gen"` or `"ppl"`. None: `"ppl"` for `PPLInferencer` and `LLInferencer`, else `"gen"`.
        output: `"text"` (the language-model parser), `"messages"` (the API parser), `"prompt_list"` (before any meta
            template), `"messages_json"`, or `"openai"` (`role` and `content` as chat APIs take them, a text as one
            message of the user; a `content` is a list of parts where one can be). None: messages for raw messages, a
            list-form meta template or a role with `api_role`, in OpenAI's form if nothing of a harness is given; else
            text. In messages of `MMPromptTemplate` `parts`, a list of structs, may stand in the place of a `prompt`;
            without a meta template the messages are the parts themselves. See `to_pylist`.
        labels: The labels of ppl; None: those of the inferencer, the template, or the output column.
        dialect: The harness whose rules decide where they differ. None: `"opencompass"`.
        substitution: `"harness"` replaces column by column and looks into values, as the harnesses do; `"single_pass"`
            replaces each placeholder of a template once, and leaves values alone; pairs of braces directly around a
            column's name go together there as in `str.format`: each two stand for one (`{{name}}` is the text
            `{name}`), and a pair that is left over is filled in. None: `"harness"` if anything of a harness is given (a
            template dict with a `type`, `ice_template`, `retriever`, `reader`, `inferencer`, `meta_template`,
            `dialect`), else `"single_pass"`.
        strings: Arrow layout of written strings: `"string"`, `"large_string"` or `"string_view"`.
        tokens: Texts of token ids in a meta template: a dict or a function.
        names: Other names for the output columns `prompt`, `label`, `turn` and `hash`.
        refuse: Names of findings that are errors when samples are rendered; see `findings`.
        roles: For `output="openai"`, what to call roles that chat APIs don't know, and others than usual for those
            that they do: `{"CRITIC": "user", "system": "developer"}`.
        chat_template: A `ChatTemplate` that makes texts of the messages, as OpenCompass's `HuggingFacewithChatTemplate`
            does with a model's own: `HUMAN`, `BOT` and `SYSTEM` are its user, assistant and system. The text ends where
            the assistant is to speak, unless the template continues the last message. The meta template is that class's
            where none is given.
        limits: How much may be asked for, other than usual: `template_bytes` of the configuration's texts (64 MiB),
            `nesting` of its dicts and lists (100, and no more), `labels` of a sample (100,000), `prompt_bytes` of a
            request's text (4 GiB), `batch_bytes` of the texts that are made at a time, those of at most 65,536 requests
            (64 GiB). What would pass one is an error (`limit_exceeded`) before memory is asked for.
        unknown: What becomes of a template that is surely mistaken: where a placeholder is near a column's name and
            fills in nothing, a brace before a column's name isn't closed, or all of it is empty. `"refuse"` makes it an
            error of `render`, `stream`, calls and exports, and `"keep"` renders it with a warning. None: `"refuse"` if
            nothing of a harness is given; else it is rendered with a warning, and refused by exports.
        system: The short form, for a template that is a text: a system message before it. Prompts are messages then.
            The short form doesn't go with the words of a harness (`ice_template`, `retriever`, `reader`, `inferencer`,
            `meta_template`), and its values are left alone.
        optional_system: The short form: whether the system message is left out of a row if a column in it is null, or
            if it is empty. In a list of messages, `"optional": True` says so of any message.
        shots: The short form: how many of the `examples` stand before each prompt. They are rendered by the same
            template. With a chat output they are turns of the user and the assistant.
        output_column: The short form: the column of the answers. Examples show it; the question doesn't.
        seed: The short form: the seed by which each sample's examples are drawn, as `RandomRetriever` does. None: the
            first rows are the examples of all samples.
        tokenizer: The model's tokenizer, as in `tokenize`, which takes it where no other is given, as `stream`, `audit`
            and `stats` do.
        max_seq_len: The most tokens of a prompt, to which `tokenizer` fits it. None: that of the inferencer, if it has
            one. Columns `n_shots` (int32) and `truncated` (bool) then say how many examples each prompt has, and
            whether it doesn't fit even without any, so that the model cuts it.
        fit: The examples that are left out, one after the other, until a prompt fits: `"harness"`, by the rule of the
            harness's inferencer, with its count of tokens; `"last"` and `"first"`, from that end of a sample's
            examples.
        reserve: The tokens of `max_seq_len` that are kept free for the answer (`"last"` and `"first"`).
        fit_labels: In ppl, `"each"` fits each label's prompt alone, and `"jointly"` gives all labels of a sample the
            same examples (`"last"` and `"first"`).

    Raises:
        TemplateError: If the configuration is wrong; the message names the path, what was found and what would do.
        ImportError: If a tokenizer is given, and the package `tokenizers` isn't installed.
        OSError: If the tokenizer can't be read.
        ValueError: If the tokenizer's file holds none.
        TypeError: If the tokenizer is something else.

    >>> import pyarrow as pa
    >>> renderer = Renderer("Q: {question}\nA: {answer}", reader={"output_column": "answer"})
    >>> samples = pa.table({"question": ["1+1=?", "2+2=?"], "answer": ["2", "4"]})
    >>> renderer.render(samples)["prompt"].to_pylist()
    ['Q: 1+1=?\nA: ', 'Q: 2+2=?\nA: ']
    >>> train = pa.table({"question": ["3+3=?"], "answer": ["6"]})
    >>> renderer = Renderer("Q: {question}\nA: {answer}", shots=1, examples=train, output_column="answer")
    >>> renderer.render(samples)["prompt"][0].as_py()
    'Q: 3+3=?\nA: 6\nQ: 1+1=?\nA: '
    """

    __slots__ = ()

    _engine_class = ConfiguredEngine

    def __init__(  # noqa: PLR0917 - the two templates come first, and the rest is given by name
        self,
        prompt_template: Template | None = None,
        ice_template: Template | None = None,
        retriever: Mapping[str, Any] | None = None,
        examples: TableLike | None = None,
        reader: Mapping[str, Any] | None = None,
        inferencer: Mapping[str, Any] | None = None,
        meta_template: Mapping[str, Any] | Sequence[Any] | str | None = None,
        mode: Mode | None = None,
        output: Output | None = None,
        labels: Sequence[Label] | None = None,
        dialect: Dialect | None = None,
        substitution: Substitution | None = None,
        strings: StringLayout = "string",
        tokens: Tokens | None = None,
        names: Mapping[str, str] | None = None,
        refuse: Sequence[Finding] | None = None,
        roles: Mapping[str, str] | None = None,
        chat_template: ChatTemplateLike | None = None,
        limits: Mapping[str, int] | None = None,
        *,
        unknown: Unknown | None = None,
        system: str | None = None,
        optional_system: bool = False,
        shots: int = 0,
        output_column: str | None = None,
        seed: int | None = None,
        tokenizer: object = None,
        max_seq_len: int | None = None,
        fit: FitRule = "harness",
        reserve: int = 0,
        fit_labels: FitLabels = "each",
    ) -> None:
        arguments = {name: value for name, value in locals().items() if name != "self"}
        self._set(engine_of_arguments(arguments))

    @classmethod
    def from_config(
        cls,
        dataset_cfg: ConfigLike,
        model_cfg: ConfigLike | None = None,
        *,
        model: ConfigLike | None = None,
        dataset: str | None = None,
        model_abbr: str | None = None,
        **overrides: Any,
    ) -> Renderer:
        """Make a renderer from a harness's dataset and model: two dicts, or the files that hold them.

        Args:
            dataset_cfg: A dict with `reader_cfg` and `infer_cfg`, as OpenCompass and AISBench ship them; or a file, as
                `load_config` reads it, or what that gave. A file may also be a benchmark of EvalScope or a prompt of
                NeMo-Skills.
            model_cfg: A dict or a file too, with `type` and maybe `meta_template`; the class decides the parser, and
                the meta template that it has when none is given. None: the model of a job's file, where it has one.
            model: Another name of `model_cfg`.
            dataset: Which dataset of the file, by its `abbr`, where it holds several.
            model_abbr: Which model of the file, by its `abbr`.
            overrides: Arguments of `Renderer` that win over the dicts', such as `examples=`.

        Returns:
            The renderer.

        Raises:
            TemplateError: As the constructor; where the dicts lack what prompts are made of; where a file can't be
                read, or holds several and nothing says which.
            TypeError: If the model is given twice.

        >>> import pyarrow as pa
        >>> dataset = {
        ...     "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
        ...     "infer_cfg": {
        ...         "prompt_template": {"type": "PromptTemplate", "template": "Q: {question}"},
        ...         "retriever": {"type": "ZeroRetriever"},
        ...         "inferencer": {"type": "GenInferencer"},
        ...     },
        ... }
        >>> renderer = Renderer.from_config(dataset, {"type": "VLLM"})
        >>> renderer.render(pa.table({"question": ["1+1=?"]}))["prompt"].to_pylist()
        ['Q: 1+1=?']
        """
        if model is not None and model_cfg is not None:
            raise TypeError("from_config() got the model twice: model= is another name of model_cfg=")
        model = model_cfg if model is None else model
        files = (str, PathLike, ConfigFile)
        if not (isinstance(dataset_cfg, files) or isinstance(model, files) or dataset or model_abbr):
            return cls(**renderer_arguments(dataset_cfg, model, **overrides))
        from promptpress_harness.configs.arguments import arguments_of_files  # noqa: PLC0415 - for files only

        return cls(**arguments_of_files(dataset_cfg, model, dataset, model_abbr, overrides))

    def render(
        self,
        samples: TableLike,
        keep: KeptColumns = (),
        *,
        index: str | None = None,
        hashes: bool = False,
        spans: SpanDetail = False,
        errors: RowPolicy = "raise",
        order: RequestOrder | None = None,
        shared: bool = False,
    ) -> pa.Table:
        """Render all samples.

        Args:
            samples: A pyarrow table, batch, reader, dataset or scanner; a Hugging Face dataset, also one that streams;
                anything with the Arrow PyCapsule interface, such as a Polars or pandas frame or a DuckDB relation; a
                Polars LazyFrame; rows as dicts, of a list or a generator, or columns as a dict of lists; or the path of
                a file, as the command reads it.
            keep: Columns of the samples to keep next to the prompts; `"all"` keeps all of them.
            index: The name of a column for the number of each request's sample, from 0.
            hashes: Whether to say a hash of each request: the first 16 bytes of BLAKE3 of a text's UTF-8; of messages
                of one way to write them down, so that string layouts and JSON make no difference. It is the same on
                every machine. The schema's metadata have `promptpress.fingerprint` then, and `promptpress.hash`: the
                BLAKE3 of all requests as one stream, each with its length before it.
            spans: Whether to say where each byte comes from: spans without gaps of a text's UTF-8 bytes, or of each
                message's, with the `source` that `explain` has; `"detailed"`: with `column`, `example` and `role` too.
            errors: What becomes of a sample that can't be rendered: `"raise"` makes it the call's error; `"column"`
                makes its prompts null and says why in a column `error`, which is null for all others; `"skip"` leaves
                the sample out. The others are what they would be if nothing was wrong. `last_run` counts the samples
                with errors. What is wrong with the whole table is raised.
            order: `"prefix"` puts requests with equal beginnings together, so that an engine that caches prefixes reads
                them once: requests with the same examples, among them those with equal values of the column that
                comes first, and so on. Groups come in the order of their first samples, and all requests of a sample
                stay together. There is an index then, which is called `sample` by default. It takes 24 bytes of memory
                a sample. None: the order of the samples.
            shared: With an order, whether to add `prefix_group` (int64), which is the same for requests whose first
                column or examples are equal, and `shared_bytes` (int64): with how many equal bytes a request and the
                one before it begin. Of messages, the bytes of their texts count.

        Returns:
            One row a request, in the order of the samples: the index (int64), the kept columns, then `label` (ppl),
            then `prompt`, then `spans` (lists of structs of `start`, `end` and `source`; for messages `message` and,
            where there may be parts, `part` come first; positions are int32, and int64 if `strings` is
            `"large_string"`), then `hash` (fixed-size binary), then `error`.

        Raises:
            RenderError: If a value, a row or the table can't be rendered; nothing is returned then. Also if two columns
                would have one name.
            TypeError: If `samples` hold no Arrow data, `keep` is no sequence of names, `index` is no name, or `spans`
                or `errors` is something else.

        >>> import pyarrow as pa
        >>> samples = pa.table({"id": [7], "question": ["1+1=?"]})
        >>> Renderer("Q: {question}").render(samples, keep=["id"]).to_pylist()
        [{'id': 7, 'prompt': 'Q: 1+1=?'}]
        >>> Renderer("Q: {question}").render(samples, index="row").to_pylist()
        [{'row': 0, 'prompt': 'Q: 1+1=?'}]
        >>> Renderer("Q: {question}").render(samples, spans=True)["spans"][0].as_py()[1]
        {'start': 3, 'end': 8, 'source': 'field'}
        """
        options = RenderOptions.of(keep, index, hashes=hashes, spans=spans, errors=errors, order=order, shared=shared)
        return render_table(self._engine, samples, options)

    def converse(self, samples: TableLike) -> Conversation:
        """Begin conversations in which the model's own replies are part of the later requests.

        Args:
            samples: With the list columns `question` and `answer`, or what a `ChatInferencer` makes a chat of; the
                inferencer's `infer_mode` is `"every"`.

        Returns:
            The conversation, with the requests of the first turn.

        Raises:
            TemplateError: If the configuration has no such turns.
            RenderError: As `render`.

        >>> import pyarrow as pa
        >>> chat = {"type": "ChatInferencer", "infer_mode": "every"}
        >>> reader = {"input_columns": ["messages"], "output_column": None}
        >>> renderer = Renderer(inferencer=chat, reader=reader)
        >>> says = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello!"}]
        >>> renderer.converse(pa.table({"messages": [says]})).requests["prompt"].to_pylist()
        ['Hi.']
        """
        return self._engine.converse(as_table(samples, self._engine.value_reading))

    def notes(self, samples_or_schema: TableLike | pa.Schema) -> pa.Table:
        """Find what is probably a mistake, from the configuration and the schema alone.

        `render`, `stream`, `converse` and calls refuse a template with notes whose severity is `"error"`, which there
        are if nothing of a harness is given; and warn of `"warning"` by a `PromptWarning`, once for each schema.

        Args:
            samples_or_schema: Samples as in `render`, or their `pyarrow.Schema`. Whether examples are samples too can
                be seen from samples alone.

        Returns:
            `code`, `severity` (`"error"`, `"warning"` or `"info"`), `place` (a path in the configuration), `message`
                and `remedy`.

        Raises:
            RenderError: As `render`, for samples that are no table.

        >>> import pyarrow as pa
        >>> (note,) = Renderer("Q: {questoin}").notes(pa.schema({"question": pa.string()})).to_pylist()
        >>> note["code"], note["place"], note["remedy"]
        ('unknown_placeholder', 'prompt_template', "did you mean '{question}'?")
        """
        if isinstance(samples_or_schema, pa.Schema):
            return table_of(find_notes(self._engine.configuration, samples_or_schema, None))
        table = as_table(samples_or_schema, self._engine.value_reading)
        return table_of(find_notes(self._engine.configuration, table.schema, table))

    @property
    def required_columns(self) -> list[str]:
        """Names in braces in the templates, which are the columns that a scan has to read for the prompts.

        Under `substitution="harness"` a value can bring in the placeholder of any other column; where data may do that,
        read all columns. A name in braces that no table has is left as it stands, so leave it out of the scan.

        >>> Renderer("Q: {question} A: {answer}", reader={"output_column": "answer"}).required_columns
        ['question']
        """
        return self._engine.required_columns

    def explain(self, samples: TableLike, row: int, label: object = None, turn: int | None = None) -> pa.Table:
        """Say where each byte of one request comes from.

        Args:
            samples: All samples: a retriever may go by position.
            row: The sample's row, from 0.
            label: The label (ppl), as `labels` or the label column has it, or a value of the column that labels are
                taken from. None: the label None where there is one, else the first.
            turn: The turn of a conversation or chat, from 0, as the turn column has it. None: the first that is asked
                for.

        Returns:
            Spans without gaps over the UTF-8 bytes of each message's text: `message`, `part`, `start`, `end`, `source`
            (such as `prompt_template`, `ice_template`, `field`, `masked`, `role.begin`, `meta_template.end`;
            `filled_field` and `filled_masked` if the placeholder came from a value), `column`, `example` (its number
            among the prompt's examples) and `role`. What a chat template says itself is `chat_template`; `message` is
            then the number of the conversation's message. A notebook shows the prompt itself, coloured.

        Raises:
            RenderError: If there is no such row, label or turn, or it can't be rendered; for a later turn where the
                model's own replies are part of it.

        >>> import pyarrow as pa
        >>> spans = Renderer("Q: {question}").explain(pa.table({"question": ["1+1=?"]}), 0)
        >>> spans.select(["start", "end", "source", "column"]).to_pylist()[1]
        {'start': 3, 'end': 8, 'source': 'field', 'column': 'question'}
        """
        from promptpress._engine.spans import origin_spans  # noqa: PLC0415 - whoever only renders needn't have it

        table = as_table(samples, self._engine.value_reading)
        row = operator.index(row)
        turn = None if turn is None else operator.index(turn)
        spans = origin_spans(self._engine, table, row, label, turn)
        if "IPython" in sys.modules:
            from promptpress_workbench.prompts.preview import show_spans  # noqa: PLC0415 - seldom needed

            show_spans(spans, self, table, row, label=label, turn=turn)
        return spans

    def preview(
        self,
        samples: TableLike,
        n: int = 5,
        *,
        rows: Sequence[int] | None = None,
        label: object = None,
        turn: int | None = None,
        tokenizer: object = None,
        mask: Mask | None = None,
    ) -> Preview:
        """Show some prompts: coloured by where each piece comes from in a notebook, as text elsewhere.

        Args:
            samples: As in `render`. Only the rows that are shown are rendered.
            n: How many samples, from the first on.
            rows: Which samples, in the place of the first ones.
            label: Only the prompts of this label (ppl), as in `explain`; None: those of all.
            turn: Only the prompts of this turn; None: those of all.
            tokenizer: As in `tokenize`: each token is shown as a cell.
            mask: As in `tokenize`: trained tokens are filled, and stand in brackets in a text.

        Returns:
            What a notebook shows by itself, and `print` as text.

        Raises:
            RenderError: As `explain`.

        >>> import pyarrow as pa
        >>> samples = pa.table({"question": ["1+1=?", "2+2=?"], "answer": ["2", "4"]})
        >>> print(Renderer("Q: {question}").preview(samples, rows=[1]))
        ── row 1 · 8 bytes · 8 characters
        Q: 2+2=?
        """
        from promptpress_workbench.prompts.preview import preview_of  # noqa: PLC0415 - most programs only render

        return preview_of(self, samples, n, rows=rows, label=label, turn=turn, tokenizer=tokenizer, mask=mask)

    def divergence(self, samples: TableLike) -> pa.Table:
        """Find the rows whose values make `substitution="harness"` and `"single_pass"` give different prompts.

        Args:
            samples: As in `render`.

        Returns:
            `row` (int64) and `columns` (list of str): the columns whose values hold, or complete, a placeholder.

        Raises:
            RenderError: As `render`.

        >>> import pyarrow as pa
        >>> samples = pa.table({"q": ["fine", "see {a}"], "a": ["x", "gold"]})
        >>> Renderer("{q} {a}").divergence(samples).to_pylist()
        [{'row': 1, 'columns': ['q']}]
        """
        return self._engine.divergence(as_table(samples, self._engine.value_reading))

    def audit(
        self,
        samples: TableLike | StreamLike,
        *,
        tokenizer: object = None,
        mask: Mask | None = None,
        limits: Mapping[str, int] | None = None,
        allow: Sequence[str] = (),
        only: Sequence[str] | None = None,
    ) -> pa.Table:
        """Go over all samples and their prompts, and find what is wrong or odd: no model is needed.

        `docs/audit.md` lists every finding. Samples are rendered batch by batch and dropped; what grows with their
        number are at most 80 bytes a sample, by which equal prompts and own examples are found.

        Args:
            samples: As in `render` or `stream`.
            tokenizer: The model's tokenizer, as in `stats`: its special tokens are looked for in the data, and tokens
                that hold text of the template and of data in the prompts; tokens can be counted. Needs the extra
                `promptpress[tokenizer]`. None: that of `Renderer(tokenizer=)`, if there is one.
            mask: What is trained, as in `tokenize`: prompts that train nothing, and turns whose end isn't trained.
            limits: How long a prompt may be: `{"bytes": 32000, "tokens": 8192}`, both or one.
            allow: Codes of findings that are known, and left out.
            only: Codes of the findings to look for; None for all. Checks that find none of them don't run, and nothing
                is rendered unless a check reads the prompts. Codes that `allow` has too are left out.

        A row that can't be rendered is in the finding `unrenderable_row`, and in no other.

        Returns:
            A row a finding, the most serious first: `code`, `severity` (`"error"`, `"warning"` or `"info"`), `rows`
            (how many samples; null where the finding is about the configuration), `first_rows` (the first ten),
            `column` (of the samples), `start` and `end` (bytes, in the first row's value of that column, or in its
            prompt where there is no column; null where no place is known), `message` and `remedy`.

        Raises:
            TemplateError: For conversations whose requests depend on the model's replies, and for a mask if nobody
                has a role.
            RenderError: If something is wrong with the whole table, as in `render`.
            ValueError: For a code, a limit or a mask that there isn't.

        >>> import pyarrow as pa
        >>> samples = pa.table({"question": ["1+1=?", "Is it {answer}?"], "answer": ["2", "yes"]})
        >>> (found,) = Renderer("Q: {question}", substitution="harness").audit(samples).to_pylist()
        >>> found["code"], found["first_rows"], found["column"], found["start"], found["end"]
        ('placeholder_filled', [1], 'question', 6, 14)
        >>> len(Renderer("Q: {question}", substitution="harness").audit(samples, only=["empty_prompt"]))
        0
        """
        from promptpress_workbench.audit.collect import audit  # noqa: PLC0415 - whoever only renders needn't have it

        return audit(self, samples, tokenizer, limits, allow, only=only, mask=mask)

    def findings(self, samples: TableLike) -> pa.Table:
        """Find what a harness renders without a word, and a user would want to know.

        `media_tag`: a media tag stands within a tagged stretch; data bring in a part, or a payload lacks its end tag.
        `untagged_text`: text outside every tag of a tagged text, which vanishes. Both are of `MMPromptTemplate`; for
        other templates nothing is looked for. ``refuse=["media_tag"]`` makes a finding an error.

        Args:
            samples: As in `render`.

        Returns:
            `row` (int64), `column`, `finding` and `excerpt` (str), by row.

        Raises:
            RenderError: As `render`.

        >>> import pyarrow as pa
        >>> template = {"round": [{"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{question}"}}}]}
        >>> renderer = Renderer({"type": "MMPromptTemplate", "template": template}, dialect="aisbench")
        >>> samples = pa.table({"content": ["<AIS_TEXT_START>Look: <AIS_IMAGE_START>x.png<AIS_CONTENT_TAG>"]})
        >>> renderer.findings(samples).to_pylist()
        [{'row': 0, 'column': 'content', 'finding': 'media_tag', 'excerpt': "'<AIS_IMAGE_START>x.png'"}]
        """
        return self._engine.findings(as_table(samples, self._engine.value_reading))

    @property
    def last_run(self) -> LastRun | None:
        """The numbers of rows in the last run whose values were filled in, and of those that couldn't be rendered.

        They are known when a table, a stream or a batch is rendered to its end. None before. Only the rules of
        harnesses fill in values (`substitution="harness"`), and a warning says so when the run ends; `rows` counts the
        rows that `divergence` finds. Under `errors="column"` and `"skip"`, `errors.rows` counts the samples that
        couldn't be rendered, and `errors.first` has the first three with their messages.

        >>> import pyarrow as pa
        >>> renderer = Renderer("Q: {question}")
        >>> renderer.render(pa.table({"question": ["Is it {answer}?"], "answer": ["42"]}))["prompt"].to_pylist()
        ['Q: Is it {answer}?']
        >>> renderer.last_run.rows
        0
        >>> renderer = Renderer("Q: {question}", limits={"prompt_bytes": 10})
        >>> renderer.render([{"question": "1+1=?"}, {"question": "How many?"}], errors="skip")["prompt"].to_pylist()
        ['Q: 1+1=?']
        >>> renderer.last_run.errors.rows, renderer.last_run.errors.first[0].row
        (1, 1)
        """
        return self._engine.last_run

    def retrieve(self, num_samples: int) -> pa.Array:
        """Return the retriever's choice for the first `num_samples` samples, to use as an IndexColumn.

        Args:
            num_samples: How many samples there are.

        Returns:
            list<int64>: row numbers of the examples, one list a sample; negative ones count from the end.

        Raises:
            TemplateError: If the samples' own column says it, or there are too few examples.
            RenderError: If there can't be so many samples.

        >>> import pyarrow as pa
        >>> retriever = {"type": "FixKRetriever", "fix_id_list": [1, 0]}
        >>> examples = pa.table({"q": ["1", "2"], "a": ["one", "two"]})
        >>> template = {"template": "</E>{q}", "ice_token": "</E>"}
        >>> renderer = Renderer(template, "{q}: {a}", retriever, examples, reader={"output_column": "a"})
        >>> renderer.retrieve(2).to_pylist()
        [[1, 0], [1, 0]]
        """
        return self._engine.retrieve(num_samples)

    @property
    def labels(self) -> list[Label] | None:
        """The labels of ppl as far as the configuration says them; None for gen and for a column's values.

        >>> Renderer({"A": "{q} yes", "B": "{q} no"}, mode="ppl").labels
        ['A', 'B']
        """
        return self._engine.core.labels

    def fingerprint(self) -> str:
        """Say in one short text what decides the bytes of the prompts, to know a configuration again.

        Renderers with one fingerprint give the same prompts of the same samples, on every machine and Python. It is
        made of the settings that decide bytes, however they were given; of the examples, by their content; of the texts
        of token ids; of a chat template; and of the number of the rules by which this version renders. `strings` and
        `names`, which lay out and name columns, and `refuse` are no part of it.

        Returns:
            64 hexadecimal digits.

        >>> Renderer("Q: {q}").fingerprint() == Renderer({"template": "Q: {q}"}, mode="gen").fingerprint()
        True
        >>> Renderer("Q: {q}").fingerprint() == Renderer("Q: {q} ").fingerprint()
        False
        """
        return self._engine.fingerprint()

    @property
    def eos_token_id(self) -> Any:
        """`eos_token_id` of the meta template, which is no part of a prompt.

        >>> Renderer("{q}", meta_template={"round": [{"role": "HUMAN"}], "eos_token_id": 2}).eos_token_id
        2
        """
        return self._engine.core.eos_token_id


warm_up()
