"""A prompt with `str.format` fields, cut into pieces, as arguments of `Renderer` or the source of a Jinja template."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from promptpress import ConfigError
from promptpress.engine import as_table
from promptpress.engine.configs import CHAT_ROLES
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
    """A part of a template: literal text, or the name of a field.

    Args:
        text: The literal text, or the field's name.
        is_field: True for a field.

    """

    text: str
    is_field: bool = False


def pieces_of(template: str, location: str) -> tuple[Piece, ...]:
    """Cut a template of `str.format` into its pieces.

    Args:
        template: The template.
        location: The file and the key of the template, for errors.

    Raises:
        ConfigError: If `str.format` can't read the template, or a field asks for more than the text of a column.

    >>> pieces_of("{{{q}}}", "a.json: template")
    (Piece(text='{', is_field=False), Piece(text='q', is_field=True), Piece(text='}', is_field=False))

    """
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
    """The text of examples: each is the filled template, between a prefix and a suffix.

    Args:
        prefix: The text before the examples.
        template: The pieces of an example.
        suffix: The text after the examples.

    """

    prefix: str
    template: tuple[Piece, ...]
    suffix: str

    def text(self, examples: TableLike, path: str) -> str:
        """Return the text of examples; it is empty if that of each example is.

        Args:
            examples: The rows of the examples, in their order.
            path: The file, for errors.

        Raises:
            ConfigError: If the examples lack a column.

        """
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
    """A prompt of a user's message, with fields that the columns of a row fill, and maybe a system message.

    Args:
        path: The file, for errors.
        pieces: The user's message.
        system: The system message, which has no fields.
        has_choices: True if `{choices}` and `{letters}` are made of a list of choices.
        few_shot: The examples that stand in the place of the field `examples`.

    """

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

        Args:
            examples: The rows of the examples, if there are any.

        Raises:
            ConfigError: If there is a system message, or no place for examples.

        >>> print(FormatPrompt("a.json", (Piece("{"), Piece("q", is_field=True), Piece("}"))).jinja_source())
        {{ '{' }}{{ q }}}

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
