"""The harnesses' own OpenAI models, without a network: what each would send is caught where it is posted."""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

_ANSWER = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
_ENDLESS = 10**9
"""A max_seq_len that no prompt reaches: what is cut is cut by tokens, which nothing here counts."""


class Sender:
    """A model; `sent` gives the messages that it posts for a request of its own parser."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.parser = model.template_parser

    def sent(self, request: Any) -> list[dict[str, Any]]:
        """The messages of the body that goes out."""
        raise NotImplementedError


class Posting(Sender):
    """OpenCompass's `OpenAI`, which posts by requests."""

    def sent(self, request: Any) -> list[dict[str, Any]]:
        bodies = []

        def post(_: str, data: str, **__: Any) -> Any:
            bodies.append(json.loads(data))
            return SimpleNamespace(status_code=200, json=lambda: copy.deepcopy(_ANSWER))

        with patch("opencompass.models.openai_api.requests.post", post):
            self.model.generate([copy.deepcopy(request)], max_out_len=7)
        (body,) = bodies
        return body["messages"]


class Calling(Sender):
    """OpenCompass's `OpenAISDK`, which calls the client of the package openai."""

    def sent(self, request: Any) -> list[dict[str, Any]]:
        self.model.openai_client.calls.clear()
        self.model.generate([copy.deepcopy(request)], max_out_len=7)
        (call,) = self.model.openai_client.calls
        return call["messages"]


class Client:
    """A stand-in that `OpenAISDK` uses as the client of the package openai."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.chat = SimpleNamespace(completions=self)

    def create(self, **call: Any) -> Any:
        self.calls.append(json.loads(json.dumps(call)))
        message = SimpleNamespace(content="x", reasoning_content="")
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])


class Chatting(Sender):
    """AISBench's `VLLMCustomAPIChat`, which posts by a session of aiohttp."""

    def sent(self, request: Any) -> list[dict[str, Any]]:
        from ais_bench.benchmark.models.output import RequestOutput

        session = Session()
        asyncio.run(self.model.generate(copy.deepcopy(request), 7, RequestOutput(perf_mode=False), session=session))
        (body,) = session.bodies
        return body["messages"]


class Session:
    """A session that keeps what is posted, and answers that the service is busy."""

    status = 503
    reason = "busy"

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def post(self, **given: Any) -> Session:
        self.bodies.append(json.loads(json.dumps(given["json"])))
        return self

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def opencompass_model(name: str, meta_template: Any) -> Sender:
    """A model of OpenCompass, but for its tokenizer, which would be downloaded."""
    from mmengine.config import ConfigDict
    from opencompass.models import openai_api

    kind = getattr(openai_api, name)
    if isinstance(meta_template, list):
        meta_template = [ConfigDict(turn) for turn in meta_template]
    elif meta_template:
        meta_template = ConfigDict(meta_template)
    with (
        patch.object(openai_api.OpenAI, "_init_tokenizer", lambda _: None),
        patch.object(openai_api.OpenAISDK, "_create_fresh_client", lambda _: Client()),
    ):
        model = kind(path="gpt-4", key="none", meta_template=meta_template, max_seq_len=_ENDLESS, retry=1)
    model.get_token_len = lambda prompt: len(prompt.split())
    model.acquire = lambda: True  # a request a second
    return (Posting if name == "OpenAI" else Calling)(model)


def aisbench_model(name: str, meta_template: Any) -> Sender:
    """A model of AISBench."""
    from ais_bench.benchmark.models.api_models import vllm_custom_api_chat

    kind = getattr(vllm_custom_api_chat, name)
    return Chatting(kind(model="m", generation_kwargs={}, meta_template=meta_template, retry=1))


@contextmanager
def openai_package() -> Iterator[None]:
    """The package openai, as far as `OpenAISDK` imports it to tell exceptions apart."""
    package = ModuleType("openai")
    package.APIStatusError = package.BadRequestError = type("APIStatusError", (Exception,), {})  # type: ignore[attr-defined]
    with patch.dict(sys.modules, {"openai": package}):
        yield
