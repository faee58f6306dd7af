"""Tasks of lm-evaluation-harness: their YAML, the samples that a run logs, and `promptpress render TASK.yaml`."""

from __future__ import annotations

import json
import re
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from promptpress import ConfigError
from promptpress.engine.errors import UsageError, reason
from promptpress.engine.tables import PROMPT_COLUMN, take_rows
from promptpress.engine.tables import lazy_compute as pc
from promptpress_harness.bounded_file import read_bytes

from promptpress_workbench.cli.errors import ExitCode
from promptpress_workbench.cli.jinja_sources import chat_template
from promptpress_workbench.cli.options import CONFIGURATION_OPTIONS, LM_EVAL_OPTIONS, first_given, option_name
from promptpress_workbench.cli.output import chosen_out_format, print_first, refuse_overwriting, write_prompts
from promptpress_workbench.cli.settings import Settings
from promptpress_workbench.cli.terminal import say
from promptpress_workbench.files.read.samples import Samples, example_rows
from promptpress_workbench.files.write.output_file import STDOUT

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
_KEYS = re.compile(
    r"""^["']?(doc_to_(text|target|choice)|output_type|formats|process_docs|fewshot_config)["']?\s*:""", re.MULTILINE
)
_INCLUDE = re.compile(r"""^["']?include["']?\s*:""", re.MULTILINE)
_TASK = re.compile(r"""^["']?task["']?\s*:""", re.MULTILINE)
_HEAD_BYTES = 1 << 16
_OF_RENDER = ("keep", "index", "order", "shared", "hashes", "tokenizer")
"""Options that other outputs of a task's prompts may have, and that its requests have no place for."""

_OF_TASKS = ("examples", "system", "shots", "shots_seed", "tokenizer", "strings")
_OTHER_OPTIONS = (
    *("jinja", "column", "add_generation_prompt", "where", "sample", "seed"),
    *(name for name in CONFIGURATION_OPTIONS if name not in _OF_TASKS),
)
_MAX_FILE_BYTES = 1 << 24
_UNSUPPORTED_KEYS = {
    "group": "a group of tasks",
    "task_list": "several tasks",
    "class": "a task with a class of its own",
}
_BATCH_ROWS = 4096
_ARGUMENTS = 1
_KEYS_WITHOUT_EFFECT = ("process_results", "filter_list", "metric_list", "metadata", "doc_to_decontamination_query")
"""Keys of a task that don't affect requests, and may hold functions."""


def is_samples(path: str) -> bool:
    """Return true if a file has the name of a run's samples, such as `samples_arc_easy_2026-01-31T09-00-00.jsonl`."""
    return _NAME.fullmatch(Path(path).name) is not None


def task_and_date(path: str) -> tuple[str, str]:
    """Return the task and the date in the name of a file of samples."""
    match = _NAME.fullmatch(Path(path).name)
    if match is None:
        raise ConfigError(f"{path}: a run's samples are called samples_TASK_DATE.jsonl")
    return match["task"], match["date"]


def is_lm_eval(path: str | None) -> bool:
    """Return true if a configuration is from lm-evaluation-harness: a task's YAML, or a run's samples."""
    if path is None:
        return False
    if is_samples(path):
        return True
    if Path(path).suffix.lower() not in (".yaml", ".yml"):
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    is_task = _KEYS.search(head) or (_INCLUDE.search(head) and _TASK.search(head))
    return bool(is_task) and "infer_cfg" not in head


def is_task(path: str | None) -> bool:
    """Return true if a configuration is a task's YAML."""
    return path is not None and not is_samples(path) and is_lm_eval(path)


def refuse_lm_eval(arguments: Namespace) -> None:
    """Refuse the options of tasks if there is no task."""
    option = first_given(arguments, LM_EVAL_OPTIONS)
    if option is not None:
        raise UsageError(f"{option} is for tasks of lm-evaluation-harness, and there is none")


def _refuse_others(settings: Settings) -> None:
    """Refuse options that don't apply to a task, and rows without documents."""
    _refuse(settings, _OTHER_OPTIONS)
    for name in ("errors", "skip_corrupt"):
        if getattr(settings, name):
            raise UsageError(f"{option_name(name)}: not of a task of lm-evaluation-harness, whose rows belong together")
    if not settings.data:
        raise UsageError("--data FILE is needed: the documents of the split that is evaluated, a row each")


def _refuse(settings: Settings, names: Iterable[str]) -> None:
    option = first_given(settings, names)
    if option is not None:
        hint = "; --shots-seed is the seed of its examples" if option == "--seed" else ""
        raise UsageError(
            f"{option}: {settings.config} is a task of lm-evaluation-harness, which says itself what a request is{hint}"
        )


