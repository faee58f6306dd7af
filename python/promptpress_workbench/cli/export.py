"""`promptpress export`: renders samples into requests, in the format of another program."""

from __future__ import annotations

import json
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import PromptColumn, RenderedLines, RenderOptions, engine_of
from promptpress.engine.core import LineLayout
from promptpress.engine.errors import OutputError, UsageError, counted, did_you_mean, of_row, reason, render_error

from promptpress_workbench.audit.codes import known_codes
from promptpress_workbench.cli.arguments import alternative
from promptpress_workbench.cli.bill import BatchCosts
from promptpress_workbench.cli.cache_marks import CACHED
from promptpress_workbench.cli.configurations import held_warnings, in_options_of_template, report_notes, token_counter
from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.jinja_sources import argument_columns
from promptpress_workbench.cli.lm_eval_tasks import is_task, refuse_lm_eval
from promptpress_workbench.cli.options import first_given, option_name
from promptpress_workbench.cli.output import keep_columns, refuse_clash, refuse_overwriting, write_prompts
from promptpress_workbench.cli.preferences import export_preferences
from promptpress_workbench.cli.prompt_sources import (
    TAKES_MESSAGES,
    holds_messages,
    holds_prompts,
    open_source,
    refuse_messages,
)
from promptpress_workbench.cli.prompt_stream import has_only_prompts, rendered, rendered_as_lines
from promptpress_workbench.cli.run_counts import AnyRenderer, Done, RunCounts, report_no_rows
from promptpress_workbench.cli.settings import Settings, token_settings
from promptpress_workbench.cli.terminal import Progress, say
from promptpress_workbench.export.chat_messages import Form
from promptpress_workbench.export.custom_ids import SAMPLE, columns_of
from promptpress_workbench.export.forms import EXPORTS, TOKEN_OPTIONS
from promptpress_workbench.export.services import SERVICES
from promptpress_workbench.export.streams import RenderedStream, refuse_misspelt_columns
from promptpress_workbench.files.read.samples import AnySamples
from promptpress_workbench.files.write.formats import FileFormat, out_format
from promptpress_workbench.files.write.output_file import STDOUT, is_stream

_OPTIONS = {
    option: tuple(name for name, export in EXPORTS.items() if option in export.options)
    for option in dict.fromkeys(option for export in EXPORTS.values() for option in export.options)
}
"""The options that only some exports have, each with those exports."""

_TRAINED = frozenset({"message_left_out", "tool_call_left_out"})
"""Codes of what assistants say, which no export for trainers leaves out in silence."""

_CHATS = "/v1/chat/completions"  # the URL of chats, which have keys of caches
_WORDS_OF_APIS = {"sglang-tokens": ("stop", "max_new_tokens")}
"""A form's words for stop words and the most tokens of an answer, where they aren't OpenAI's."""

_MAX_STOPS = 4  # OpenAI's limit
_MAX_TOKENS = 256  # what lm_eval's models take if a task doesn't say it

_COLUMN_OPTIONS = ("answer", "input_column", "chosen", "rejected", "chosen_label")
_NAMED_BY_ERRORS = (
    "chosen",
    "rejected",
    "chosen_label",
    "custom_id",
    "params",
    "params_columns",
    "url",
    "keep",
    "roles",
)
"""Options whose arguments errors of export functions name."""


def export(settings: Settings, arguments: Namespace) -> ExitCode:
    """Write the samples' requests, or the token ids of preferences."""
    _check(settings, arguments)
    refuse_overwriting(settings)
    write = export_preferences if EXPORTS[arguments.kind].writes == "preferences" else _rendered_and_written
    return write(settings, arguments)


