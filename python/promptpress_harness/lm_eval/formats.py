"""The `formats` of lm-evaluation-harness 0.5: layouts of prompts, which make templates of a task's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptpress.engine.errors import close_names, template_error

SELECTION = "_formats_selection"
"""The key under which the harness keeps the format that a command selects."""

_PLAIN = {
    "instruction": None,
    "question_prefix": "Question: ",
    "choice_labels": "letters",
    "choice_delimiter": "\n",
    "section_separator": "\n",
    "answer_instruction": None,
    "gen_prefix": None,
    "fewshot_delimiter": "\n\n",
    "scorer": None,
}
_MCQA = {**_PLAIN, "output_type": "multiple_choice", "answer_prompt": "Answer:", "target_delimiter": " "}
_GENERATE = {
    **_PLAIN,
    "output_type": "generate_until",
    "instruction": (
        "Given the following question and {{ _num_choices }} candidate answers ({{ _choice_list_and }}), "
        "choose the best answer.\n"
    ),
    "answer_prompt": (
        'Your response should end with "The best answer is [answer_letter]" '
        "where the [answer_letter] is one of {{ _choice_list_or }}."
    ),
    "gen_prefix": "The best answer is",
    "target_delimiter": "\n",
    "scorer": "first_token",
}
_COT = {
    **_GENERATE,
    "instruction": "Given the following problem, reason step by step to find the final answer.\n",
    "question_prefix": "Problem: ",
    "choice_labels": None,
    "answer_prompt": (
        'Your response should end with "The final answer is [answer]" where [answer] is the response to the problem.'
    ),
    "gen_prefix": None,
}
_FORMATS: dict[str, dict[str, Any]] = {
    "cloze": {**_MCQA, "choice_labels": None},
    "cot": _COT,
    "generate": _GENERATE,
    "mcqa": _MCQA,
}
"""The formats with the values of their settings, in the harness's wording."""

_TEXTS = ("choice_delimiter", "section_separator", "answer_prompt", "target_delimiter", "fewshot_delimiter")
_OPTIONAL_TEXTS = ("instruction", "question_prefix", "answer_instruction", "gen_prefix")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VARIABLES = ("_num_choices", "_choice_labels", "_choice_list_and", "_choice_list_or")


def has_formats(task: Mapping[str, Any]) -> bool:
    """Return true if a task has a format: under `formats`, or as `@FORMAT` at the end of its name."""
    return task.get("formats") is not None or _selection(task) is not None


def _selection(task: Mapping[str, Any]) -> str | None:
    """Return the name of the selected format: what `TASK@FORMAT` in a command selects, or the task's own name."""
    selection, name = task.get(SELECTION), task.get("task")
    if selection is None and isinstance(name, str) and "@" in name:
        selection = name.rsplit("@", 1)[1]
    return selection


def with_formats(task: Mapping[str, Any]) -> dict[str, Any]:
    r"""Return a task with the settings that its format makes; the fields' names and templates become parts of these."""
    selection, spec = _selection(task), task.get("formats")
    settings = _settings(selection if spec is None else spec, selection)
    if settings["output_type"] not in ("multiple_choice", "generate_until"):
        message = f"a format makes requests of choices or of generated texts; found {settings['output_type']!r:.80}"
        raise template_error("unsupported_class", "formats.output_type", message)
    text, target, choices = (task.get(f"doc_to_{field}") for field in ("text", "target", "choice"))
    question, _ = _references("doc_to_text", "question" if text is None else text)
    answer, number = _references("doc_to_target", "answer" if target is None else target)
    choices = str(choices) if isinstance(choices, list) else choices
    listed = _references("doc_to_choice", choices)[1] if choices else None
    made: dict[str, Any] = {
        "doc_to_text": _text(settings, question, listed),
        "doc_to_target": _target(settings, answer, number, listed),
        "doc_to_choice": None if listed is None else f"{{{{ {_labels(settings, listed)} }}}}",
        **{key: settings[key] for key in ("output_type", "target_delimiter", "fewshot_delimiter")},
    }
    if settings["gen_prefix"] is not None:
        made["gen_prefix"] = settings["gen_prefix"]
    return {**task, **made}


