"""`promptpress verify`: a harness's prompts and promptpress's, for the same rows of the same configuration."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import promptpress
from promptpress._cli.errors import ExitCode, exit_code_of
from promptpress._errors import of_row
from promptpress._file_errors import ConfigError, FileError, UsageError
from promptpress._from_config import dialect_of, renderer_arguments
from promptpress._inputs.samples import Samples, example_rows
from promptpress._model_classes import last_part
from promptpress._outputs.output_file import standard_output
from promptpress._view.visible import encodable, printable

from .harness_chats import by_turn, infer_mode_of, reply
from .harness_pipeline import HARNESSES, Harness
from .jobs import ALL, Job, jobs, takes_all
from .lm_eval_files import is_lm_eval
from .outcome import Outcome, Refusal, plain
from .verdict import Verdict, counted, judged, worst

# Their requests depend on the model's replies, or are many for one prompt, and nothing here goes their way.
_UNCOVERED_INFERENCERS = frozenset(
    {
        "AgentInferencer",
        "AttackInferencer",
        "BFCLV3FunctionCallInferencer",
        "ChatMLInferencer",
        "ParallelChatMLInferencer",
        "ToTInferencer",
    }
)

# The harnesses' retrievers that always choose examples. What others do isn't known.
_EXAMPLE_RETRIEVERS = frozenset(
    {
        *("BM25Retriever", "DPPRetriever", "MDLRetriever", "RandomRetriever"),
        *("SlidingWindowRetriever", "TopkRetriever", "VotekRetriever"),
    }
)
_BACKEND_WORDS = {ExitCode.OK: "bulk", ExitCode.UNSUPPORTED: "harness"}
"""What outcomes are called where the question is which way prompts go."""


def verify(arguments: Namespace) -> ExitCode:
    """Do what the command line says, and print what was found.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Returns:
        Whether both sides agree on every row; of several datasets or models what is worst.

    Raises:
        FileError: when something is wrong, by kind; with several, only what is wrong with all of them.

    """
    if is_lm_eval(arguments.config):
        from .verify_lm_eval import lm_eval_verdict  # noqa: PLC0415 - for its tasks only

        return _told(lm_eval_verdict(arguments))
    if arguments.num_fewshot is not None:
        raise UsageError("--num-fewshot is for tasks of lm-evaluation-harness; this configuration isn't one")
    if arguments.examples and not arguments.data:
        raise UsageError("--examples needs --data: without it the dataset that the configuration names is loaded")
    if arguments.backend:
        arguments.dataset, arguments.model_abbr = arguments.dataset or ALL, arguments.model_abbr or ALL
    found = jobs(arguments)
    sides = _Sides(arguments, len(found))
    if not takes_all(arguments) and not arguments.backend:
        (only,) = found
        return _told(sides.compared(0, only))
    verdicts = []
    names = _BACKEND_WORDS if arguments.backend else {}
    width = max(len(one.label) for one in found)
    for number, one in enumerate(found):
        try:
            verdict = sides.dry_run(number, one) if arguments.backend else sides.compared(number, one)
        except FileError as error:
            verdict = Verdict(exit_code_of(error), error.of_command())
        verdicts.append(verdict)
        _print_line(f"{names.get(verdict.code, verdict.word):13}  {one.label:{width}}  {verdict.found}")
    counts = Counter(names.get(verdict.code, verdict.word) for verdict in verdicts)
    _print_line(
        f"{counted(len(verdicts), 'configuration')}: " + ", ".join(f"{n:,} {word}" for word, n in counts.items())
    )
    return worst(verdicts)


def _told(verdict: Verdict) -> ExitCode:
    """Print what was found of the only one there is."""
    _print_line(f"{verdict.word}{' ' if verdict.code == ExitCode.DIFFERENT else ': '}{verdict.found}")
    for line in verdict.details:
        _print_line(line)
    return verdict.code


class _Sides:
    """Both sides of some jobs: what is read once for all of them."""

    def __init__(self, arguments: Namespace, count: int) -> None:
        self._arguments = arguments
        self._count = count
        self._theirs: dict[str, tuple[str, list[Job]]] = {}
        self._given: tuple[pa.Table, pa.Table | None] | None = None

    def compared(self, number: int, job: Job) -> Verdict:
        """Compare one; `number` is its place among all."""
        path = self._arguments.config
        dataset = _harness_s(job.dataset.dataset, path)
        why = _uncovered(dataset)
        if why is not None:
            return Verdict(ExitCode.UNSUPPORTED, why)
        dialect = self._arguments.dialect or dialect_of(dataset, job.model)
        harness = HARNESSES[dialect]
        name, theirs = self._of_harness(dialect, harness)
        their_dataset, their_model = _harness_s(theirs[number].dataset.dataset, path), theirs[number].model
        loaded, samples, examples = self._rows(harness, their_dataset)
        one = harness.run(their_dataset, loaded, _settings(their_dataset, their_model, dialect))
        mode = infer_mode_of(dataset["infer_cfg"].get("inferencer"))
        if mode is None:
            other = rendered(dataset, job.model, dialect, samples, examples)
        else:
            other = conversed(dataset, job.model, dialect, samples, examples, mode)
        return judged(one, other, name, samples.num_rows)

    def dry_run(self, number: int, job: Job) -> Verdict:
        """Say which way the prompts of one go with the bulk backend on; `number` is its place among all."""
        from .backend_dry_run import dry_run  # noqa: PLC0415 - for --backend only

        dataset = _harness_s(job.dataset.dataset, self._arguments.config)
        dialect = self._arguments.dialect or dialect_of(dataset, job.model)
        harness = HARNESSES[dialect]
        _, theirs = self._of_harness(dialect, harness)
        config, model = _harness_s(theirs[number].dataset.dataset, self._arguments.config), theirs[number].model
        loaded, _, _ = self._rows(harness, config)
        return dry_run(harness, config, model, loaded, _settings(config, model, dialect))

    def _of_harness(self, dialect: str, harness: Harness) -> tuple[str, list[Job]]:
        """Give a harness's name, and the jobs as it reads them."""
        if dialect not in self._theirs:
            name = harness.load()
            theirs = jobs(self._arguments, harness.read_config)
            if len(theirs) != self._count:
                raise ConfigError(
                    f"{self._arguments.config}: {harness.name} reads {counted(len(theirs), 'configuration')} where"
                    f" promptpress reads {self._count:,}"
                )
            self._theirs[dialect] = name, theirs
        return self._theirs[dialect]

    def _rows(self, harness: Harness, config: Mapping[str, Any]) -> tuple[Any, pa.Table, pa.Table | None]:
        """Give the harness's dataset, and the same rows as tables."""
        given = self._arguments
        if given.data:
            if not given.examples and _takes_examples(config):
                raise UsageError(
                    "--examples: the retriever takes in-context examples, and beside --data none are given"
                )
            if self._given is None:
                samples = Samples(given.data, given.data_format, limit=given.rows).table()
                examples = example_rows(given.examples, given.data_format)
                self._given = samples, examples
            samples, examples = self._given
            return harness.dataset_of(config, samples, examples), samples, examples
        dataset = harness.dataset(config)
        if given.rows is not None:
            dataset.test = dataset.test.select(range(min(given.rows, len(dataset.test))))
        return dataset, dataset.test.with_format("arrow")[:], dataset.train.with_format("arrow")[:]


