"""`Renderer(..., chat_template=...)` beside OpenCompass's own classes with a chat template, for what it ships.

The harness reads the configuration, retrieves, fills and parses, and its model's `generate` makes the text that goes to
the tokenizer; the tokenizer is a stand-in that renders with Jinja2. The same configuration goes through
`Renderer.from_config`.
"""

from __future__ import annotations

import copy
import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any

import promptpress as pp
import pyarrow as pa
import pytest
from promptpress._errors.file_errors import ConfigError, DataError
from promptpress_workbench.cli.verify_harness import HARNESSES
from real.harness.shipped import table
from real.harness.shipped_columns import shipped

sandbox = pytest.importorskip("jinja2.sandbox")

SOURCES = {
    "chatml": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "llama": (
        "{{ bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}<|{{ m.role }}|>{{ m.content | trim }}{% endfor %}"
    ),
}
META = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN", "begin": "<", "end": ">"},
        {"role": "BOT", "api_role": "BOT", "generate": True},
    ],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}
UNSUPPORTED = {"unsupported_class", "unsupported_mode", "missing_template", "wrong_input_columns"}


class RefusedError(Exception):
    """The template's own."""


class Tokenizer:
    """Renders as a tokenizer does, and keeps what it is given to encode."""

    def __init__(self, source: str) -> None:
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = self._raise
        self.template = environment.from_string(source)
        self.texts: list[str] = []

    @staticmethod
    def _raise(message: str) -> None:
        raise RefusedError(message)

    def apply_chat_template(self, messages: Any, add_generation_prompt: bool, tokenize: bool, **variables: Any) -> str:
        assert not tokenize
        if not messages:
            raise RefusedError("empty")
        return str(
            self.template.render(
                messages=messages, add_generation_prompt=add_generation_prompt, bos_token="<s>", **variables
            )
        )

    def batch_encode_plus(self, texts: list[str], **_: Any) -> Any:
        self.texts += texts
        raise StopIteration

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        self.texts.append(text)
        return []


class Sender:
    """A model of the harness; `sent` gives the text that it would have tokenized."""

    def __init__(self, kind: str, meta: Any, source: str) -> None:
        from opencompass.models import huggingface_above_v4_33, vllm_with_tf_above_v4_33

        modules = {
            "HuggingFacewithChatTemplate": huggingface_above_v4_33,
            "VLLMwithChatTemplate": vllm_with_tf_above_v4_33,
        }
        self.model = object.__new__(getattr(modules[kind], kind))
        self.model.tokenizer = self.tokenizer = Tokenizer(source)
        self.model.template_parser = self.parser = huggingface_above_v4_33._get_meta_template(meta)
        self.model.fastchat_template, self.model.max_seq_len, self.model.stop_words = None, None, []
        self.model.chat_template_kwargs = {}
        self.model.logger = logging.getLogger("test")

    def sent(self, request: Any) -> str:
        self.tokenizer.texts.clear()
        with suppress(StopIteration, TypeError, AttributeError):  # what comes behind the tokenizer isn't here
            self.model.generate([copy.deepcopy(request)], max_out_len=7)
        (text,) = self.tokenizer.texts
        return text


def laid_out(source: str, messages: list[dict[str, str]]) -> str:
    chat = pp.ChatTemplate(source, bos_token="<s>", add_generation_prompt=True)
    try:
        (text,) = chat.render([{"messages": messages}])["prompt"].to_pylist()
    except pp.RenderError as error:
        raise RefusedError from error
    return str(text)


