"""Findings about the configuration and the schema: roles and turns, notes, unused columns, and unknown origins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pyarrow as pa
from promptpress.engine import find_notes
from promptpress.engine.core import OUTPUT_FORMS
from promptpress.engine.tables import lazy_compute as pc
from promptpress.engine.tables import without_views
from pyarrow import types

from promptpress_workbench.audit.batch import Batch, ConfiguredBatch
from promptpress_workbench.audit.check import Check, ConfiguredCheck
from promptpress_workbench.audit.codes import NOTES, Severity
from promptpress_workbench.audit.findings import Finding, finding_of
from promptpress_workbench.audit.subject import ConfiguredSubject, Subject, TemplateSubject

_SECTIONS = ("begin", "round", "end")
_MODEL_ROLES = {"assistant", *(alias for alias, role in OUTPUT_FORMS["openai"].aliases if role == "assistant")}
_MAX_QUOTED = 40

_BY_ROWS = {"same_table", "chosen_samples"}
"""Notes on tables, whose rows another check compares one by one."""


class Roles(ConfiguredCheck):
    """The template's turns compared with the meta template, whatever the samples are."""

    codes = ("unknown_role", "lost_turn", "dropped_string", "generating_role_not_last")

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        meta, output = subject.settings["meta_template"], subject.settings["output"]
        self._round = _mappings(meta.get("round"))
        reserved = _mappings(meta.get("reserved_roles"))
        self._rounds = {str(turn.get("role")): index for index, turn in enumerate(self._round)}
        self._reserved = {str(turn.get("role")) for turn in reserved} - set(self._rounds)
        has_api_roles = any("api_role" in turn for turn in (*self._round, *reserved))
        self._writes_messages = OUTPUT_FORMS[output].writes_messages if output else has_api_roles

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        meta = subject.settings["meta_template"]
        return isinstance(meta, Mapping) and bool(meta.get("round"))

    def findings(self) -> Iterator[Finding]:
        for part in ("prompt_template", "ice_template"):
            template = self._subject.settings[part]
            token = template.get("ice_token") if isinstance(template, Mapping) else None
            is_for_examples = part == "ice_template" and self._subject.settings["prompt_template"] is not None
            if is_for_examples and not self._subject.example_columns:
                continue
            dialogues = list(_dialogues(template, part))
            if not is_for_examples and self._subject.is_gen:
                dialogues = dialogues[:1] if _is_first(template, dialogues) else []
            # Examples show only the round of a dialogue.
            sections = ("round",) if is_for_examples else _SECTIONS
            for path, dialogue in dialogues:
                for section in sections:
                    for index, item in enumerate(_items(dialogue.get(section))):
                        yield from self._item_findings(f"{path}.{section}[{index}]", section, item, token)
                if part == "prompt_template" and self._subject.is_gen:
                    yield from self._findings_after_generation(path, dialogue)

    def _item_findings(self, path: str, section: str, item: Any, token: str | None) -> Iterator[Finding]:
        if isinstance(item, str):
            if self._writes_messages and item.strip() and item.strip() != token:
                quoted = repr(item if len(item) <= _MAX_QUOTED else item[:_MAX_QUOTED] + "…")
                yield finding_of("dropped_string", f"{path}: the string {quoted} is in no message")
        elif isinstance(item, Mapping):
            names = [str(item[key]) for key in ("role", "fallback_role") if item.get(key) is not None]
            if not names:
                return
            if not any(name in self._rounds or name in self._reserved for name in names):
                has = ", ".join(map(repr, [*self._rounds, *sorted(self._reserved)]))
                yield finding_of("unknown_role", f"{path}: role {names[0]!r} isn't in the meta template (it has {has})")
            elif section == "round" and self._writes_messages and names[0] in self._reserved and item.get("prompt"):
                message = f"{path}: role {names[0]!r} is in reserved_roles alone, and so its text is in no message"
                yield finding_of("lost_turn", message)

    def _findings_after_generation(self, path: str, dialogue: Mapping[str, Any]) -> Iterator[Finding]:
        """Yield the items after the turn that the model generates: in the last round, and in the dialogue's end."""
        generates = {name for name, index in self._rounds.items() if self._round[index].get("generate")}
        has_generated = False
        last = -1
        after: list[str] = []
        for index, turn in enumerate(_items(dialogue.get("round"))):
            if not isinstance(turn, Mapping):
                continue
            names = [str(turn.get(key)) for key in ("role", "fallback_role")]
            order = next((self._rounds[name] for name in names if name in self._rounds), None)
            if order is not None and order <= last:
                has_generated, after = False, []  # another round begins
            last = last if order is None else order
            if has_generated and turn.get("prompt"):
                after.append(f"round[{index}]")
            has_generated = has_generated or bool(generates & set(names) or turn.get("generate"))
        if generates:
            for index, item in enumerate(_items(dialogue.get("end"))):
                if item and (isinstance(item, str) or item.get("prompt")):
                    after.append(f"end[{index}]")
        for item_path in after:
            message = f"{path}.{item_path}: it stands after the turn in which the model is to speak"
            yield finding_of("generating_role_not_last", message)