def _settings(spec: Any, selection: str | None) -> dict[str, Any]:
    """Return the settings of a format."""
    if isinstance(spec, str):
        if spec not in _FORMATS:
            raise _unknown("formats", spec, _FORMATS, "ValueError: there is no format of this name")
        return _FORMATS[spec]
    if not isinstance(spec, Mapping) or not spec:
        message = f"expected a format's name or settings; found {spec!r:.80}"
        raise template_error("wrong_type", "formats", message)
    if "type" not in spec:
        name = next(iter(spec)) if selection is None else selection
        if name not in spec:
            raise _unknown("formats", name, spec, "ValueError: the task has no format of this name")
        if isinstance(spec[name], str):
            return _settings(spec[name], None)
        written = {} if spec[name] is None else spec[name]
        if not isinstance(written, Mapping):
            raise template_error("wrong_type", f"formats.{name}", f"expected settings; found {written!r:.80}")
        return _settings({"type": name, **written}, None)
    written = {key: value for key, value in spec.items() if key != "type"}
    settings = dict(_settings(str(spec["type"]), None))
    for key, value in written.items():
        if key not in settings:
            raise _unknown(f"formats.{key}", key, settings, "TypeError: no format has this setting")
        is_text = isinstance(value, str) or (value is None and key in _OPTIONAL_TEXTS)
        if key in (*_TEXTS, *_OPTIONAL_TEXTS) and not is_text:
            raise template_error("wrong_type", f"formats.{key}", f"expected a string; found {value!r:.80}")
    return {**settings, **written}


def _unknown(location: str, name: Any, names: Mapping[str, Any], message: str) -> Exception:
    close = close_names(str(name), names)
    suggestion = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(names))}"
    return template_error("unknown_name", location, f"{message}: {name!r}; {suggestion}")


def _references(key: str, field: Any) -> tuple[str, str]:
    """Return a field as the template that prints it, and as the expression of what is printed."""
    if isinstance(field, int) and key != "doc_to_choice":
        field = f"{{{{{field}}}}}"
    if not isinstance(field, str):
        raise template_error("wrong_type", key, f"a format needs a field's name or a template; found {field!r:.80}")
    if "{{" not in field:
        return f"{{{{{field}}}}}", field
    inner = field.replace("{{", "").replace("}}", "").strip()
    return field.strip(), inner if inner.isidentifier() else f"({inner})"


def _label(settings: Mapping[str, Any], index: str) -> str:
    """Return the expression of the label of a choice; `index` is the expression of the choice's number."""
    labels = settings["choice_labels"]
    if labels == "numbers":
        return f"{index} + 1"
    if labels == "letters":
        return f"{_LETTERS!r}[{index}]"
    return f"{labels!r}[{index}]" if isinstance(labels, list) else "''"


def _labels(settings: Mapping[str, Any], choices: str, count: str | None = None) -> str:
    """Return the expression of the labels of all choices, or of the choices themselves if they have no labels."""
    labels, count = settings["choice_labels"], count or f"{choices}|length"
    if not labels:
        return choices
    if labels == "letters":
        return f"{_LETTERS!r}[:{count}]|list"
    if labels == "numbers":
        return f"range(1, {count} + 1)|list"
    return f"{labels!r}[:{count}]" if isinstance(labels, list) else "''"


def _text(settings: Mapping[str, Any], question: str, choices: str | None) -> str:
    """Return the template of a question: instruction, question, choices with labels, and what asks for the answer."""
    separator = settings["section_separator"]
    parts = [settings["instruction"], settings["question_prefix"], question]
    has_labels = bool(settings["choice_labels"] and choices)
    if has_labels:
        between = f"{{% if not loop.last %}}{settings['choice_delimiter']}{{% endif %}}"
        line = f"{{{{ {_label(settings, 'loop.index0')} }}}}. {{{{ choice }}}}{between}"
        parts += [separator, f"{{% for choice in {choices} %}}{line}{{% endfor %}}"]
    parts += [separator, settings["answer_instruction"], settings["answer_prompt"]]
    template = "".join([part for part in parts if part])
    if choices and has_labels and any(name in template for name in _VARIABLES):
        return _variables(settings, choices) + template
    return template


def _variables(settings: Mapping[str, Any], choices: str) -> str:
    """Return the part of a template that sets the variables of choices."""
    values = {
        "_num_choices": f"{choices}|length",
        "_choice_labels": _labels(settings, choices, "_num_choices"),
        **{
            f"_choice_list_{word}": f"_choice_labels[:-1]|join(', ') ~ ' {word} ' ~ _choice_labels[-1]|string"
            for word in ("and", "or")
        },
    }
    return "".join([f"{{% set {name} = {value} %}}" for name, value in values.items()])


def _target(settings: Mapping[str, Any], answer: str, number: str, choices: str | None) -> str:
    """Return the template of a target: the number of a choice, or the label or text that is generated."""
    if settings["output_type"] == "multiple_choice":
        if choices is None:
            message = "ValueError: a format whose requests are choices needs them; there is no doc_to_choice"
            raise template_error("missing_key", "doc_to_choice", message)
        return f"{{% if {number} is number %}}{answer}{{% else %}}{{{{ {choices}.index({number}) }}}}{{% endif %}}"
    if settings["output_type"] != "generate_until":
        return answer
    if settings["choice_labels"] in ("letters", "numbers"):
        text = _label(settings, number)
    elif choices is not None:
        text = f"{choices}[{number}]"
    else:
        return answer
    return f"{{% if {number} is number %}}{{{{ {text} }}}}{{% else %}}{answer}{{% endif %}}"