def _harness_s(dataset: Mapping[str, Any] | None, path: str) -> Mapping[str, Any]:
    if dataset is None:
        raise ConfigError(f"{path}: verify needs a harness's dataset configuration (reader_cfg, infer_cfg)")
    return dataset


def _takes_examples(dataset: Mapping[str, Any]) -> bool:
    infer = dataset.get("infer_cfg")
    retriever = infer.get("retriever") if isinstance(infer, Mapping) else None
    if not isinstance(retriever, Mapping):
        return False
    name = last_part(retriever.get("type"))
    return bool(retriever.get("fix_id_list")) if name == "FixKRetriever" else name in _EXAMPLE_RETRIEVERS


def _uncovered(dataset: Mapping[str, Any]) -> str | None:
    """Say why a dataset's requests aren't compared."""
    infer = dataset.get("infer_cfg")
    inferencer = infer.get("inferencer") if isinstance(infer, Mapping) else None
    if not isinstance(inferencer, Mapping):
        return None
    name = last_part(inferencer.get("type"))
    if name in _UNCOVERED_INFERENCERS:
        return f"verify doesn't go through the conversations of {name}"
    if inferencer.get("multiround"):
        return f"verify doesn't go through the rounds of {name} with multiround"
    return None


def _settings(dataset: Mapping[str, Any], model: Mapping[str, Any] | None, dialect: str) -> dict[str, Any]:
    """Give the meta template, and which of the harness's parsers the model has."""
    try:
        found = renderer_arguments(dataset, model, dialect=dialect, warn=_ignore_warning)
    except promptpress.TemplateError:  # what promptpress refuses the harness may still take
        found = {"meta_template": (model or {}).get("meta_template")}
    output, meta_template = found.get("output"), found.get("meta_template")
    if output is None:
        template = found.get("prompt_template") or found.get("ice_template")
        raw = isinstance(template, Mapping) and last_part(template.get("type")) == "RawPromptTemplate"
        output = "messages" if raw or _for_messages(meta_template) else "text"
    return {"output": output, "meta_template": meta_template}


def _for_messages(meta_template: Any) -> bool:
    if not isinstance(meta_template, Mapping):
        return isinstance(meta_template, (list, tuple))
    roles = [*(meta_template.get("round") or ()), *(meta_template.get("reserved_roles") or ())]
    return any(isinstance(role, Mapping) and "api_role" in role for role in roles)


