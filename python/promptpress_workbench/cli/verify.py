"""Runs `promptpress verify`: renders the same rows with a harness and with promptpress, and prints the difference."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import promptpress
import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine import engine_of
from promptpress.engine.configs import dialect_of, last_part, renderer_arguments
from promptpress.engine.errors import FileError, UsageError, counted, of_row

from promptpress_workbench.cli.configurations import Job, jobs
from promptpress_workbench.cli.errors import ExitCode, code_and_text
from promptpress_workbench.cli.lm_eval_tasks import is_lm_eval
from promptpress_workbench.cli.prompt_sources import is_rendered
from promptpress_workbench.cli.settings import ALL, Settings
from promptpress_workbench.cli.verify_harness import HARNESSES, Harness, infer_mode_of, reply, requests_by_turn
from promptpress_workbench.cli.verify_outcomes import Outcome, Refusal, RowRequests, Verdict, judge, plain, worst
from promptpress_workbench.files.read.samples import Samples, example_rows
from promptpress_workbench.files.write.output_file import standard_output
from promptpress_workbench.prompts.escapes import encodable, printable

# Inferencers whose requests depend on the model's replies, or that send many requests for one prompt.
_UNCOVERED_INFERENCERS = (
    *("AgentInferencer", "AttackInferencer", "BFCLV3FunctionCallInferencer"),
    *("ChatMLInferencer", "ParallelChatMLInferencer", "ToTInferencer"),
)

# The harnesses' retrievers that always choose examples. Other retrievers may choose none.
_EXAMPLE_RETRIEVERS = (
    *("BM25Retriever", "DPPRetriever", "MDLRetriever", "RandomRetriever"),
    *("SlidingWindowRetriever", "TopkRetriever", "VotekRetriever"),
)
_BACKEND_WORDS = {ExitCode.OK: "bulk", ExitCode.UNSUPPORTED: "harness"}
"""The words for verdicts with `--backend`."""


def verify(settings: Settings, arguments: Namespace) -> ExitCode:
    """Run the command line, and print the verdicts."""
    if is_lm_eval(settings.config):
        from promptpress_workbench.cli.verify_lm_eval import lm_eval_verdict  # noqa: PLC0415 - for its tasks only

        return _print_verdict(lm_eval_verdict(settings, arguments))
    if is_rendered(settings.config) and not arguments.backend:
        from promptpress_workbench.cli.verify_hash import hash_verdict  # noqa: PLC0415 - for files of prompts only

        return _print_verdict(hash_verdict(settings))
    if settings.shots is not None:
        raise UsageError("--shots is for tasks of lm-evaluation-harness; this configuration isn't one")
    if settings.examples and not settings.data:
        raise UsageError("--examples needs --data: without it the dataset that the configuration names is loaded")
    if arguments.backend:
        settings = replace(settings, dataset=settings.dataset or ALL, model_abbr=settings.model_abbr or ALL)
    our_jobs = jobs(settings, backend=arguments.backend)
    verifier = _Verifier(settings, arguments, len(our_jobs))
    if not settings.takes_all and not arguments.backend:
        (job,) = our_jobs
        return _print_verdict(verifier.verdict(0, job))
    verdicts = []
    counts: Counter[str] = Counter()
    width = max(len(job.label) for job in our_jobs)
    for number, job in enumerate(our_jobs):
        try:
            verdict = verifier.verdict(number, job)
        except FileError as error:
            verdict = Verdict(*code_and_text(error))
        verdicts.append(verdict)
        word = _BACKEND_WORDS.get(verdict.code, verdict.word) if arguments.backend else verdict.word
        counts[word] += 1
        _print_line(f"{word:13}  {job.label:{width}}  {verdict.message}")
    summary = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    _print_line(f"{counted(len(verdicts), 'configuration')}: {summary}")
    return worst(verdicts)


def _print_verdict(verdict: Verdict) -> ExitCode:
    first = f"{verdict.word}{' ' if verdict.code == ExitCode.DIFFERENT else ': '}{verdict.message}"
    for line in (first, *verdict.details):
        _print_line(line)
    return verdict.code


def _print_line(line: str) -> None:
    # A text quoted by an exception may contain characters that control a terminal.
    with standard_output() as stream:
        print(encodable(printable(line), stream.encoding), file=stream)


class _Verifier:
    """Gives the verdicts on jobs, and reads each file that several jobs share only once."""

    def __init__(self, settings: Settings, arguments: Namespace, count: int) -> None:
        self._settings = settings
        self._is_for_backend, self._max_rows = arguments.backend, settings.limit
        self._count = count
        self._their_jobs: dict[str, tuple[str, list[Job]]] = {}
        self._tables: tuple[pa.Table, pa.Table | None] | None = None

    def verdict(self, number: int, job: Job) -> Verdict:
        """Compare both sides' requests, or run the backend; `number` is the index of the job among all jobs."""
        our_config = self._dataset_config(job)
        unsupported = None if self._is_for_backend else _unsupported_inferencer(our_config)
        if unsupported is not None:
            return Verdict(ExitCode.UNSUPPORTED, unsupported)
        dialect = self._settings.dialect or dialect_of(our_config, job.model)
        harness = HARNESSES[dialect]
        name, their_jobs = self._read_by_harness(harness)
        config, model = self._dataset_config(their_jobs[number]), their_jobs[number].model
        dataset, samples, examples = self._rows(harness, config)
        settings = _settings(config, model, dialect)
        if self._is_for_backend:
            from promptpress_workbench.cli.verify_harness import dry_run  # noqa: PLC0415 - for --backend only

            return dry_run(harness, config, model, dataset, settings)
        theirs = harness.run(config, dataset, settings)
        mode = infer_mode_of(our_config["infer_cfg"].get("inferencer"))
        build = partial(_renderer, our_config, job.model, examples=examples, dialect=dialect)
        ours = render_rows(build, samples) if mode is None else render_conversations(build, samples, mode)
        return judge(theirs, ours, name, samples.num_rows)

    def _dataset_config(self, job: Job) -> Mapping[str, Any]:
        if job.dataset.dataset is None:
            raise ConfigError(
                f"{self._settings.config_name}: verify needs a harness's dataset configuration (reader_cfg, infer_cfg)"
            )
        return job.dataset.dataset

    def _read_by_harness(self, harness: Harness) -> tuple[str, list[Job]]:
        """Return a harness's name and version, and the jobs as the harness reads them."""
        if harness.dialect not in self._their_jobs:
            name = harness.load()
            their_jobs = jobs(self._settings, harness.read_config, backend=self._is_for_backend)
            if len(their_jobs) != self._count:
                raise ConfigError(
                    f"{self._settings.config_name}: {harness.name} reads {counted(len(their_jobs), 'configuration')}"
                    f" where promptpress reads {self._count:,}"
                )
            self._their_jobs[harness.dialect] = name, their_jobs
        return self._their_jobs[harness.dialect]

    def _rows(self, harness: Harness, config: Mapping[str, Any]) -> tuple[Any, pa.Table, pa.Table | None]:
        """Return the harness's dataset, and its rows as tables of samples and examples."""
        settings = self._settings
        if settings.data:
            if not settings.examples and _needs_examples(config):
                raise UsageError("--examples: the retriever takes in-context examples, and with --data none are given")
            if self._tables is None:
                samples = Samples(settings.data, settings.format, limit=self._max_rows, harness_types="json")
                examples = example_rows(settings.examples or (), settings.format, harness_types="json")
                self._tables = samples.table(), examples
            return harness.dataset_of(config, *self._tables), *self._tables
        dataset = harness.dataset(config)
        if self._max_rows is not None:
            dataset.test = dataset.test.select(range(min(self._max_rows, len(dataset.test))))
        return dataset, dataset.test.with_format("arrow")[:], dataset.train.with_format("arrow")[:]