def compare(kind: str, meta: Any, source: str, config: dict[str, Any]) -> tuple[int, str | None]:
    """Return the number of compared requests and the first difference."""
    samples, examples = table(config, 3), table(config, 8)
    sender = Sender(kind, meta, source)
    harness = replace(HARNESSES["opencompass"])
    object.__setattr__(harness, "parser", lambda _: lambda _: sender.parser)
    try:
        data = harness.dataset_of(config, samples, examples)
        outcome = harness.run(config, data, {"output": "messages", "meta_template": meta})
    except (ConfigError, DataError):  # a package that isn't here, and no word of the harness's
        return 0, None
    want: list[str] = []
    refused = None
    for row in outcome.rows:
        try:
            (request,) = row.values()
            is_openai = isinstance(request, list) and all("content" in message for message in request)
            # The harness's models can't take such messages; promptpress lays them out as what they are.
            want.append(laid_out(source, request) if is_openai else sender.sent(request))
        except (RefusedError, KeyError) as error:
            refused = error
            break
    if not want and refused is None:  # the harness's own fault
        return 0, None
    model = {"type": kind, **({"meta_template": meta} if meta is not None else {})}
    chat = pp.ChatTemplate(source, bos_token="<s>")
    try:
        renderer = pp.Renderer.from_config(config, model, examples=examples, dialect="opencompass", chat_template=chat)
    except pp.TemplateError as error:
        return 0, None if error.code in UNSUPPORTED else f"refused: {error}"
    got = renderer.render(samples.slice(0, len(want)))["prompt"].to_pylist() if want else []
    difference = None
    if got != want:
        difference = str(next((pair for pair in zip(want, got, strict=False) if pair[0] != pair[1]), (want, got)))
    elif refused is not None:
        try:
            renderer.render(samples.slice(0, len(want) + 1))
            difference = f"rendered, and {refused!r} there"
        except pp.RenderError as error:
            difference = None if error.row == len(want) else f"the row {error.row}"
    return len(want), difference


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("kind", ["HuggingFacewithChatTemplate", "VLLMwithChatTemplate"])
def test_shipped_configurations_are_tokenized_alike(kind: str) -> None:
    differences, requests, compared = [], 0, 0
    chosen = [
        (file, config)
        for file, config in shipped("opencompass")
        if "GenInferencer" in str(config["infer_cfg"].get("inferencer", {}).get("type"))
    ]
    for index, (file, config) in enumerate(chosen[::16]):
        source = list(SOURCES)[index % 2]
        meta = META if index % 3 == 2 else None
        rows, difference = compare(kind, meta, SOURCES[source], config)
        requests, compared = requests + rows, compared + (rows > 0)
        if difference is not None:
            differences.append(f"{file}, {source}: {difference}")
    assert not differences, "\n".join(differences[:20])
    assert compared >= 20, (compared, requests)


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("kind", ["HuggingFacewithChatTemplate", "VLLMwithChatTemplate"])
@pytest.mark.parametrize("meta", [None, META], ids=["its own", "given"])
@pytest.mark.parametrize(
    "template",
    [
        "{q}",
        {
            "round": [
                {"role": "HUMAN", "prompt": "{q}"},
                {"role": "BOT", "prompt": "{a}"},
                {"role": "HUMAN", "prompt": "?"},
            ]
        },
        {
            "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "{a}"}],
            "round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": ""}],
        },
    ],
)
def test_empty_turns_and_turns_of_one_role(kind: str, meta: Any, template: Any) -> None:
    values = ["", "a", " \n", "é"]
    samples = pa.table({"q": [q for q in values for _ in values], "a": values * 4})
    for source in SOURCES.values():
        sender = Sender(kind, meta, source)
        renderer = pp.Renderer(
            template,
            meta_template=meta,
            chat_template=pp.ChatTemplate(source, bos_token="<s>"),
            reader={"input_columns": ["q", "a"], "output_column": None},
        )
        from opencompass.openicl import PromptTemplate

        for row, sample in enumerate(samples.to_pylist()):
            request = sender.parser.parse_template(PromptTemplate(template).generate_item(sample), mode="gen")
            single = samples.slice(row, 1)
            try:
                want = sender.sent(request)
            except RefusedError:
                with pytest.raises(pp.RenderError):
                    renderer.render(single)
                continue
            assert renderer.render(single)["prompt"].to_pylist() == [want]
