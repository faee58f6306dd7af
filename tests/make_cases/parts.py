"""Templates, meta templates and tables that the inputs of several folders are made of."""

from __future__ import annotations

from typing import Any

QA = [("q", "string", ["1+1?", "2+2?"]), ("a", "string", ["2", "4"])]
TRAIN = [("q", "string", ["t0", "t1", "t2"]), ("a", "string", ["r0", "r1", "r2"])]
READER = {"input_columns": ["q"], "output_column": "a"}

ASK = {"role": "HUMAN", "prompt": "{q}"}
ANSWER = {"role": "BOT", "prompt": "{a}"}
PAIR = {"round": [ASK, ANSWER]}

HUMAN = {"role": "HUMAN", "begin": "<H>", "end": "</H>"}
BOT = {"role": "BOT", "begin": "<B>", "end": "</B>", "generate": True}
SYSTEM = {"role": "SYSTEM", "begin": "<S>", "end": "</S>"}
CHAT = {"round": [HUMAN, BOT], "reserved_roles": [SYSTEM]}
API = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}],
    "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
}

ZERO = {"type": "ZeroRetriever"}
TALK = {"list": {"struct": [["role", "string"], ["content", "string"]]}}


def fix(*ids: int, **more: Any) -> dict[str, Any]:
    return {"type": "FixKRetriever", "fix_id_list": list(ids), **more}


def template(body: Any, **more: Any) -> dict[str, Any]:
    return {"type": "PromptTemplate", "template": body, **more}


def with_ice(body: Any, **more: Any) -> dict[str, Any]:
    return template(body, ice_token="</E>", **more)


def raw(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"type": "RawPromptTemplate", "messages": list(messages), **more}


def says(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def turn(role: str, prompt: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "prompt": prompt, **more}