def _part(dataset: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a dataset's `infer_cfg`; an empty dict if it isn't a dict."""
    infer = dataset.get("infer_cfg")
    part = infer.get(name) if isinstance(infer, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def _needs_examples(dataset: Mapping[str, Any]) -> bool:
    retriever = _part(dataset, "retriever")
    name = last_part(retriever.get("type"))
    return bool(retriever.get("fix_id_list")) if name == "FixKRetriever" else name in _EXAMPLE_RETRIEVERS


def _unsupported_inferencer(dataset: Mapping[str, Any]) -> str | None:
    """Return the reason why a dataset's requests can't be compared, or None."""
    inferencer = _part(dataset, "inferencer")
    name = last_part(inferencer.get("type"))
    if name in _UNCOVERED_INFERENCERS:
        return f"verify doesn't go through the conversations of {name}"
    if inferencer.get("multiround"):
        return f"verify doesn't go through the rounds of {name} with multiround"
    return None


def _renderer(*arguments: Any, **overrides: Any) -> promptpress.Renderer:
    """Make a renderer that says nothing of its runs, because what the harness gives is the measure."""
    renderer = promptpress.Renderer.from_config(*arguments, **overrides)
    engine_of(renderer).reports_runs = False
    return renderer


def _settings(dataset: Mapping[str, Any], model: Mapping[str, Any] | None, dialect: str) -> dict[str, Any]:
    """Return the model's meta template, and the output form of its parser."""
    try:
        # The renderer gives the warnings.
        arguments = renderer_arguments(dataset, model, dialect=dialect, warn=lambda _: None)
    except promptpress.TemplateError:  # the harness may accept what promptpress refuses
        arguments = {"meta_template": (model or {}).get("meta_template")}
    output, meta_template = arguments.get("output"), arguments.get("meta_template")
    if output is None:
        template = arguments.get("prompt_template") or arguments.get("ice_template")
        is_raw = isinstance(template, Mapping) and last_part(template.get("type")) == "RawPromptTemplate"
        if isinstance(meta_template, Mapping):
            roles = [*(meta_template.get("round") or ()), *(meta_template.get("reserved_roles") or ())]
            is_for_api = any(isinstance(role, Mapping) and "api_role" in role for role in roles)
        else:
            is_for_api = isinstance(meta_template, (list, tuple))
        output = "messages" if is_raw or is_for_api else "text"
    return {"output": output, "meta_template": meta_template}


def render_rows(build: Callable[..., promptpress.Renderer], samples: pa.Table) -> Outcome:
    """Render rows with promptpress up to the first refused one; `build` makes the renderer, and takes options."""
    options: dict[str, str] = {}
    rows = samples.num_rows
    refusal: Refusal | None = None
    while True:
        try:
            table = build(**options).render(samples.slice(0, rows))
        except (promptpress.TemplateError, promptpress.RenderError) as error:
            if not options and error.code == "no_arrow_type":
                options["output"] = "messages_json"  # because no Arrow type can hold the request
            elif error.row is None or error.row >= rows:
                return Outcome([], Refusal(None, error))
            else:
                rows, refusal = error.row, Refusal(error.row, error)
        else:
            return Outcome(_requests_by_row(table, rows, is_json=bool(options)), refusal)


def render_conversations(build: Callable[[], promptpress.Renderer], samples: pa.Table, mode: str) -> Outcome:
    """Render conversations with promptpress up to the first refused one, each alone because their lengths differ."""
    outcome = Outcome()
    row: int | None = None
    try:
        renderer = build()
        for row in range(samples.num_rows):
            outcome.rows.append(requests_by_turn(_turns(renderer, samples.slice(row, 1), mode), mode))
    except promptpress.TemplateError as error:
        outcome.refusal = Refusal(row, error)
    except promptpress.RenderError as error:
        # The error names row 0, because each row is rendered alone.
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


def _requests_by_row(table: pa.Table, rows: int, *, is_json: bool) -> list[RowRequests]:
    prompts: list[Any] = promptpress.to_pylist(table["prompt"])
    requests = [plain(json.loads(prompt)) if is_json else _with_parts(prompt) for prompt in prompts]
    if "label" not in table.column_names:
        return [{None: request} for request in requests]
    labels = [str(label) for label in table["label"].to_pylist()]
    count = max(1, len(requests) // max(1, rows))  # requests of each row
    starts = range(0, len(requests), count)
    return [dict(zip(labels[i : i + count], requests[i : i + count], strict=True)) for i in starts]


def _with_parts(request: Any) -> Any:
    """Move the parts of messages to the key that the harness uses; Arrow needs a separate field for them."""
    if not isinstance(request, list):
        return request
    return [
        {**{key: value for key, value in message.items() if key != "parts"}, "prompt": message["parts"]}
        if isinstance(message, Mapping) and "parts" in message and "prompt" not in message
        else message
        for message in request
    ]