def _rendered_and_written(settings: Settings, arguments: Namespace) -> ExitCode:
    """Render the samples and write the requests."""
    start = time.perf_counter()
    with held_warnings(settings) as held:
        texts, samples, arguments = _source(settings, arguments)
    if EXPORTS[arguments.kind].writes == "tokens":
        refuse_messages(arguments.kind, texts, samples)
    renderer = _writer_of(arguments, texts)
    kept = keep_columns(settings.keep, samples.schema)
    outputs = renderer.output_schema(samples.schema)
    if arguments.kind in _OPTIONS["custom_id"] and arguments.custom_id is None:
        arguments = _with(arguments, custom_id=default_custom_id(outputs))
    # The rows of a rendered file have labels, and maybe numbers of samples, of their own.
    has_label_rows = arguments.chosen_label is not None and isinstance(renderer, PromptColumn)
    keep = _keep(settings, arguments, kept, samples.schema, outputs, has_label_rows=has_label_rows)
    refuse_clash(renderer, samples.schema, keep, settings)
    form = _form(settings, renderer, samples, _prompt_field(renderer, outputs))
    has_sample = SAMPLE in renderer.output_schema(samples.schema, keep=keep).names
    _refuse_order(settings, has_sample=has_sample, is_unknown=isinstance(renderer, PromptColumn) and form == "text")
    counts_rows = samples.chosen is None and not keep and _has_numbers_as_ids(settings, arguments, outputs)
    # Tokens stay in order: trainers and engines need no number, but Ray may reorder rows.
    has_order = (
        EXPORTS[arguments.kind].writes == "tokens" and arguments.kind != "ray-tokens" and settings.turns != "each"
    )
    index = None if has_sample or has_label_rows or counts_rows or has_order else SAMPLE
    costs = BatchCosts(arguments)
    policy, shared = settings.errors or "raise", costs.has_keys
    options = RenderOptions.of(keep, index, errors=policy, order=settings.order, shared=shared)
    schema = engine_of(renderer).output_schema(samples.schema, options)
    if isinstance(renderer, PromptColumn):
        schema = schema.with_metadata(samples.metadata)
    arguments, schema = costs.applied(arguments, schema)
    _refuse_unknown_columns(arguments, samples.schema.names, schema.names)
    _refuse_misspelt_columns(settings, arguments, schema)
    report_notes(texts, samples.schema, settings, held)
    prompt = _prompt_field(renderer, outputs).name
    tools = _argument_columns(settings, arguments)
    samples = costs.measured(renderer, samples, options, prompt, tools, is_json=form == "messages_json")
    requests_of = _Numbers()
    with Progress(settings, samples.num_rows) as progress:

        def batches(frame: LineLayout | None) -> Iterator[pa.RecordBatch | RenderedLines]:
            if frame is not None and not options.collects_errors and has_only_prompts(renderer, schema):
                return rendered_as_lines(renderer, samples, progress.advance, frame)
            requests = rendered(renderer, samples, progress.advance, options)
            requests = requests_of.kept(requests) if index == SAMPLE else requests
            return costs.added(requests, engine_of(renderer).fingerprint())

        with _errors_of_options(arguments.kind), requests_of.numbered_errors():
            stream = RenderedStream(schema, batches)
            done = _write(
                arguments,
                stream,
                prompt,
                form,
                path=settings.out,
                kept=kept,
                argument_columns=argument_columns(settings),
            )
        faults = _faults(settings, renderer, progress.rows)
    samples.close()
    if not settings.quiet:
        _report(settings, texts, faults)
        say(f"{done} in {time.perf_counter() - start:.3f} s")
        costs.report()
    return faults.exit_code


def _keep(
    settings: Settings,
    arguments: Namespace,
    kept: list[str],
    data: pa.Schema,
    outputs: pa.Schema,
    *,
    has_label_rows: bool,
) -> list[str]:
    """Return the columns of the data that stay with the prompts: those of `--keep`, and those that options name."""
    columns = [*_columns_of_options(arguments), *(("label", SAMPLE) if has_label_rows else ())]
    named = dict.fromkeys([*columns_of(arguments.custom_id or ""), *columns, *_argument_columns(settings, arguments)])
    return [*kept, *(name for name in named if name in {*data.names} - {*outputs.names, *kept})]