class LastRole(ConfiguredCheck):
    """Messages that end with the model's own message."""

    codes = ("ends_with_model",)
    reads_requests = True

    def __init__(self, subject: ConfiguredSubject) -> None:
        super().__init__(subject)
        meta = subject.settings["meta_template"]
        turns = _mappings(meta.get("round")) if isinstance(meta, Mapping) else []
        generating = [
            turn[key] for turn in turns if turn.get("generate") for key in ("role", "api_role") if turn.get(key)
        ]
        self._roles = sorted(_MODEL_ROLES | {str(role).lower() for role in generating})

    @classmethod
    def applies_to(cls, subject: ConfiguredSubject) -> bool:
        return subject.is_gen and subject.engine.chat is None

    def add(self, batch: ConfiguredBatch) -> None:
        for requests in batch.requests:
            roles = _last_roles(requests.prompts)
            if roles is not None:
                is_model = pc.is_in(pc.utf8_lower(roles), value_set=pa.array(self._roles, roles.type))
                self._rows.add(pc.unique(requests.samples.take(pc.indices_nonzero(is_model))))

    def findings(self) -> Iterator[Finding]:
        yield finding_of("ends_with_model", "the last message is the model's own", self._rows)


def _last_roles(prompts: pa.Array) -> pa.Array | None:
    """Return the role of each request's last message; None if requests aren't messages with roles."""
    kind = prompts.type
    if not (types.is_list(kind) or types.is_large_list(kind)) or not types.is_struct(kind.value_type):
        return None
    if kind.value_type.get_field_index("role") < 0 or prompts.null_count:
        return None
    lengths = pc.list_value_length(prompts)
    ends = pc.subtract(pc.cumulative_sum(lengths.cast(pa.int64())), 1)
    roles = without_views(pc.struct_field(prompts.flatten(), "role"))
    return roles.take(pc.if_else(pc.equal(lengths, 0), pa.scalar(None, pa.int64()), ends))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(turns: Any) -> list[Mapping[str, Any]]:
    return [turn for turn in turns or () if isinstance(turn, Mapping)]


def _is_dialogue(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and set(value) <= set(_SECTIONS)


def _dialogues(template: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the dialogues of a template with their paths: the template itself, or those of its labels."""
    if isinstance(template, Mapping) and "template" in template:
        template, path = template["template"], f"{path}.template"
    if _is_dialogue(template):
        yield path, template
    elif isinstance(template, Mapping):
        yield from ((f"{path}.{label}", value) for label, value in template.items() if _is_dialogue(value))


def _is_first(template: Any, dialogues: list[tuple[str, Mapping[str, Any]]]) -> bool:
    """Return true if the first label of a label map, which generation renders, has a dialogue."""
    if isinstance(template, Mapping) and "template" in template:
        template = template["template"]
    if not dialogues or not isinstance(template, Mapping):
        return False
    first = next(iter(template.values()), None)
    return dialogues[0][1] is template or dialogues[0][1] is first


class Notes(ConfiguredCheck):
    """The notes of the renderer."""

    codes = tuple(NOTES)

    def findings(self) -> Iterator[Finding]:
        for note in find_notes(self._subject.engine.configuration, self._subject.schema, None):
            if note.code not in _BY_ROWS:
                severity = cast("Severity", note.severity)
                yield Finding(note.code, severity, f"{note.place}: {note.message}", note.remedy)


class UnknownOrigins(Check):
    """Rows of which no check knows the columns that they show."""

    codes = ("unknown_origins",)
    reads_columns = True

    @classmethod
    def applies_to(cls, subject: Subject) -> bool:
        return isinstance(subject, TemplateSubject)

    def add(self, batch: Batch) -> None:
        self._rows.add(batch.row_numbers(batch.unknown_rows))

    def findings(self) -> Iterator[Finding]:
        message = "it isn't known which columns the text shows, so all that the template reads count as shown"
        yield finding_of("unknown_origins", message, self._rows)


class UnusedColumns(ConfiguredCheck):
    """Input columns that no template shows."""

    codes = ("unused_column",)

    def findings(self) -> Iterator[Finding]:
        subject = self._subject
        used = {
            *subject.template_columns,
            *subject.example_columns,
            subject.core.index_column,
            subject.core.label_column,
            subject.output_column,
        }
        for name in subject.input_columns:
            if name in subject.schema.names and name not in used:
                message = f"the reader reads column {name!r}, and no template shows it"
                yield finding_of("unused_column", message, column=name)