class Function:
    """A function that a task names by `!function`; it is never imported."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise ConfigError(f"!function {self.name}: functions of a task aren't called")

    def __repr__(self) -> str:
        return f"!function {self.name}"


def read_task(path: str) -> dict[str, Any]:
    """Read a task, and refuse a group of tasks."""
    config = _read(Path(path), path, ())
    for key, what in _UNSUPPORTED_KEYS.items():
        if key in config:
            raise ConfigError(f"{path}: {key}: this is {what}; give the YAML of one task")
    if isinstance(config.get("task"), list):
        raise ConfigError(f"{path}: task: this is a group of tasks; give the YAML of one task")
    return config


def _read(file: Path, path: str, including: tuple[Path, ...]) -> dict[str, Any]:
    """Read a file and the files that it includes; `including` are the files that lead to this one."""
    resolved = file.expanduser().resolve()
    if resolved in including:
        raise ConfigError(f"{path}: includes itself, by way of {including[-1].name}")
    config = _load(path)
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: a task is a mapping; found a {type(config).__name__}")
    includes = config.pop("include", None)
    merged: dict[str, Any] = {}
    for name in includes if isinstance(includes, list) else [] if includes is None else [includes]:
        if not isinstance(name, str):
            raise ConfigError(f"{path}: include: expected the name of a file; found {name!r}")
        included = _read(file.parent / name, str(Path(path).parent / name), (*including, resolved))
        included.pop("task_list", None)  # the list belongs to the included file only
        merged |= included
    return merged | config


def _load(path: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(f"{path}: YAML needs PyYAML: pip install 'promptpress[cli]'") from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """The safe loader, with functions as `Function`."""

    Loader.add_constructor("!function", lambda loader, node: Function(str(loader.construct_scalar(node))))
    try:
        return yaml.load(read_bytes(path, _MAX_FILE_BYTES), Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path}:{line}: not valid YAML: {error.problem or error.context}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: not valid YAML: {reason(error)}") from None


def render_lm_eval(settings: Settings) -> ExitCode:
    """Render the requests of a task and write them."""
    _refuse(settings, _OF_RENDER)
    out = chosen_out_format(settings)
    if out.format == "csv":
        raise UsageError(f"--out {settings.out}: requests have several fields; write Parquet, Arrow or JSONL")
    refuse_overwriting(settings)
    start = time.perf_counter()
    table, _ = _requests(settings)
    schema = pa.schema([(field.name, _plain(pa.nulls(0, field.type)).type) for field in table.schema])
    if settings.print_first:
        first = next(_plain_batches(table.slice(0, 1), schema))
        print_first(first.select([_ARGUMENTS]), to_stderr=settings.out == STDOUT)
    batches = _plain_batches(table, schema)
    done = write_prompts(settings.out, out, schema, batches, settings.compression, prompts=_ARGUMENTS)
    if not settings.quiet:
        say(done.summary(time.perf_counter() - start))
    return ExitCode.OK


def task_prompts(settings: Settings, *, repeated: bool = False) -> pa.Table:
    """Return the contexts of a task's requests as a column of prompts, after the columns of their documents.

    With `repeated`, each request has as many rows, numbered in `repeat`, as the task asks for answers.
    """
    requests, documents = _requests(settings)
    count = requests["metadata"][0].as_py()[-1] if repeated else 1
    every = pa.array(range(len(requests) * count), pa.int64())
    request_rows = pc.divide(every, count)
    arguments = _plain(requests.column("arguments").combine_chunks()).take(request_rows)
    names = [field.name for field in arguments.type]
    numbered = {name: requests.column(name).take(request_rows) for name in ("doc_id", "idx")}
    numbered |= {PROMPT_COLUMN if name == "context" else name: arguments.field(name) for name in names}
    numbered |= {"repeat": pc.subtract(every, pc.multiply(request_rows, count))} if count > 1 else {}
    rows = numbered["doc_id"].combine_chunks()
    fields = [field for field in documents.schema if field.name not in numbered]
    kept = [pa.chunked_array(take_rows(documents.column(field.name), rows), field.type) for field in fields]
    table = pa.Table.from_arrays(kept, schema=pa.schema(fields))
    for name, column in numbered.items():
        table = table.append_column(name, column)
    return table


def _requests(settings: Settings) -> tuple[pa.Table, pa.Table]:
    """Render the requests of a task; return them and the documents."""
    _refuse_others(settings)
    config = read_task(str(settings.config))
    for part in (config, config.get("fewshot_config")):
        if not isinstance(part, dict):
            continue
        if settings.processed_docs:
            part.pop("process_docs", None)
        elif isinstance(part.get("process_docs"), Function):
            raise ConfigError(
                f"{settings.config}: process_docs: it is a function, which is never called here; "
                "--processed-docs says that --data, and --examples, hold what it returns"
            )
    from promptpress import lm_eval  # noqa: PLC0415 - imports Jinja2

    task = {
        key: value for key, value in config.items() if not (isinstance(value, Function) and key in _KEYS_WITHOUT_EFFECT)
    }
    samples = Samples(settings.data or (), settings.format, harness_types="all")
    options: dict[str, Any] = {} if settings.shots_seed is None else {"seed": settings.shots_seed}
    chat: Any = None
    if settings.chat_template is not None:
        chat = chat_template(settings)
    elif settings.fewshot_as_multiturn:  # the text that lm_eval's models of APIs make of the messages that they send
        chat = lambda messages, **_: json.dumps(messages, ensure_ascii=False)  # noqa: E731 - it has no other name
    documents = samples.table()
    table = lm_eval.requests(
        task,
        documents,
        example_rows(settings.examples or (), settings.format, harness_types="all"),
        num_fewshot=settings.shots,
        system_instruction=settings.system,
        chat_template=chat,
        fewshot_as_multiturn=bool(settings.fewshot_as_multiturn),
        limit=settings.limit,
        **options,
    )
    samples.close()
    return table, documents


def _plain_batches(table: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the requests in types that all readers support, with dictionaries decoded."""
    for batch in table.to_batches(_BATCH_ROWS):
        yield pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], schema=schema)


def _plain(array: pa.Array) -> pa.Array:
    if isinstance(array.type, pa.ExtensionType):
        return _plain(array.storage)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays([_plain(child) for child in array.flatten()], names)
    return array
