"""Recorded chat templates by minijinja, where it and they are at hand: the counts in docs/fidelity.md."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from typing import Any

import pytest
from real.jinja.test_recorded import runner, shared

GROUPS = {"core": "plain", "adversarial": "odd", "mixed": "odd", "trigger": "odd"}
"""The groups of cases that are plain chats, and those with odd contents, such as blanks, tags, braces and markup."""


def environment_of(source: str, clock: str) -> Any:
    """An environment of minijinja, set as transformers sets Jinja2's."""
    minijinja = pytest.importorskip("minijinja")

    def raise_exception(message: str) -> None:
        raise ValueError(message)

    def tojson(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)

    return minijinja.Environment(
        templates={"chat": source},
        trim_blocks=True,
        lstrip_blocks=True,
        filters={"tojson": tojson},
        globals={"raise_exception": raise_exception, "strftime_now": datetime.fromisoformat(clock).strftime},
        auto_escape_callback=lambda _: False,
    )


def rendered(source: str, conversations: list[Any], options: dict[str, Any], clock: str) -> list[Any]:
    """Texts, with None where minijinja raises."""
    out: list[Any] = []
    try:
        environment = environment_of(source, clock)
    except Exception:
        return [None] * len(conversations)
    names = {"tools": None, "documents": None, "add_generation_prompt": False, **options}
    for chat in conversations:
        messages = [{key: value for key, value in message.items() if value is not None} for message in chat]
        try:
            out.append(environment.render_template("chat", messages=messages, **names))
        except Exception:
            out.append(None)
    return out


@pytest.mark.full
def test_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    (path, _) = shared("chat_templates/cases.jsonl.gz", "tools/chat_cases.py")
    pytest.importorskip("minijinja")
    cases = runner("chat_cases", monkeypatch)
    outcomes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for template, group, conversations, kwargs, expected, _ in cases.blocks(str(path)):
        if group not in GROUPS:
            continue
        options = dict(kwargs)
        clock = options.pop("$clock", cases.CLOCK)
        outcomes[GROUPS[group]]["all"].add(template["id"])
        for text, want in zip(rendered(template["template"], conversations, options, clock), expected, strict=True):
            if isinstance(want, dict):
                kind = "" if text is None else "a text where Jinja2 raises"
            elif text is None:
                kind = "an error where Jinja2 renders"
            else:
                kind = "" if cases.equal(text, want) else "another text"
            outcomes[GROUPS[group]][kind].add(template["id"])
    for contents, kinds in outcomes.items():
        everything = kinds.pop("all")
        kinds.pop("", None)
        wrong = set().union(*kinds.values())
        counts = ", ".join(f"{kind} in {len(names)}" for kind, names in sorted(kinds.items()))
        print(
            f"minijinja, {contents} contents: {len(everything - wrong)} of {len(everything)} templates right; {counts}"
        )
        assert wrong < everything