class _Numbers:
    """The numbers of the samples that requests are of, for errors that count requests."""

    def __init__(self) -> None:
        self._numbers: list[Any] = []
        self._is_of_sample = False

    def kept(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of requests, whose first column has the numbers of their samples."""
        try:
            for batch in batches:
                self._numbers.append(batch.column(0))
                yield batch
        except promptpress.RenderError:
            self._is_of_sample = True
            raise

    @contextmanager
    def numbered_errors(self) -> Iterator[None]:
        """Give errors of requests the number of the row in the data."""
        try:
            yield
        except promptpress.RenderError as error:
            if error.row is None or self._is_of_sample or not self._numbers:
                raise
            raise of_row(error, pa.chunked_array(self._numbers)[error.row].as_py()) from error.__cause__


@contextmanager
def _errors_of_options(kind: str) -> Iterator[None]:
    """Name the option that an error of an export function is about."""
    try:
        yield
    except promptpress.TemplateError as error:
        of_argument = {EXPORTS[kind].argument(name): name for name in _NAMED_BY_ERRORS}
        if error.path not in of_argument:
            raise
        raise UsageError(f"{option_name(of_argument[error.path])}: {error.message}") from error


def _report(settings: Settings, texts: AnyRenderer, faults: Done) -> None:
    """Report what went which way, and the rows that were left out."""
    RunCounts(texts).report()
    faults.report_faults()
    report_no_rows(settings, faults.samples)


def _writer_of(arguments: Namespace, renderer: AnyRenderer) -> AnyRenderer:
    """Return the renderer of what is exported: of prompts, or of their token ids."""
    if EXPORTS[arguments.kind].writes != "tokens":
        is_used = engine_of(renderer).shot_fields or arguments.prices or arguments.cache_control == "auto"
        if arguments.tokenizer is not None and not is_used:
            raise UsageError("--tokenizer: counts the tokens of a budget, and there is none; --max-seq-len N gives one")
        return renderer
    from promptpress.engine.tokens import TokenRenderer, token_engine  # noqa: PLC0415 - most forms have texts

    trained = {} if arguments.mask is None else {"labels": True, "answer": arguments.answer}
    given = token_settings(arguments, **trained)
    tokens = {"tokenizer": token_counter(arguments.tokenizer), **given}
    options = RenderOptions(turns=arguments.turns or "all")
    writer = TokenRenderer(token_engine(engine_of(renderer), tokens, options))
    if "mask" in EXPORTS[arguments.kind].options:
        try:
            allowed = known_codes(arguments.allow or (), "--allow")
        except ValueError as error:
            raise UsageError(str(error)) from error
        engine_of(writer).refuse_left_out(_TRAINED - allowed)
    return writer


def _refuse_order(settings: Settings, *, has_sample: bool, is_unknown: bool) -> None:
    """Refuse an order of requests whose parts nobody knows, or for whose index there is no name."""
    if settings.order is None:
        return
    if is_unknown:
        raise UsageError("--order: what the texts of a file are made of isn't known; give --order to render instead")
    if has_sample:
        raise UsageError(f"--order: the number of each sample is called {SAMPLE!r}; rename that column of the data")


def _with(arguments: Namespace, **values: Any) -> Namespace:
    return Namespace(**{**vars(arguments), **values})


def _faults(settings: Settings, renderer: AnyRenderer, samples: int) -> Done:
    """Return the counts of the rows that were left out."""
    faults = Done(samples=samples, leaves_out=True, is_strict=settings.strict)
    run = engine_of(renderer).last_run
    if settings.errors == "skip" and run is not None:
        faults.errors, faults.first_errors = run.errors.rows, run.errors.first
    return faults


def _has_numbers_as_ids(settings: Settings, arguments: Namespace, outputs: pa.Schema) -> bool:
    """Return true if a request's id is its number in the output, which is its sample's: each sample has one request."""
    if settings.order is not None or settings.errors == "skip":
        return False
    if arguments.kind not in _OPTIONS["custom_id"] or len(outputs) != 1 or arguments.params_columns:
        return False
    return set(columns_of(arguments.custom_id)) == {SAMPLE}


def _check(settings: Settings, arguments: Namespace) -> None:
    for name, kinds in _OPTIONS.items():
        if name == "answer" and settings.template is not None:
            continue  # it is the template's, too
        if getattr(arguments, name) is not None and arguments.kind not in kinds:
            hint = alternative("export", option_name(name)) if arguments.kind in _OPTIONS["params"] else None
            if name == "model_name" and EXPORTS[arguments.kind].writes == "requests":
                hint = "the model is named when the batch is created"
            hint = hint or f"it is for {', '.join(kinds)}"
            raise UsageError(f"{option_name(name)}: not of {arguments.kind}; {hint}")
    has_name = arguments.model_name is not None or "model" in (arguments.params_columns or {})
    if arguments.kind in _OPTIONS["model_name"] and not has_name:
        raise UsageError("--model-name: each request names the API's model (--model is a model configuration)")
    if arguments.cache_control == "auto":
        if arguments.kind not in CACHED or (arguments.url or _CHATS) != _CHATS:
            text = f"is for {', '.join(CACHED)}, and requests to {_CHATS}; others find equal beginnings by themselves,"
            raise UsageError(f"--cache-control: {text} for which --order prefix is enough")
        if settings.order is None:
            raise UsageError("--cache-control: requests that begin alike have to stand together; add --order prefix")
    if arguments.prices is not None and EXPORTS[arguments.kind].writes != "requests":
        raise UsageError(f"--prices: {arguments.kind} has no requests to a service")
    if EXPORTS[arguments.kind].writes == "tokens":
        _check_tokens(settings, arguments)
    limit = first_given(arguments, ("max_requests", "max_file_size"))
    if settings.out == STDOUT and limit is not None:
        raise UsageError(f"{limit}: standard output can't be cut into files; name one by --out")
    writes = EXPORTS[arguments.kind].writes
    if settings.out == STDOUT and writes in ("folder", "table"):
        what = "folder" if writes == "folder" else "file"
        raise UsageError(f"--out -: {arguments.kind} isn't JSON lines; name a {what}")


def _check_tokens(settings: Settings, arguments: Namespace) -> None:
    """Refuse an export of token ids without what it needs, or with what isn't known of tokens."""
    if arguments.tokenizer is None:
        raise UsageError(f"--tokenizer: {arguments.kind} has token ids; FILE says whose")
    if "mask" in EXPORTS[arguments.kind].options and arguments.mask is None:
        raise UsageError(f"--mask: {arguments.kind} is for training; --mask assistant+end trains what assistants say")
    if settings.order is not None:
        raise UsageError(f"--order: not of {arguments.kind}; render and the forms of requests have it")


def _columns_of_options(arguments: Namespace) -> list[str]:
    """Return the columns that options name, without those of `--keep` and `--custom-id`."""
    export = EXPORTS[arguments.kind]
    # An answer is part of the tokens.
    of_rows = [name for name in _COLUMN_OPTIONS if not (name == "answer" and export.writes == "tokens")]
    named = [getattr(arguments, name) for name in of_rows if name in export.options]
    return [*(arguments.params_columns or {}).values(), *(name for name in named if name is not None)]


def _argument_columns(settings: Settings, arguments: Namespace) -> list[str]:
    """Return the columns of arguments that go into the requests of chats, as far as there are such columns."""
    if EXPORTS[arguments.kind].writes != "requests" or _sends_texts(arguments):
        return []
    columns = argument_columns(settings)
    return ["tools"] if columns is None else list(columns.values())


def _refuse_unknown_columns(arguments: Namespace, data: list[str], table: list[str]) -> None:
    """Refuse columns that neither the data nor the rendered table have; the message lists all columns of the data."""
    columns = list(dict.fromkeys([*data, *table]))
    for name in columns_of(arguments.custom_id or ""):
        if name not in (*columns, SAMPLE):
            remedy = did_you_mean(name, columns) or f"; there are {', '.join(map(repr, columns))}"
            raise UsageError(f"--custom-id: neither the data nor the prompts have a column {name!r}{remedy}")
    for name in _columns_of_options(arguments):
        if name not in columns:
            remedy = did_you_mean(name, columns) or f"; they have {', '.join(map(repr, data))}"
            raise render_error("missing_column", f"the data have no such column{remedy}", column=name)


def _refuse_misspelt_columns(settings: Settings, arguments: Namespace, schema: pa.Schema) -> None:
    try:
        refuse_misspelt_columns(schema, arguments.unknown or "refuse")
    except promptpress.TemplateError as error:
        raise (in_options_of_template(error) if settings.template is not None else None) or error from None


def default_custom_id(schema: pa.Schema) -> str:
    """Return the pattern of ids that are unique in a rendered table, such as `{sample}-{label}`."""
    return "-".join(f"{{{name}}}" for name in (SAMPLE, "label", "turn") if name == SAMPLE or name in schema.names)


def _sends_texts(arguments: Namespace) -> bool:
    url = arguments.url or ""
    return EXPORTS[arguments.kind].writes == "tokens" or (
        url.endswith("/completions") and not url.endswith("/chat/completions")
    )


def _source(settings: Settings, arguments: Namespace) -> tuple[AnyRenderer, AnySamples, Namespace]:
    """Return what gives the prompts, its samples, and the arguments with what these decide."""
    sends_texts = _sends_texts(arguments)
    if not is_task(settings.config):
        refuse_lm_eval(arguments)
    if EXPORTS[arguments.kind].writes == "requests" and not sends_texts:
        settings = replace(settings, argument_column=None)  # they are for the server's chat template
    if settings.chat_template is not None and not sends_texts and not is_task(settings.config):
        raise UsageError(f"--chat-template: {arguments.kind} {TAKES_MESSAGES}")
    if settings.template is None:
        settings = replace(settings, answer=None)  # it is the export's alone
    makes_messages = settings.chat_template is None and not holds_prompts(settings) and settings.jinja is None
    allowed: tuple[str, ...] = ()
    if settings.output is None and makes_messages and not sends_texts and not is_task(settings.config):
        settings, allowed = replace(settings, output="openai"), ("output",)
    try:
        texts, samples = open_source(settings, allowed=allowed, repeated=True)
    except promptpress.TemplateError as error:
        if error.code != "missing_api_role" or settings.output != "openai":
            raise
        raise ConfigError(
            f"{error}; this meta template is for texts: leave the model out, for a chat API has its own template,"
            " or say --output text to send its text as one message"
        ) from error
    if is_task(settings.config):
        arguments = _with_params_of_task(settings, arguments, samples)
    if arguments.kind == "messages-json" and "tools" in {*samples.schema.names} - {
        *keep_columns(settings.keep, samples.schema)
    }:
        text = "the column 'tools' isn't in the lines; --keep tools writes it"
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
    return texts, samples, arguments


def _with_params_of_task(settings: Settings, arguments: Namespace, samples: AnySamples) -> Namespace:
    """Return arguments with the parameters of a task's requests, as lm_eval's models of APIs send them.

    Those of `--params` count more, and null there leaves one out.
    """
    names, kind = samples.schema.names, arguments.kind
    if "continuation" in names:
        raise UsageError(
            f"{settings.config}: its requests score continuations, for which {kind} has no place; render writes them"
        )
    if "generation_kwargs" not in names or "params" not in EXPORTS[kind].options:
        if "generation_kwargs" in names:
            text = f"{settings.config}: what its generation_kwargs say of sampling isn't in the requests"
            warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
        return arguments
    given = arguments.params or {}
    of_task: dict[str, Any] = json.loads(samples.table()["generation_kwargs"][0].as_py())
    tokens = of_task.pop("max_tokens", of_task.pop("max_gen_toks", _MAX_TOKENS))
    stops = of_task.pop("until", None) or []
    stops = [stops] if isinstance(stops, str) else [text for text in stops if text]
    blank = [text for text in stops if not text.strip()] if kind == "anthropic-batch" else []
    if blank:
        text = f"{settings.config}: Anthropic takes no blank stop words; the requests are without {blank!r}"
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
        stops = [text for text in stops if text not in blank]
    stop, max_tokens = _WORDS_OF_APIS.get(kind, ("stop", "max_tokens"))
    if len(stops) > _MAX_STOPS and stop not in given and kind in ("openai-batch", "litellm-batch"):
        text = (
            f"{settings.config}: it has {len(stops)} stop words, and OpenAI takes {_MAX_STOPS}: the first are sent, as "
            f"lm_eval does; --params '{{\"{stop}\": [...]}}' chooses others"
        )
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
        stops = stops[:_MAX_STOPS]
    params = {"temperature": 0, **of_task, stop: stops, max_tokens: tokens}
    absent = {"do_sample", *(["max_tokens"] if "max_completion_tokens" in given else []), *([] if stops else [stop])}
    params = {name: value for name, value in params.items() if name not in absent - {*given}}
    words = SERVICES[kind].words if kind in SERVICES else {}
    lost = [name for name in params if words.get(name, name) is None]
    if lost:
        text = f"{settings.config}: {SERVICES[kind].title} has no {', '.join(lost)}; the requests are without"
        warnings.warn(text, promptpress.PromptWarning, stacklevel=2)
    of_service = {word: value for name, value in params.items() if (word := words.get(name, name)) is not None}
    params = {name: value for name, value in {**of_service, **given}.items() if given.get(name, ...) is not None}
    if not settings.quiet:
        say(f"{settings.config}: each request has {json.dumps(params, ensure_ascii=False)}; --params changes it")
    return _with(arguments, params=params)


def _prompt_field(renderer: AnyRenderer, outputs: pa.Schema) -> pa.Field:
    """Return the field of the prompts, before the columns of a budget."""
    return outputs.field(len(outputs) - 1 - len(engine_of(renderer).shot_fields))


def _form(settings: Settings, renderer: AnyRenderer, samples: AnySamples, prompt: pa.Field) -> Form | None:
    """Return the form of the prompts; None: that of the column's type."""
    if settings.output == "messages_json":
        return "messages_json"
    if pa.types.is_nested(prompt.type):
        return None
    # The first prompts of a file decide; the export refuses another one that isn't JSON.
    is_json = isinstance(renderer, PromptColumn) and (
        renderer.is_json(samples.schema) or holds_messages(prompt.name, samples.reader)
    )
    return "messages_json" if is_json else "text"


def _write(
    arguments: Namespace,
    stream: RenderedStream,
    prompt: str,
    form: Form | None,
    *,
    path: str,
    kept: list[str],
    argument_columns: dict[str, str] | None,
) -> str:
    """Call the function of the export, which writes the rendered batches, and return a summary."""
    export = EXPORTS[arguments.kind]
    options: dict[str, Any] = {} if export.writes == "tokens" else {"prompt": prompt, "form": form}
    encoding = TOKEN_OPTIONS if export.writes == "tokens" else ()
    names = [name for name in (*export.options, "unknown") if name not in encoding]
    options |= {export.argument(name): getattr(arguments, name) for name in names}
    # The function has defaults for all options but the model, which `params_columns` may name instead.
    options = {name: value for name, value in options.items() if value is not None or name == "model"}
    function = export.load()
    if export.writes in ("folder", "table", "tokens"):
        reader = pa.RecordBatchReader.from_batches(stream.schema, stream.batches(None))
        if export.writes == "folder":
            return f"{counted(len(_write_folder(function, reader, path, options)), 'row')} in {path}"
        out = FileFormat("jsonl", None) if path == STDOUT or is_stream(path) else out_format(path, None)
        if export.writes == "table" and out.format not in ("parquet", "arrow"):
            raise UsageError(f"--out {path}: rows for Ray Data are .parquet or .arrow")
        if out.format == "csv":
            raise UsageError(f"--out {path}: token ids are lists, which .parquet, .arrow and .jsonl files hold")
        rows = getattr(function, "batches", function)(reader, **options)
        return f"{counted(write_prompts(path, out, rows.schema, rows, None).rows, 'row')} in {path}"
    if export.writes == "conversations":
        options["keep"] = kept
    if export.writes == "requests" and not _sends_texts(arguments):
        options["argument_columns"] = argument_columns
    done = function(stream, path, **options)
    files = done.paths[0] if len(done.paths) == 1 else f"{len(done.paths)} files, {done.paths[0]} to {done.paths[-1]},"
    size = f"{done.bytes / 1e6:,.1f} MB" if done.bytes >= 1e6 else f"{done.bytes / 1e3:,.1f} kB"
    unit = export.writes.removesuffix("s") if done.requests == 1 else export.writes
    return f"{done.requests:,} {unit}, {size}, in {files}"


def _write_folder(
    function: Callable[..., Any], reader: pa.RecordBatchReader, path: str, options: dict[str, Any]
) -> Any:
    try:
        return function(reader, path, **options)
    except (ImportError, OSError) as error:
        is_complete = isinstance(error, ImportError) or not error.errno  # the message is from promptpress itself
        raise OutputError(str(error) if is_complete else f"{path}: {reason(error)}") from error
