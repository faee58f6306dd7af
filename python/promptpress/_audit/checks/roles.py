"""Roles that the meta template hasn't, text that no message has, and who speaks last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import types

from promptpress import _compute as pc
from promptpress._audit.batch import Batch
from promptpress._audit.finding import Finding, Rows, finding_of
from promptpress._audit.subject import Subject

__all__ = ["LastRole", "Roles"]

_SECTIONS = ("begin", "round", "end")
_MESSAGES = ("messages", "messages_json", "openai")
_MODEL = {"bot", "assistant", "model", "gpt"}


class Roles:
    """Turns of the template beside the meta template: nothing of this depends on samples."""

    def __init__(self, subject: Subject, meta: Mapping[str, Any]) -> None:
        self._subject = subject
        self._round = [one for one in meta.get("round") or () if isinstance(one, Mapping)]
        reserved = [one for one in meta.get("reserved_roles") or () if isinstance(one, Mapping)]
        self._rounds = {str(one.get("role")): at for at, one in enumerate(self._round)}
        self._reserved = {str(one.get("role")) for one in reserved} - set(self._rounds)
        self._messages = any("api_role" in one for one in (*self._round, *reserved))
        self._messages = subject.settings["output"] in _MESSAGES or (
            subject.settings["output"] is None and self._messages
        )

    @classmethod
    def of(cls, subject: Subject) -> Roles | None:
        """Where there is a meta template of rounds."""
        meta = subject.settings["meta_template"]
        return cls(subject, meta) if isinstance(meta, Mapping) and meta.get("round") else None

    def add(self, batch: Batch) -> None:
        """Look at no rows."""

    def findings(self) -> Iterator[Finding]:
        """Go through the turns."""
        for part in ("prompt_template", "ice_template"):
            given = self._subject.settings[part]
            token = given.get("ice_token") if isinstance(given, Mapping) else None
            is_shot = part == "ice_template" and self._subject.settings["prompt_template"] is not None
            if is_shot and not self._subject.example_columns:
                continue
            dialogues = list(_dialogues(given, part))
            if not is_shot and self._subject.is_gen:
                dialogues = dialogues[:1] if _is_first(given, dialogues) else []
            # Of a dialogue that gives examples only the round is rendered.
            sections = ("round",) if is_shot else _SECTIONS
            for path, dialogue in dialogues:
                for section in sections:
                    items = dialogue.get(section)
                    for at, item in enumerate(items if isinstance(items, list) else ()):
                        yield from self._of_item(f"{path}.{section}[{at}]", section, item, token)
                if part == "prompt_template" and self._subject.is_gen:
                    yield from self._behind_generation(path, dialogue)

    def _of_item(self, path: str, section: str, item: Any, token: str | None) -> Iterator[Finding]:
        if isinstance(item, str):
            if self._messages and item.strip() and item.strip() != token:
                yield finding_of("dropped_string", f"{path}: the string {_cut(item)} is in no message")
        elif isinstance(item, Mapping):
            role, fallback = item.get("role"), item.get("fallback_role")
            names = [str(one) for one in (role, fallback) if one is not None]
            if not names:
                return
            if not any(name in self._rounds or name in self._reserved for name in names):
                has = ", ".join(map(repr, [*self._rounds, *sorted(self._reserved)]))
                yield finding_of("unknown_role", f"{path}: role {names[0]!r} isn't in the meta template (it has {has})")
            elif section == "round" and self._messages and names[0] in self._reserved and item.get("prompt"):
                message = f"{path}: role {names[0]!r} is in reserved_roles alone, and so its text is in no message"
                yield finding_of("lost_turn", message)

    def _behind_generation(self, path: str, dialogue: Mapping[str, Any]) -> Iterator[Finding]:
        """Find what stands behind the turn that is to be generated: in the last round, and in the dialogue's end."""
        generates = {name for name, at in self._rounds.items() if self._round[at].get("generate")}
        spoken: int | None = None
        last = -1
        turns = dialogue.get("round")
        behind: list[str] = []
        for at, turn in enumerate(turns if isinstance(turns, list) else ()):
            if not isinstance(turn, Mapping):
                continue
            names = [str(turn.get(key)) for key in ("role", "fallback_role")]
            place = next((self._rounds[name] for name in names if name in self._rounds), None)
            if place is not None and place <= last:
                spoken, behind = None, []  # another round begins
            last = last if place is None else place
            if spoken is not None and turn.get("prompt"):
                behind.append(f"round[{at}]")
            if generates & set(names) or turn.get("generate"):
                spoken = at
        end = dialogue.get("end")
        if generates:
            items = enumerate(end if isinstance(end, list) else ())
            behind += [f"end[{at}]" for at, one in items if one and (isinstance(one, str) or one.get("prompt"))]
        for place_behind in behind:
            message = f"{path}.{place_behind}: it stands behind the turn in which the model is to speak"
            yield finding_of("generating_role_not_last", message)


