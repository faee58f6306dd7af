"""Requests of conversations, made by a harness's own inferencer with a model that records them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from promptpress.engine.configs import CHAT_INFERENCERS, last_part

from promptpress_workbench.cli.verify.outcome import RowRequests, plain

_MULTI_TURN_INFERENCER = "MultiTurnGenInferencer"
_DEFAULT_MODES = {**dict.fromkeys(CHAT_INFERENCERS, "last"), _MULTI_TURN_INFERENCER: "every"}
"""The inferencers whose conversations can be compared, each with its default `infer_mode`."""


def infer_mode_of(inferencer: Any) -> str | None:
    """Return the `infer_mode` of a configuration's inferencer; None if its conversations can't be compared."""
    if not isinstance(inferencer, Mapping):
        return None
    default = _DEFAULT_MODES.get(last_part(inferencer.get("type")))
    return None if default is None else str(inferencer.get("infer_mode", default))


def reply(turn: int) -> str:
    """Return the reply of both sides' model to a turn, which is part of the next request."""
    return f"(reply {turn})"


def requests_by_turn(requests: list[Any], mode: str) -> RowRequests:
    """Return the requests of a conversation by number of the turn; the only request of the mode `last` has none."""
    return {None: requests[0]} if mode == "last" and len(requests) == 1 else dict(enumerate(requests))


class _RecordingModel:
    """Records requests, in the place of an inferencer's model."""

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


class _NoOutput:
    """Ignores all calls, in the place of an inferencer's counters and files."""

    def __getattr__(self, _: str) -> Callable[..., Any]:
        async def ignore(*_: Any) -> None: ...

        return ignore


def conversation_requests(
    registry: Any, inferencer_cfg: Mapping[str, Any], parser: Any, retriever: Any, templates: Mapping[str, Any]
) -> Callable[[int, list[int]], RowRequests]:
    """Return a function that makes a row's requests from the row's index and the indices of its examples."""
    model = _RecordingModel(parser)
    if last_part(inferencer_cfg["type"]) == _MULTI_TURN_INFERENCER:
        mode = str(infer_mode_of(inferencer_cfg))
        inferencer = object.__new__(registry.get(inferencer_cfg["type"]))
        inferencer.model, inferencer.perf_mode = model, False
        inferencer.status_counter = inferencer.output_handler = _NoOutput()
        token = inferencer_cfg.get("gen_field_replace_token") or ""

        def send(row: int, indices: list[int]) -> None:
            ice = retriever.generate_ice(indices)
            prompt = retriever.generate_prompt_for_generate_task(row, ice, gen_field_replace_token=token)
            asyncio.run(infer({"index": row, "prompt": prompt, "data_abbr": "", "max_out_len": 1}, None))
    else:
        template = templates["prompt_template"]
        folder = tempfile.gettempdir()
        inferencer = registry.build({**inferencer_cfg, "model": model, "output_json_filepath": folder})
        mode = inferencer.infer_mode

        def send(row: int, indices: list[int]) -> None:
            sample = SimpleNamespace(dataset_reader=retriever.dataset_reader, test_ds=[retriever.test_ds[row]])
            (chat,) = inferencer.get_chat_list([indices], sample, prompt_template=template)
            inferencer.dialogue_mode = False  # decides only how replies are saved
            infer(chat, 0, inferencer.HandlerType())

    infer = getattr(inferencer, f"infer_{mode}")

    def requests_of(row: int, indices: list[int]) -> RowRequests:
        model.requests = []
        send(row, indices)
        return requests_by_turn(model.requests, mode)

    return requests_of
