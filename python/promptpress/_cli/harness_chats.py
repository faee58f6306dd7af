"""The requests of a conversation, as a harness's own inferencer makes them of a model that notes what it is asked."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from promptpress._from_config import CHAT_INFERENCERS
from promptpress._model_classes import last_part

from .outcome import plain

MULTI_TURN_INFERENCER = "MultiTurnGenInferencer"
_FIRST_MODES = {**dict.fromkeys(CHAT_INFERENCERS, "last"), MULTI_TURN_INFERENCER: "every"}
"""The inferencers whose conversations can be compared, and how each asks when it isn't told."""


def infer_mode_of(inferencer: Any) -> str | None:
    """Say how a configuration's inferencer goes through a conversation.

    Args:
        inferencer: its dict.

    Returns:
        Its `infer_mode`; None if it makes single requests.

    Example:
        >>> infer_mode_of({"type": "ChatInferencer"})
        'last'

    """
    if not isinstance(inferencer, Mapping):
        return None
    first = _FIRST_MODES.get(last_part(inferencer.get("type")))
    return None if first is None else str(inferencer.get("infer_mode", first))


def reply(turn: int) -> str:
    """Give what both sides' model answers, where its words are part of the next request.

    Args:
        turn: the request's number in its conversation.

    Returns:
        The words.

    Example:
        >>> reply(0)
        '(reply 0)'

    """
    return f"(reply {turn})"


def by_turn(requests: list[Any], mode: str) -> dict[str | int | None, Any]:
    """Name the requests of a conversation.

    Args:
        requests: the requests.
        mode: the inferencer's `infer_mode`.

    Returns:
        The same by their numbers; by None where there is only the last.

    Example:
        >>> by_turn(["Hi.", "And?"], "every")
        {0: 'Hi.', 1: 'And?'}

    """
    return {None: requests[0]} if mode == "last" and len(requests) == 1 else dict(enumerate(requests))


class _RecordingModel:
    """What an inferencer takes for a model."""

    is_api = True

    def __init__(self, parser: Any) -> None:
        self.template_parser = parser
        self.requests: list[Any] = []

    def parse_template(self, prompt: Any, mode: str) -> Any:
        return self.template_parser.parse_template(prompt, mode=mode)

    def generate_from_template(self, chats: list[Any], **_: Any) -> list[str]:
        return [self._record(chat) for chat in self.parse_template(chats, "gen")]

    async def generate(self, request: Any, _: Any, output: Any, **__: Any) -> None:
        output.success, output.content = True, self._record(request)

    def _record(self, request: Any) -> str:
        self.requests.append(plain(request))
        return reply(len(self.requests) - 1)


class _Ignored:
    """Counters and files that nobody looks at."""

    def __getattr__(self, _: str) -> Callable[..., Any]:
        async def nothing(*_: Any) -> None:
            return None

        return nothing


def chats_of(
    build: Callable[[dict[str, Any]], Any],
    inferencer_cfg: Mapping[str, Any],
    parser: Any,
    retriever: Any,
    prompt_template: Any,
) -> Callable[[int, list[int]], dict[str | int | None, Any]]:
    """Prepare OpenCompass's chats.

    Args:
        build: the registry's.
        inferencer_cfg: the inferencer's dict.
        parser: the model's parser; the inferencer makes its own of it.
        retriever: the harness's retriever.
        prompt_template: the harness's template, or None.

    Returns:
        What makes a row's requests of its number and its examples.

    """
    model = _RecordingModel(parser)
    inferencer = build({**inferencer_cfg, "model": model, "output_json_filepath": tempfile.gettempdir()})
    mode = inferencer.infer_mode
    infer = getattr(inferencer, f"infer_{mode}")

    def requests_of(row: int, indices: list[int]) -> dict[str | int | None, Any]:
        model.requests = []
        one_row = SimpleNamespace(dataset_reader=retriever.dataset_reader, test_ds=[retriever.test_ds[row]])
        (chat,) = inferencer.get_chat_list([indices], one_row, prompt_template=prompt_template)
        inferencer.dialogue_mode = False  # how replies are saved
        infer(chat, 0, inferencer.HandlerType())
        return by_turn(model.requests, mode)

    return requests_of


def dialogues_of(
    kind: Any, inferencer_cfg: Mapping[str, Any], parser: Any, retriever: Any
) -> Callable[[int, list[int]], dict[str | int | None, Any]]:
    """Prepare AISBench's dialogues of several turns.

    Args:
        kind: the inferencer's class. It isn't constructed: that would load a model.
        inferencer_cfg: the inferencer's dict.
        parser: the model's parser.
        retriever: the harness's retriever.

    Returns:
        What makes a row's requests of its number and its examples.

    """
    model = _RecordingModel(parser)
    inferencer = object.__new__(kind)
    inferencer.model = model
    inferencer.perf_mode = False
    inferencer.status_counter = inferencer.output_handler = _Ignored()
    mode = str(infer_mode_of(inferencer_cfg))
    infer = getattr(inferencer, f"infer_{mode}")
    token = inferencer_cfg.get("gen_field_replace_token") or ""

    def requests_of(row: int, indices: list[int]) -> dict[str | int | None, Any]:
        model.requests = []
        ice = retriever.generate_ice(indices)
        prompt = retriever.generate_prompt_for_generate_task(row, ice, gen_field_replace_token=token)
        asyncio.run(infer({"index": row, "prompt": prompt, "data_abbr": "", "max_out_len": 1}, None))
        return by_turn(model.requests, mode)

    return requests_of
