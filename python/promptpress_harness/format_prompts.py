"""Prompts with `str.format` fields, from files of EvalScope and NeMo-Skills, as arguments of `Renderer` or as Jinja.

Benchmark files of EvalScope (`benchmarks/_meta/*.json`) have templates, a system prompt and one rendered sample.
EvalScope fills such a template by one of two rules. A question is filled into `{question}`. A multiple-choice question
also has `{choices}`, a line `A) ...` for each choice, and `{letters}`, which is `A,B,C`. Other fields are filled by the
benchmark's own code; their texts are columns here. The file doesn't say which code the benchmark has, so its sample
has to show that nothing else is done: each literal text of the template stands in it where it belongs.

Prompt files of NeMo-Skills (`prompt/config/**/*.yaml`) have `user`, `system` and `few_shot_examples`. `user` is filled
by `str.format` with the columns of a row and with `examples`: the filled `template` of each example between `prefix`
and `suffix`, or nothing if there are no examples. `system` is a message as it stands.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any, NamedTuple

from promptpress import ConfigError
from promptpress.engine import as_table
from promptpress.engine.configs import CHAT_ROLES
from promptpress.engine.errors import Choice, did_you_mean
from promptpress.engine.tables import OF_HARNESS, rows_of
from promptpress.typing import TableLike

CHOICES, LETTERS = "choices", "letters"
"""The fields of a multiple-choice question: a line for each choice, and the letters of all."""

EXAMPLES = "examples"
"""The field in whose place the examples of a `FewShot` stand."""

_ARGUMENTS = frozenset({
    *("output", "roles", "strings", "names", "limits", "refuse", "chat_template"),
    *("tokenizer", "max_seq_len", "fit", "reserve", "fit_labels"),
})  # fmt: skip
"""Arguments of `Renderer` that don't change how the fields of a prompt are filled."""

_LETTER = f"{{{{ '{string.ascii_uppercase}'[loop.index0] if loop.index0 < 26 else loop.index0 - 25 }}}}"
_IN_JINJA = {
    LETTERS: f"{{% for _ in {CHOICES} %}}{_LETTER}{{% if not loop.last %}},{{% endif %}}{{% endfor %}}",
    CHOICES: (
        f"{{% for choice in {CHOICES} %}}{_LETTER}) {{{{ choice }}}}"
        "{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}"
    ),
}
_JINJA_NAMES = frozenset({
    *("and", "elif", "else", "false", "False", "if", "in", "is", "none", "None", "not", "or", "true", "True"),
    *("cycler", "dict", "joiner", "lipsum", "loop", "namespace", "range", "self"),
})  # fmt: skip
"""Words with a meaning of their own in a Jinja expression."""

# A text would be taken for a list of its characters, a struct for one of its fields. The missing attribute makes such a
# row an error.
_IS_NO_LIST = f"{CHOICES} is string or {CHOICES} is mapping"
_LIST_CHECK = f"{{% if {_IS_NO_LIST} %}}{{{{ {CHOICES}.a_list_of_choices_is_needed }}}}{{% endif %}}"


class Piece(NamedTuple):
    """A part of a template: literal text, or the name of a field."""

    text: str
    is_field: bool = False


def pieces_of(template: str, location: str) -> tuple[Piece, ...]:
    """Cut a template of `str.format` into its pieces."""
    pieces: list[Piece] = []
    try:
        parsed = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ConfigError(f"{location}: str.format can't read it: {error}") from None
    for literal, field, spec, conversion in parsed:
        pieces.append(Piece(literal))
        if field is None:
            continue
        if spec or conversion or not field or field.isdigit() or {".", "["} & set(field):
            field_text = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            message = f"{{{field_text}}}: a field is the bare name of a column; give the column the form that is meant"
            raise ConfigError(f"{location}: {message}")
        pieces.append(Piece(field, is_field=True))
    return merged(pieces)


def merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join literal texts that follow one another, and leave out empty ones."""
    result: list[Piece] = []
    for piece in pieces:
        if result and not piece.is_field and not result[-1].is_field:
            result[-1] = Piece(result[-1].text + piece.text)
        elif piece.text:
            result.append(piece)
    return tuple(result)


@dataclass(frozen=True)
class FewShot:
    """The text of examples: each is the filled template, between a prefix and a suffix."""

    prefix: str
    template: tuple[Piece, ...]
    suffix: str

    def text(self, examples: TableLike, path: str) -> str:
        """Return the text of examples; it is empty if that of each example is."""
        table = as_table(examples, OF_HARNESS)
        for piece in self.template:
            if piece.is_field and piece.text not in table.column_names:
                has = ", ".join(map(repr, table.column_names))
                raise ConfigError(
                    f"{path}: few_shot_examples: the examples have no column {piece.text!r}; they have {has}"
                )
        rows = rows_of(table)
        filled = "".join(
            format(row[piece.text]) if piece.is_field else piece.text for row in rows for piece in self.template
        )
        return f"{self.prefix}{filled}{self.suffix}" if filled else ""


@dataclass(frozen=True)
class FormatPrompt:
    """A prompt of a user's message, with fields that the columns of a row fill, and maybe a system message."""

    path: str
    pieces: tuple[Piece, ...]
    system: str | None = None
    has_choices: bool = False
    few_shot: FewShot | None = None

    def arguments(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `Renderer`; refuse what only a Jinja template can write, and foreign overrides."""
        if self.has_choices:
            message = (
                f"{self.path}: {{{CHOICES}}} stands for a list in each row, which a Jinja template writes; "
                "JinjaTemplate.from_config reads this file"
            )
            raise ConfigError(message, for_command="so do the commands that take --jinja")
        examples = overrides.get(EXAMPLES)
        given = {name: value for name, value in overrides.items() if name != EXAMPLES and value is not None}
        for name in given:
            if name not in _ARGUMENTS:
                message = f"{self.path}: {name}: the file has templates of str.format, whose rules it would change"
                raise ConfigError(message)
        prompt = self.with_examples(examples)
        fields = list(dict.fromkeys(piece.text for piece in prompt.pieces if piece.is_field))
        tokens = dict(zip(fields, _tokens(fields, prompt), strict=True))
        text = "".join(tokens[piece.text] if piece.is_field else piece.text for piece in prompt.pieces)
        begin = [] if self.system is None else [{"role": "SYSTEM", "prompt": self.system}]
        dialogue = {**({"begin": begin} if begin else {}), "round": [{"role": "HUMAN", "prompt": text}]}
        template = {"type": "PromptTemplate", "template": dialogue, "column_token_map": tokens}
        return {
            "prompt_template": template,
            "meta_template": CHAT_ROLES,
            # Its templates name their own tokens for columns, so braces are text, and an absent column is an error.
            "dialect": "meta_prompt_design",
            "substitution": "single_pass",
            **({} if "chat_template" in given else {"output": "openai"}),
            **given,
        }

    def jinja_source(self, examples: TableLike | None = None) -> str:
        """Return the source of a Jinja template that writes the user's message.

        It is for an environment in which undefined variables are errors, as that of lm-eval.
        """
        if self.system is not None:
            raise ConfigError(f"{self.path}: has a system message, so its prompts are messages; Renderer makes them")
        parts = [_LIST_CHECK] if self.has_choices else []
        for piece in self.with_examples(examples).pieces:
            if not piece.is_field:
                # Jinja reads a brace as the beginning of a tag, and changes how lines end.
                parts.append(re.sub(r"[{\r]", lambda match: f"{{{{ {match[0]!r} }}}}", piece.text))
            elif self.has_choices and piece.text in _IN_JINJA:
                parts.append(_IN_JINJA[piece.text])
            elif piece.text.isidentifier() and piece.text not in _JINJA_NAMES:
                parts.append(f"{{{{ {piece.text} }}}}")
            else:
                raise ConfigError(f"{self.path}: {{{piece.text}}}: not the name of a variable in Jinja")
        return "".join(parts)

    def with_examples(self, examples: TableLike | None) -> FormatPrompt:
        """Return the prompt with the text of examples in their place; refuse examples that have no place."""
        has_place = (
            self.few_shot is not None and self.few_shot.template and Piece(EXAMPLES, is_field=True) in self.pieces
        )
        if examples is not None and not has_place:
            raise ConfigError(f"{self.path}: has no place for the text of examples, so examples have no effect")
        if self.few_shot is None:
            return self
        text = "" if examples is None else self.few_shot.text(examples, self.path)
        filled = (Piece(text) if piece == Piece(EXAMPLES, is_field=True) else piece for piece in self.pieces)
        return replace(self, pieces=merged(filled), few_shot=None)


def _tokens(fields: list[str], prompt: FormatPrompt) -> list[str]:
    """Return a token for each field, in characters that the prompt doesn't use."""
    used = {*(prompt.system or ""), *(character for piece in prompt.pieces for character in piece.text)}
    unused = (chr(code) for code in range(0xE000, 0xF900) if chr(code) not in used)
    begin, end = next(unused), next(unused)
    return [f"{begin}{field}{end}" for field in fields]


_KEYS = ("user", "system", "few_shot_examples")
_TEXTS = ("prefix", "template", "suffix")
_BY_CODE = (
    *("examples_type", "retriever", "retrieval_field", "retrieval_file", "retrieved_entries", "retrieved_few_shots"),
    *("randomize_retrieved_entries", "max_retrieved_chars", "max_retrieved_chars_field"),
)
"""Keys of `few_shot_examples` that choose examples by NeMo-Skills' code or from its files."""


def nemo_skills_prompt(path: str, value: Mapping[str, Any]) -> FormatPrompt | None:
    """Return the prompt of a file of NeMo-Skills, or None for another; refuse examples that its code chooses."""
    if not isinstance(value.get("user"), str) or {"prompt_template", "ice_template", "template"} & set(value):
        return None
    _check_keys(path, value, _KEYS)
    system = value.get("system")
    if system is not None and not isinstance(system, str):
        raise ConfigError(f"{path}: system: expected a text, found a {type(system).__name__}")
    few_shot = _few_shot(path, value.get("few_shot_examples") or {})
    return FormatPrompt(path, pieces_of(value["user"], f"{path}: user"), system, few_shot=few_shot)


def _few_shot(path: str, value: Any) -> FewShot:
    location = f"{path}: few_shot_examples"
    if not isinstance(value, Mapping):
        raise ConfigError(f"{location}: expected a mapping, found a {type(value).__name__}")
    for key in _BY_CODE:
        if value.get(key) is not None:
            message = f"{location}.{key}: NeMo-Skills' code chooses the examples; leave it out of a copy of the file"
            raise ConfigError(message, Choice("examples", "brings the rows"), is_choice=False)
    _check_keys(location, value, (*_TEXTS, *_BY_CODE))
    for key in _TEXTS:
        if not isinstance(value.get(key, ""), str):
            raise ConfigError(f"{location}.{key}: expected a text, found a {type(value[key]).__name__}")
    prefix, template, suffix = (value.get(key, "") for key in _TEXTS)
    return FewShot(prefix, pieces_of(template, f"{location}.template"), suffix)


def _check_keys(location: str, value: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in value:
        if key not in keys:
            hint = did_you_mean(str(key), keys, 0.6) or f"; it may have {', '.join(keys)}"
            raise ConfigError(f"{location}: {key}: unknown{hint}")


_QUESTION, _EXAMPLES = "question", "fewshot"
_FEW_SHOT = "few_shot_prompt_template"
_CATEGORY = "llm"
_CHOSEN_BY_CODE = {"AGIEval": "the subset", "MMMLU": "the language"}
"""Benchmarks whose code chooses another template by the sample, and what it goes by; one sample can't show that."""

_CUT = re.compile(r" \.\.\. \[TRUNCATED(?: \d+ chars)?\] \.\.\. ")
"""The mark that stands for the middle of a long text."""


def evalscope_prompt(path: str, value: Mapping[str, Any]) -> FormatPrompt | None:
    """Return the prompt of a benchmark file of EvalScope, or None; refuse one that leaves the prompt uncertain."""
    meta = value.get("meta")
    if not isinstance(meta, Mapping) or "prompt_template" not in meta:
        return None
    if meta.get("category") != _CATEGORY:
        raise ConfigError(
            f"{path}: meta.category: {meta.get('category')!r}; only benchmarks of {_CATEGORY!r} are read, because "
            "EvalScope's code puts media and the turns of agents around the text of others"
        )
    key, template = _template(path, meta)
    pieces = pieces_of(template, f"{path}: meta.{key}")
    fields = {piece.text for piece in pieces if piece.is_field}
    if not fields:
        raise ConfigError(f"{path}: meta.{key}: has no field, so EvalScope's code makes the prompts of the samples")
    if _QUESTION not in fields and fields & {CHOICES, LETTERS}:
        raise ConfigError(f"{path}: meta.{key}: has {{{CHOICES}}} or {{{LETTERS}}}, but no {{{_QUESTION}}}")
    if key == _FEW_SHOT and _EXAMPLES not in fields:
        raise ConfigError(
            f"{path}: meta.{key}: has no {{{_EXAMPLES}}}, so EvalScope's code has another rule for examples"
        )
    if fields != {_QUESTION} and all(piece.is_field for piece in pieces):
        raise ConfigError(f"{path}: meta.{key}: has no text, so the sample can't show what stands for its fields")
    chosen_by = _CHOSEN_BY_CODE.get(str(meta.get("pretty_name")))
    if chosen_by is not None:
        raise ConfigError(f"{path}: meta.{key}: EvalScope's code takes another template by {chosen_by} of a sample")
    system = _text(path, meta, "system_prompt") or None
    prompt = FormatPrompt(path, pieces, system, has_choices=CHOICES in fields)
    _check_sample(prompt, value.get("sample_example"))
    return prompt


def _template(path: str, meta: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key and the text of the template: that with examples if the benchmark has some."""
    shots = meta.get("few_shot_num") or 0
    if not shots:
        template = _text(path, meta, "prompt_template")
        if template:
            return "prompt_template", template
        raise ConfigError(f"{path}: meta.prompt_template: is empty, because EvalScope's code makes the prompts")
    template = _text(path, meta, _FEW_SHOT)
    if template:
        return _FEW_SHOT, template
    raise ConfigError(
        f"{path}: meta.few_shot_num: {shots}, and {_FEW_SHOT} is empty, because EvalScope's code has the text around "
        f"the examples; write it there, with {{{_EXAMPLES}}} for the examples"
    )


def _text(path: str, meta: Mapping[str, Any], key: str) -> str:
    text = meta.get(key)
    if text is not None and not isinstance(text, str):
        raise ConfigError(f"{path}: meta.{key}: expected a text, found a {type(text).__name__}")
    return text or ""


def _check_sample(prompt: FormatPrompt, example: Any) -> None:
    """Raise a ConfigError if the file's sample isn't what the template gives."""
    location = f"{prompt.path}: sample_example"
    data = example.get("data") if isinstance(example, Mapping) else None
    messages = data.get("input") if isinstance(data, Mapping) else None
    if not isinstance(messages, list) or not messages:
        raise ConfigError(
            f"{location}: has no messages, which would show that EvalScope's code does no more than fill the template"
        )
    contents = [message.get("content") if isinstance(message, Mapping) else None for message in messages]
    if not all(isinstance(content, str) for content in contents):
        raise ConfigError(f"{location}: its contents are lists of parts, which EvalScope's code makes")
    user = _user_pieces(prompt, data.get("choices") if isinstance(data, Mapping) else None)
    if user is None:
        raise ConfigError(f"{location}: has no list of choices, so EvalScope's code makes the text of {{{CHOICES}}}")
    expected = [user] if prompt.system is None else [(Piece(prompt.system),), user]
    if len(contents) != len(expected):
        raise ConfigError(f"{location}: has {len(contents)} messages where the templates give {len(expected)}")
    if not all(_agrees(pieces, str(content)) for pieces, content in zip(expected, contents, strict=True)):
        raise ConfigError(f"{location}: isn't what the template gives, so EvalScope's code does more than fill it")


def _user_pieces(prompt: FormatPrompt, choices: Any) -> tuple[Piece, ...] | None:
    """Return the pieces of the user's message, with the texts of a sample's choices; None if it has no choices."""
    if not prompt.has_choices:
        return prompt.pieces
    if not isinstance(choices, list):
        return None
    lines: list[Piece] = []
    for number, (letter, choice) in enumerate(zip(_letters(choices), choices, strict=True)):
        head, *rest = _CUT.split(str(choice))
        lines.append(Piece(("\n" if number else "") + f"{letter}) {head}"))
        for tail in rest:
            lines += [Piece("choice", is_field=True), Piece(tail)]
    texts = {CHOICES: lines, LETTERS: [Piece(",".join(_letters(choices)))]}
    return merged(
        part for piece in prompt.pieces for part in (texts.get(piece.text, [piece]) if piece.is_field else [piece])
    )


def _letters(choices: Sequence[Any]) -> Iterator[str]:
    for number in range(len(choices)):
        yield ascii_uppercase[number] if number < len(ascii_uppercase) else str(number - len(ascii_uppercase) + 1)


def _agrees(pieces: Sequence[Piece], text: str) -> bool:
    """Return true if a text may be what the pieces give; of a cut text only its two ends are known."""
    first, last = ("" if piece.is_field else piece.text for piece in (pieces[0], pieces[-1]))
    if len(pieces) == 1:
        is_whole = pieces[0].is_field or text == first
    else:
        is_whole = _has_in_order(first, [piece.text for piece in pieces[1:-1] if not piece.is_field], last, text)
    if is_whole:
        return True
    ends = _CUT.split(text)
    if len(ends) != 2 or not all(ends):
        return False
    head, tail = ends
    begins = head.startswith(first) or (len(pieces) > 1 and first.startswith(head))
    return begins and (tail.endswith(last) or last.endswith(tail))


def _has_in_order(first: str, middle: Sequence[str], last: str, text: str) -> bool:
    """Return true if a text has others in order; a regular expression with as many gaps could take for ever."""
    position, end = len(first), len(text) - len(last)
    if position > end or not text.startswith(first) or not text.endswith(last):
        return False
    for literal in middle:
        start = text.find(literal, position, end)
        if start < 0:
            return False
        position = start + len(literal)
    return True
