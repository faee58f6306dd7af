"""AISBench's multi-turn conversations in plain Python, a sample at a time: the oracle for `MultiTurnPromptTemplate`.

`requests(config, samples)` gives one `(sample, turn, request)` for each time that the model is asked; `replies` holds
what it said in earlier turns, a list for each sample, where it is asked turn by turn. Under an inferencer that knows no
turns a conversation is one request, and its turn None. What the contract refuses raises `ModelError`. Where the code of
the harness recurses for ever, in the mode `"last"`, its documents are followed.
"""

from __future__ import annotations

from typing import Any

from models.plain_model import ModelError, fields_of, fill, map_items, need, opened, read_model

DIALECTS = ("aisbench",)


def requests(
    config: dict[str, Any], samples: list[dict[str, Any]], replies: list[list[str]] | None = None
) -> list[tuple[int, int | None, Any]]:
    model = read_model({**config, "prompt_template": {**config["prompt_template"], "type": "PromptTemplate"}})
    need(model.mode == "gen", "conversations are for generation")
    need(isinstance(model.main.template, dict), "a conversation needs a dialogue")
    dialogue = opened(model.main.template, model.main.texts)
    for items in dialogue.values():
        need(all(isinstance(item, dict) for item in items), "a conversation is made of turns")
    asks = str(model.inferencer.get("type")).rsplit(".", 1)[-1] == "MultiTurnGenInferencer"
    mode = model.inferencer.get("infer_mode", "every") if asks else "whole"
    result: list[tuple[int, int | None, Any]] = []
    for number, sample in enumerate(samples):
        need(all(isinstance(sample.get(name), (list, str)) for name in ("question", "answer")), "no lists of turns")
        # Only the round is filled, once a pair; the longer of the two lists is cut.
        talk: list[Any] = []
        for question, answer in zip(sample["question"], sample["answer"], strict=False):
            fields = fields_of({"question": question, "answer": answer})
            talk += map_items(dialogue["round"], lambda text, fields=fields: fill(text, fields))
        if mode == "whole":
            result.append((number, None, model.request_of({**dialogue, "round": talk})))
            continue
        turns = [index for index, turn in enumerate(talk) if turn["role"] == "BOT"]
        answers = replies[number] if replies is not None else []
        for index, reply in zip(turns, answers, strict=False):
            talk[index] = {**talk[index], "prompt": reply}
        chosen = range(len(turns)) if replies is None else range(len(answers), min(len(answers) + 1, len(turns)))
        if mode == "last":
            chosen = chosen[-1:]
        # What comes before the turn, between the dialogue's begin and its end.
        result += [(number, turn, model.request_of({**dialogue, "round": talk[: turns[turn]]})) for turn in chosen]
    return result


__all__ = ["DIALECTS", "ModelError", "requests"]
