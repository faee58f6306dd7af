"""Answers of a batch as a model of lm-evaluation-harness, which computes its own metrics over them."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any

import pyarrow as pa
from promptpress import PromptWarning
from promptpress.engine import as_table
from promptpress.engine.errors import render_error
from promptpress.engine.tables import PROMPT_COLUMN
from promptpress.typing import TableLike

from promptpress_harness.answers import answered
from promptpress_harness.lm_eval.contexts import ChatFunction, chat_function

MODEL = "promptpress-answers"
"""The model's name on the harness's command line, which `promptpress-run` adds."""

_DOCUMENT = "doc_id"


def answers(
    source: TableLike | str | os.PathLike[str],
    *,
    unanswered: str | None = None,
    chat_template: ChatFunction | None = None,
) -> Any:
    """Return a model of lm-evaluation-harness that answers what a batch has answered.

    It gives each document of a task its own answers, in the order of its repeats. Each context has to be the one that
    was sent. `promptpress-run lm_eval run --model promptpress-answers --model_args answers=FILE` has the same model.

    Args:
        source: The rows that `promptpress join --table TASK.yaml` wrote: a table, or the path of a file. `{task}` in a
            path is the task's name, so that each of several tasks has its own file.
        unanswered: The answer where there is none, be it missing, an error or a refusal. None: such rows are an error.
        chat_template: Makes the texts of chats, if texts of a chat template were sent. By default chats are messages as
            JSON, as the harness's models of APIs have them.

    Returns:
        A model for `lm_eval.simple_evaluate(model=...)`. It raises RenderError where an answer lacks or is of another
        context, and NotImplementedError for log-likelihoods. A `PromptWarning` counts answers that hold a stop word of
        the task, which the service wasn't told or doesn't have.

    Raises:
        ImportError: If lm_eval isn't installed.

    >>> from lm_eval import simple_evaluate  # doctest: +SKIP
    >>> simple_evaluate(answers("gsm8k.parquet"), tasks=["gsm8k"])["results"]  # doctest: +SKIP
    """
    return _model()(source, unanswered, chat_template)


def with_answers(get_model: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the harness's function that looks up a model, with the one of answers."""
    return lambda model_name: _model() if model_name == MODEL else get_model(model_name)


@cache
def _model() -> Any:
    """Return the class of models, whose base is the harness's; its other settings of models have no meaning."""
    from lm_eval.api.model import LM  # type: ignore[import-not-found]  # noqa: PLC0415 - needn't be installed

    class Answers(LM):  # type: ignore[misc]
        tokenizer_name = MODEL

        def __init__(self, answers: Any, unanswered: Any = None, chat_template: Any = None, **_: Any) -> None:
            super().__init__()
            if isinstance(chat_template, str):
                from promptpress import ChatTemplate  # noqa: PLC0415 - needs Jinja2

                chat_template = ChatTemplate.from_tokenizer(chat_template)
            self._chat = chat_function(chat_template)
            self._source = answers
            self._unanswered = None if unanswered is None else str(unanswered)

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:  # noqa: ARG002
            contexts: dict[str, list[tuple[int, str]]] = defaultdict(list)
            for request in requests:
                contexts[request.task_name].append((request.doc_id, request.args[0]))
            given = {task: iter(_answers_of(self._source, task, self._unanswered, contexts[task])) for task in contexts}
            out = [next(given[request.task_name]) for request in requests]
            _warn_of_stop_words(requests, out)
            return out

        def loglikelihood(self, requests: list[Any], **_: Any) -> Any:
            raise NotImplementedError(f"{requests[0].task_name}: scores log-likelihoods, which no answer has")

        loglikelihood_rolling = loglikelihood

        def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
            if self._chat is None:
                return json.dumps(chat_history, ensure_ascii=False)
            return self._chat(chat_history, add_generation_prompt=add_generation_prompt)

    return Answers


def _warn_of_stop_words(requests: list[Any], answers: list[str]) -> None:
    """Warn if answers hold a text at which their task ends them."""
    matches = []
    for request, answer in zip(requests, answers, strict=True):
        until = request.args[1].get("until") or ()
        stops = (stop for stop in ([until] if isinstance(until, str) else until) if stop and stop in answer)
        matches += [(request, stop) for stop in islice(stops, 1)]
    if matches:
        (first, stop), count = matches[0], len(matches)
        message = (
            f"{count:,} of {len(answers):,} answers hold a stop word of the task, so they weren't ended there, and are "
            f"scored as they are; first task {first.task_name}, document {first.doc_id}: {stop!r}"
        )
        warnings.warn(message, PromptWarning, stacklevel=2)


def _answers_of(source: Any, task: str, unanswered: str | None, contexts: list[tuple[int, str]]) -> list[str]:
    """Return a task's answers to contexts of documents, in this order."""
    table = as_table(os.fspath(source).replace("{task}", task) if isinstance(source, (str, os.PathLike)) else source)
    if lacking := {_DOCUMENT, PROMPT_COLUMN} - set(table.column_names):
        raise render_error("missing_column", "rows of promptpress join --table TASK.yaml have it", column=min(lacking))
    times = Counter(document for document, _ in contexts)
    table = table.filter(pa.array([document in times for document in table[_DOCUMENT].to_pylist()], pa.bool_()))
    columns = [table[name].to_pylist() for name in (_DOCUMENT, PROMPT_COLUMN)]
    sent, texts = dict(zip(*columns, strict=True)), defaultdict[int, list[str]](list)
    for document, answer in zip(columns[0], answered(table, unanswered, row_name=_DOCUMENT), strict=True):
        texts[document] += answer if isinstance(answer, list) else [answer]
    for document, context in contexts:
        if (prompt := sent.get(document)) != context:
            wrong = "isn't among the rows with answers" if prompt is None else _difference(prompt, context)
        elif len(texts[document]) != times[document]:
            wrong = f"has {len(texts[document])} answers, and the harness asks for {times[document]}"
        else:
            continue
        raise render_error("invalid_result", f"task {task}, document {document} {wrong}", placed=False)
    return [texts[document].pop(0) for document, _ in contexts]


def _difference(sent: str, context: str) -> str:
    """Say where a context differs from the one that was sent, and what both sides have to have in common."""
    pairs = enumerate(zip(sent, context, strict=False))
    index = next((index for index, (left, right) in pairs if left != right), min(len(sent), len(context)))
    texts = [text[max(0, index - 30) : index + 30] for text in (sent, context)]
    return (
        f"has another context than was sent, from character {index} on: {texts[0]!r} was sent, and the harness has "
        f"{texts[1]!r}; the task, its documents, shots, seed and system have to be those of the export, and "
        "--fewshot-as-multiturn there is --apply_chat_template here"
    )
