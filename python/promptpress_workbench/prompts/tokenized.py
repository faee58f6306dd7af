"""Prompts with their tokens: what a tokenizer makes of them, and what a mask trains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa
from promptpress import to_pylist
from promptpress.engine import Part, PromptColumn, RenderOptions, TableEngine, engine_of, sample_numbers
from promptpress.engine.errors import template_error
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tokens import Encoder, LoadedTokenizer, TokenEngine, TokenSettings

from promptpress_workbench.prompts.file_rows import ChosenSource
from promptpress_workbench.prompts.prepared_source import IDS, LABELS, PreparedSource, prompt_of_tokens, token_column
from promptpress_workbench.prompts.prompt import Prompt
from promptpress_workbench.prompts.prompt_source import RequestBatch, RequestId
from promptpress_workbench.prompts.rendered_source import RenderedSource
from promptpress_workbench.prompts.renderer_source import RendererSource, TemplateSource
from promptpress_workbench.prompts.token_cells import TokenCell, TokenTexts, cells_of_text

EncodableSource: TypeAlias = RendererSource | TemplateSource | RenderedSource | ChosenSource
ShownSource: TypeAlias = EncodableSource | PreparedSource
"""The sources of prompts that people look at."""


class TokenView:
    """Gives prompts their tokens: those of one tokenizer, and of a mask if the settings have one."""

    def __init__(self, tokenizer: LoadedTokenizer, settings: TokenSettings | None = None) -> None:
        self.settings = replace(settings or TokenSettings(), offsets=True)
        self.loaded = tokenizer
        self.encoder = Encoder.of(tokenizer)
        self.texts = TokenTexts(self.encoder.tokenizer)

    def ids_of(self, token: str) -> list[int]:
        """Return the ids that a text means: the number itself, a token of the vocabulary, or one that decodes to it."""
        tokenizer = self.encoder.tokenizer
        if token.isascii() and token.isdigit():
            return [int(token)]
        encoded = tokenizer.encode(token, add_special_tokens=False).ids
        named = tokenizer.token_to_id(token)
        return [*(encoded if len(encoded) == 1 else ()), *(() if named is None else [named])]

    @property
    def _needs_engine(self) -> bool:
        """True if tokens depend on more than a prompt's text."""
        return self.settings.mask is not None or self.settings.control_tokens == "text"

    def with_cells(self, source: ShownSource, prompts: Sequence[Prompt]) -> list[Prompt]:
        """Return prompts of one sample with their tokens; one whose mask isn't known has an error in the place."""
        rendered = [prompt for prompt in prompts if prompt.request is not None]
        if not rendered or isinstance(source, PreparedSource):
            return list(prompts)
        of_row = source.row_engine(rendered[0].sample)
        if not self._needs_engine:
            special = self.settings.add_special_tokens
            if of_row is not None and of_row.engine.writes_chats and special is None:
                special = False
            return [self._encoded(prompt, special) for prompt in prompts]
        if of_row is None:
            message = "later turns wait for the model's replies, so it isn't known what is trained"
            raise template_error("unsupported_mode", "mask", message)
        tokens: dict[tuple[str, int | None], Any] = {}
        for batch in self._batches(of_row.engine, iter(of_row.table.to_batches()), of_row.labels, of_row.first):
            errors = [None] * len(batch) if batch.errors is None else batch.errors.to_pylist()
            for request, row, error in zip(batch.ids(), to_pylist(batch.prompts), errors, strict=True):
                tokens[str(request.label), request.turn] = row if error is None else {"error": error}
        return [self._masked(prompt, tokens[str(prompt.label), prompt.turn]) for prompt in prompts]

    def _masked(self, prompt: Prompt, tokens: dict[str, Any]) -> Prompt:
        if prompt.request is None:
            return prompt
        if "error" in tokens:
            return Prompt(prompt.sample, None, label=prompt.label, turn=prompt.turn, error=tokens["error"])
        offsets = [(offset["start"], offset["end"]) for offset in tokens["offsets"]]
        text = prompt.text.encode()
        cells = cells_of_text(self.texts, text, tokens["input_ids"], offsets, tokens["trained"])
        return replace(prompt, cells=(tuple(cells),))

    def _encoded(self, prompt: Prompt, special: bool | None) -> Prompt:
        if prompt.request is None:
            return prompt
        texts = pa.array([text.text for text in prompt.texts()], pa.string())
        encoded = self.encoder.encode(texts, special if prompt.messages is None else False, offsets=True)
        columns = encoded.rows.columns(None, False, None, "refuse", sorted(encoded.errors))
        cells: list[tuple[TokenCell, ...]] = []
        of_tokens: Any = columns.offsets
        for text, ids, offsets in zip(texts, columns.input_ids.to_pylist(), of_tokens.to_pylist(), strict=True):
            spans = [(offset["start"], offset["end"]) for offset in offsets or ()]
            cells.append(tuple(cells_of_text(self.texts, text.as_py().encode(), ids or (), spans)))
        return replace(prompt, cells=tuple(cells))

    def requests(self, source: EncodableSource) -> Iterator[RequestBatch]:
        """Yield all requests of a source as `token_column` has them; those that can't be encoded have an error."""
        inner = source.source if isinstance(source, ChosenSource) else source
        engine: TableEngine
        engine = engine_of(PromptColumn(inner.prompt_column)) if isinstance(inner, RenderedSource) else inner.engine
        for batch in self._batches(engine, inner.rows.batches(), inner.labels):
            samples = source.chosen.numbers(batch.samples) if isinstance(source, ChosenSource) else batch.samples
            yield replace(batch, samples=samples)

    def _batches(
        self, engine: TableEngine, batches: Iterator[pa.RecordBatch], labels: Any, first: int = 0
    ) -> Iterator[RequestBatch]:
        tokens, run = None, None
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if tokens is None:
                tokens = TokenEngine(engine, self.encoder, self.settings)
                tokens.request_fields(table.schema)  # raises if requests are no texts
                run = tokens.begin(RenderOptions(errors="column"), labels, first)
            assert run is not None
            for part in run.parts(table, first):
                assert isinstance(part, Part)  # as of a run of tokens
                columns = dict(zip(self.settings.columns, part.more, strict=False))
                tokens_of = token_column(columns["input_ids"], columns.get("assistant_masks"), columns["offsets"])
                samples = sample_numbers(part, run.times).cast(pa.int64())
                yield RequestBatch(samples, tokens_of, part.labels, part.turns, "own", part.errors)
            first += batch.num_rows