def _ignore_warning(_: str) -> None:
    """The renderer says it itself."""


def rendered(
    dataset: Mapping[str, Any],
    model: Mapping[str, Any] | None,
    dialect: str,
    samples: pa.Table,
    examples: pa.Table | None,
) -> Outcome:
    """Render rows with promptpress.

    Args:
        dataset: the dataset's dict.
        model: the model's dict.
        dialect: the harness.
        samples: the rows.
        examples: the rows that few-shot examples come from.

    Returns:
        The requests, up to the first row that is refused.

    Example:
        >>> dataset = {"infer_cfg": {"prompt_template": {"type": "PromptTemplate", "template": "{q}?"}}}
        >>> rendered(dataset, None, "opencompass", pa.table({"q": ["1+1"]}), None).rows
        [{None: '1+1?'}]

    """
    output: str | None = None
    rows = samples.num_rows
    refusal: Refusal | None = None
    while True:
        options = {} if output is None else {"output": output}
        try:
            renderer = promptpress.Renderer.from_config(dataset, model, examples=examples, dialect=dialect, **options)
            table = renderer.render(samples.slice(0, rows))
        except (promptpress.TemplateError, promptpress.RenderError) as error:
            if output is None and error.code == "no_arrow_type":
                output = "messages_json"  # a request that no one Arrow type holds
                continue
            if error.row is None or error.row >= rows:
                return Outcome([], Refusal(None, error))
            rows, refusal = error.row, Refusal(error.row, error)
            continue
        return Outcome(_by_row(table, rows, as_json=output is not None), refusal)


def conversed(  # noqa: PLR0917 - a configuration and its rows
    dataset: Mapping[str, Any],
    model: Mapping[str, Any] | None,
    dialect: str,
    samples: pa.Table,
    examples: pa.Table | None,
    mode: str,
) -> Outcome:
    """Render rows that are conversations with promptpress, one by one: each has requests of its own number.

    Args:
        dataset: the dataset's dict.
        model: the model's dict.
        dialect: the harness.
        samples: the rows.
        examples: the rows that few-shot examples come from.
        mode: the inferencer's `infer_mode`.

    Returns:
        The requests by turn, up to the first row that is refused.

    Example:
        >>> dataset = {"reader_cfg": {"input_columns": ["q"]}, "infer_cfg": {"inferencer": {"type": "ChatInferencer"}}}
        >>> conversed(dataset, None, "opencompass", pa.table({"q": ["1+1"]}), None, "last").rows
        [{None: '1+1'}]

    """
    outcome = Outcome()
    row: int | None = None
    try:
        renderer = promptpress.Renderer.from_config(dataset, model, examples=examples, dialect=dialect)
        for row in range(samples.num_rows):
            outcome.rows.append(by_turn(_turns(renderer, samples.slice(row, 1), mode), mode))
    except promptpress.TemplateError as error:
        outcome.refusal = Refusal(row, error)
    except promptpress.RenderError as error:
        # Of a row that is rendered by itself it speaks as of the first.
        outcome.refusal = Refusal(row, error if row is None else of_row(error, row))
    return outcome


def _turns(renderer: promptpress.Renderer, sample: pa.Table, mode: str) -> list[Any]:
    if mode != "every":
        return [plain(request) for request in promptpress.to_pylist(renderer.render(sample)["prompt"])]
    requests: list[Any] = []
    conversation = renderer.converse(sample)
    while conversation.requests.num_rows:
        requests += map(plain, promptpress.to_pylist(conversation.requests["prompt"]))
        conversation.reply([reply(len(requests) - 1)])
    return requests


def _by_row(table: pa.Table, rows: int, *, as_json: bool) -> list[dict[str | int | None, Any]]:
    requests: list[Any] = promptpress.to_pylist(table["prompt"])
    requests = [plain(json.loads(one)) for one in requests] if as_json else [_as_passed_on(one) for one in requests]
    if "label" not in table.column_names:
        return [{None: request} for request in requests]
    labels = [str(label) for label in table["label"].to_pylist()]
    each = len(requests) // rows if rows else 0
    starts = range(0, len(requests), each or 1)
    return [dict(zip(labels[at : at + each], requests[at : at + each], strict=True)) for at in starts]


def _as_passed_on(request: Any) -> Any:
    """Put the parts of a message where the harness has them: Arrow gives them a field of their own."""
    if not isinstance(request, list):
        return request
    return [
        {**{key: value for key, value in message.items() if key != "parts"}, "prompt": message["parts"]}
        if isinstance(message, Mapping) and "parts" in message and "prompt" not in message
        else message
        for message in request
    ]


def _print_line(line: str) -> None:
    # What an exception quotes may steer the terminal.
    with standard_output() as stream:
        print(encodable(printable(line), stream.encoding), file=stream)
