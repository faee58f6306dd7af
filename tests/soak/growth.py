"""Memory of a process that renders a few rows again and again: `python -m soak.growth VERB CALLS...`.

It prints a JSON object: the resident memory, in bytes, after so many calls.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import promptpress as pp
import pyarrow as pa

STATM = Path("/proc/self/statm")
SAMPLES = pa.table({"q": ["1+1", "{a}"], "a": ["2", "x"]})
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
CHATS = pa.table({"messages": [CHAT, CHAT[:1]]})
TEMPLATE = {"A": {"round": [{"role": "HUMAN", "prompt": "{q}"}]}, "B": {"round": [{"role": "HUMAN", "prompt": "{a}"}]}}
PAGE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


def refused() -> None:
    try:
        pp.Renderer({"type": "PromptTemplate", "template": ["no", "template"]})
    except pp.TemplateError:
        return
    raise AssertionError("it is refused")


def verbs() -> dict[str, Callable[[], object]]:
    """Return the calls by name; those of Jinja need Jinja2."""
    (batch,) = SAMPLES.to_batches()
    renderer = pp.Renderer("{q}={a}")
    ppl = pp.Renderer(TEMPLATE, output="messages", mode="ppl", labels=["A", "B"])
    by_name: dict[str, Callable[[], object]] = {
        "render": lambda: renderer.render(SAMPLES),
        "render-ppl": lambda: ppl.render(SAMPLES, keep=["q"]),
        "call": lambda: renderer(batch),
        "stream": lambda: renderer.stream(SAMPLES).read_all(),
        "explain": lambda: renderer.explain(SAMPLES, 1),
        "divergence": lambda: renderer.divergence(SAMPLES),
        "construct": lambda: pp.Renderer("{q}={a}").render(SAMPLES),
        "refused": refused,
    }
    if hasattr(renderer, "audit"):
        by_name["audit"] = lambda: renderer.audit(SAMPLES)
    try:
        import jinja2  # noqa: F401
    except ImportError:
        return by_name
    template, chat = pp.JinjaTemplate("{{ q.strip() }}={{ a }}"), pp.ChatTemplate(PAGE)
    by_name["jinja-template"] = lambda: template.render(SAMPLES)
    by_name["chat-template"] = lambda: chat.render(CHATS)
    return by_name


def resident() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(verb: str, *counts: str) -> None:
    call, done, resident_after = verbs()[verb], 0, {}
    for count in map(int, counts):
        for _ in range(count - done):
            call()
        done = count
        resident_after[count] = resident()
    print(json.dumps(resident_after))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