class TokenSource:
    """The tokens of a source's requests without padding, by which it is compared with another."""

    has_origins = False

    def __init__(self, source: ShownSource, view: TokenView) -> None:
        self._source = source
        self._view = view
        self.has_mask = source.has_mask if isinstance(source, PreparedSource) else view.settings.mask is not None
        """True if it is known what is trained; what isn't known on one side isn't compared."""

    @property
    def labels(self) -> list[Any] | None:
        return self._source.labels

    @property
    def num_samples(self) -> int:
        return self._source.num_samples

    def prompts(self, row: int, label: Any = None, turn: int | None = None) -> list[Prompt]:
        prompts = self._view.with_cells(self._source, self._source.prompts(row, label, turn))
        kept = [tuple(tuple(cell for cell in of if not cell.is_padding) for of in prompt.cells) for prompt in prompts]
        return [replace(prompt, cells=cells) for prompt, cells in zip(prompts, kept, strict=True)]

    def requests(self) -> Iterator[RequestBatch]:
        source = self._source
        batches = source.token_requests() if isinstance(source, PreparedSource) else self._view.requests(source)
        for batch in batches:
            ids, trained, *labels = (
                pc.struct_field(batch.prompts, name)
                for name in (IDS, "trained", LABELS)
                if batch.prompts.type.get_field_index(name) >= 0
            )
            masks = (
                {"trained": trained, "labels": labels[0] if labels else None} if self.has_mask else {"trained": None}
            )
            yield replace(batch, prompts=token_column(ids, **masks))

    def request(self, value: Any, sample: int, label: Any = None, turn: int | None = None) -> Prompt:
        if value is None:
            return Prompt(sample, None, label=label, turn=turn)
        return prompt_of_tokens(self._view.texts, value, RequestId(sample, label, turn))