class LastRole:
    """Messages that end with what the model says."""

    def __init__(self, subject: Subject) -> None:
        self._model = _MODEL | {role.lower() for role in _generating(subject.settings["meta_template"])}
        self._rows = Rows()

    @classmethod
    def of(cls, subject: Subject) -> LastRole | None:
        """Where a model is to answer messages."""
        return cls(subject) if subject.is_gen and subject.renderer._configuration.chat is None else None

    def add(self, batch: Batch) -> None:
        """Look at the last message of each request."""
        for requests in batch.requests:
            roles = _last_roles(requests.prompts)
            if roles is not None:
                own = pc.is_in(pc.utf8_lower(roles), value_set=pa.array(sorted(self._model), roles.type))
                self._rows.add(pc.unique(requests.samples.take(pc.indices_nonzero(own))))

    def findings(self) -> Iterator[Finding]:
        """Say how many there are."""
        if self._rows:
            yield finding_of("ends_with_model", "the last message is the model's own", self._rows)


def _last_roles(prompts: pa.Array) -> pa.Array | None:
    """The role of each request's last message; None where requests are no messages with roles."""
    kind = prompts.type
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        return None
    if kind.value_type.get_field_index("role") < 0 or prompts.null_count:
        return None
    lengths = pc.list_value_length(prompts)
    ends = pc.subtract(pc.cumulative_sum(lengths.cast(pa.int64())), 1)
    roles = pc.struct_field(prompts.flatten(), "role")
    if roles.type == pa.string_view():
        roles = roles.cast(pa.large_string())
    return roles.take(pc.if_else(pc.equal(lengths, 0), pa.scalar(None, pa.int64()), ends))


def _generating(meta: Any) -> Iterator[str]:
    for one in meta.get("round") or () if isinstance(meta, Mapping) else ():
        if isinstance(one, Mapping) and one.get("generate"):
            yield from (str(one[key]) for key in ("role", "api_role") if one.get(key))


def _dialogues(template: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give the dialogues of a template with their paths: itself, or its labels'."""
    if isinstance(template, Mapping) and "template" in template:
        template, path = template["template"], f"{path}.template"
    if not isinstance(template, Mapping):
        return
    if template and set(template) <= set(_SECTIONS):
        yield path, template
        return
    for label, own in template.items():
        if isinstance(own, Mapping) and own and set(own) <= set(_SECTIONS):
            yield f"{path}.{label}", own


def _is_first(template: Any, dialogues: list[tuple[str, Mapping[str, Any]]]) -> bool:
    """Return true if the first label of a label map, which generation renders, has a dialogue."""
    if isinstance(template, Mapping) and "template" in template:
        template = template["template"]
    if not dialogues or not isinstance(template, Mapping):
        return False
    first = next(iter(template.values()), None)
    return dialogues[0][1] is template or dialogues[0][1] is first


def _cut(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
