"""The codes of findings, with their severities, meanings and remedies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from promptpress.engine.errors import did_you_mean

from promptpress_workbench.prompts.failed_rows import REMEDY

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The severities, the most serious first."""


@dataclass(frozen=True)
class Code:
    """A kind of finding: its severity, what is true of the rows that it lists, and what to do."""

    severity: Severity
    meaning: str
    remedy: str


_error, _warning, _info = (partial(Code, severity) for severity in SEVERITIES)

CODES: dict[str, Code] = {
    # answers
    "answer_in_prompt": _error(
        "the answer itself is filled into its own prompt, by a placeholder of the output column that nothing masks",
        "leave the placeholder out of the template, or out of the data",
    ),
    "answer_in_value": _warning(
        "the text of the answer stands in another column's value, word by word, in fewer than half of the rows",
        "look whether the question gives the answer away; clean these rows, or allow the finding",
    ),
    "answer_by_design": _info(
        "the text of the answer stands in the prompt as one of its options, in a passage that most rows have it in, "
        "as the name of a class, or in the template",
        "nothing, if the task is to choose or to find it",
    ),
    "answer_in_example": _info(
        "the text of the answer stands in an example of the prompt, and in none of the sample's own columns",
        "look whether the example is the sample in other words",
    ),
    # examples
    "own_example_row": _error(
        "the sample is one of its own examples: the same row of the same table, answer and all",
        "give the train split as examples, or leave these rows out of the samples",
    ),
    "own_example_equal": _error(
        "one of the sample's examples has the same values in all columns that templates show",
        "leave the row out of the examples, or out of the samples",
    ),
    "own_example_alike": _warning(
        "one of the sample's examples has the same values but for case, spaces and punctuation",
        "leave the row out of the examples, or out of the samples",
    ),
    # values that are treated as something else
    "placeholder_filled": _error(
        "braces in a value are taken for a placeholder of the template, and change the prompt",
        "substitution=\"single_pass\" leaves values alone, where the harness's bytes needn't be kept",
    ),
    "placeholder_in_value": _info(
        "a value has a column's placeholder in it, which changes no prompt",
        "nothing, unless the template is to be changed",
    ),
    "unfilled_value": _info(
        "a value has a name in braces as templates have it, such as {question}, that is no column's",
        "look whether the data were made by a template; text about templates or code may well have it",
    ),
    "template_token_removed": _error(
        "a value has the template's ice_token or sep_token in it, and comes out otherwise in the prompt",
        "take another token, one that no value has",
    ),
    "template_token_in_value": _info(
        "a value has the template's ice_token or sep_token in it, and is in the prompt as it stands",
        "take another token, one that no value has",
    ),
    "media_tag": _error(
        "a value brings in a media tag of AISBench, or lacks its end, so that parts come out otherwise than marked",
        "escape the tag in the data",
    ),
    "untagged_text": _warning(
        "text stands outside every media tag of AISBench, and vanishes",
        "put it within <AIS_TEXT_START> and <AIS_CONTENT_TAG>",
    ),
    "media_tag_in_value": _info(
        "a value has a media tag of AISBench in it, which this template doesn't read",
        "nothing, unless the dialogue is meant to have media",
    ),
    "special_token": _error(
        "a value has a token in it that steers the model: of the meta template, the chat template or the tokenizer",
        "remove or escape it, or have the tokenizer split special tokens in data",
    ),
    "likely_special_token": _warning(
        "a value has a text in it that is a control token of well-known models",
        "remove or escape it, if the model has it; tokenizer= says which tokens it has",
    ),
    "arguments_encoded_twice": _warning(
        "the arguments of a tool call are a JSON text, which the template writes as JSON once more: in quotes, escaped",
        "decode_arguments=True (--decode-arguments) decodes them once; where that isn't enough, mend the data",
    ),
    "null_value": _warning(
        "a value that the prompt shows is null, which comes out as the word None",
        "fill the nulls, or leave the rows out",
    ),
    # characters
    "control_character": _warning(
        "a value has a control character in it, other than tab, line feed and carriage return",
        "remove it: it is most often left over from a conversion",
    ),
    "bidi_character": _warning(
        "a value has a character in it that changes the direction of what follows, so that it doesn't read as it is",
        "remove it, unless the text is of right-to-left script and needs it",
    ),
    "mixed_line_ends": _info(
        "a value has line ends of more than one kind, such as those of Unix and of Windows",
        "make them one kind",
    ),
    "invisible_character": _info(
        "a value has an invisible character in it, such as a zero-width space",
        "remove it, unless the script needs it",
    ),
    "replacement_character": _warning(
        "a value has U+FFFD in it, which stands where text was decoded wrongly",
        "read the source again, with its right encoding",
    ),
    "byte_order_mark": _warning(
        "a value has a byte order mark in it, left over from a file",
        "remove it; reading the file as utf-8-sig does",
    ),
    # requests
    "unrenderable_row": _error(
        "the row can't be rendered, and is left out of all other checks; each kind of error is a finding",
        REMEDY,
    ),
    "empty_prompt": _error("the prompt has no text, or white space alone", "leave the rows out, or fill them"),
    "equal_prompts": _warning(
        "prompts are equal, and their samples have other answers",
        "show what tells the samples apart, or settle which answer is right",
    ),
    "duplicate_samples": _info(
        "prompts are equal, and so are the answers of their samples",
        "nothing, or leave the repeated rows out: each counts twice",
    ),
    "equal_labels": _error(
        "two labels of one sample have equal prompts, so that nothing tells them apart",
        "show the label in the template, or mend the row whose options are the same",
    ),
    "prompt_too_long": _error("the prompt is longer than the limit", "shorten it, or show fewer examples"),
    "prompt_too_many_tokens": _error("the prompt has more tokens than the limit", "shorten it, or show fewer examples"),
    "prompt_truncated": _warning(
        "the prompt has more tokens than max_seq_len leaves, even without examples, so the model cuts it",
        "shorten it, or take a model of a longer context",
    ),
    "examples_left_out": _info(
        "examples are left out so that the prompt fits max_seq_len",
        "nothing; fewer or shorter examples would give all samples the same number",
    ),
    # roles and tokens around the text
    "unknown_role": _warning(
        "a turn's role is none of the meta template's, and has no fallback_role: generation never reaches it",
        "name a role that the meta template has, or give a fallback_role",
    ),
    "lost_turn": _error(
        "a turn within round has a role that only reserved_roles has, and its text is in no message",
        "put the turn into begin, or leave the role out of reserved_roles, so that its fallback_role speaks",
    ),
    "dropped_string": _warning(
        "a string among a dialogue's turns isn't in the messages: API models get turns alone",
        "make it a turn of some role",
    ),
    "generating_role_not_last": _warning(
        "something stands after the turn in which the model is to speak, and so isn't in the prompt",
        "put it before the model's turn, or leave it out",
    ),
    "ends_with_model": _warning(
        "the last message is the model's own, so that it has to go on with it rather than to answer",
        "leave the message out, or allow the finding where the model is to continue it",
    ),
    "double_bos": _error(
        "the prompt begins with the token of a text's begin twice",
        "leave it out of the meta template's begin, or of the chat template",
    ),
    "bos_beside_tokenizer": _warning(
        "the prompt begins with the token that the tokenizer puts before each text by itself",
        "have it tokenised with add_special_tokens=False, or leave the token out",
    ),
    # tokens
    "unknown_mask": _error(
        "it isn't known which tokens of the prompt are trained, so tokenize refuses the row",
        "leave the row out, or take a template that writes what assistants say as it is",
    ),
    "empty_mask": _warning(
        "no token of the prompt is trained: the assistant says nothing in it, or no generation block is reached",
        "leave the row out of the training data",
    ),
    "untrained_stop": _warning(
        "what is trained of a turn doesn't end with the token that ends the turn, so a model doesn't learn to stop",
        'take mask="assistant+end", or put the token into the generation block',
    ),
    "changing_prefix": _warning(
        "the chat template renders the beginning of a conversation otherwise once the conversation goes on, so what is "
        "trained isn't what is served",
        'write a row for each turn (turns="each"), or take a template that keeps turns',
    ),
    "straddling_token": _info(
        "a token holds text of the template and of data, so that the data decide how the template's text is encoded",
        "nothing, if the model is used to it; a template with a line feed or a control token there has no such token",
    ),
    # what a chat template leaves out
    "message_left_out": _error(
        "the chat template leaves out what a message says: no byte of it is in the prompt",
        "leave these rows out, rename the role by roles=, or take a template that writes such messages",
    ),
    "tool_call_left_out": _error(
        "the chat template leaves out an assistant's call of a tool",
        "take a template that writes calls, also those next to a text, or leave these rows out",
    ),
    "tools_left_out": _error(
        "the chat template leaves out the tools that it is given",
        "take a template that reads tools, or give none",
    ),
    "documents_left_out": _error(
        "the chat template leaves out the documents that it is given",
        "take a template that reads documents, or put them into a message",
    ),
    "bos_missing": _warning(
        "the chat template writes bos_token, which nothing gives, so that the prompt lacks it",
        "give bos_token=, or ChatTemplate.from_tokenizer a folder that has it",
    ),
    "reasoning_left_out": _info(
        "the chat template leaves out an assistant's reasoning, as many do of earlier turns",
        "nothing, if the model is served so",
    ),
    "name_left_out": _info("the chat template leaves out the name of who speaks", "nothing, unless names matter"),
    "role_unknown_to_template": _info(
        "the chat template leaves out messages of a role that it never names",
        'rename it: roles={"developer": "system"}',
    ),
    # columns
    "unused_column": _info(
        "the reader names an input column that no template shows",
        "show it, or leave it out of input_columns",
    ),
    # templates
    "unknown_origins": _info(
        "it isn't known which columns a row of a Jinja template shows",
        "nothing; findings about values of these rows may be about values that the text doesn't show",
    ),
}
"""Findings about samples and their requests."""

NOTES: dict[str, str] = {
    "chosen_samples": "samples hold rows of a fixed choice of examples",
    "doubled_braces": "a placeholder stands in double braces",
    "dropped_text": "a string among raw messages vanishes",
    "empty_template": "the template has no text",
    "example_column": "a template of examples names a column that the examples lack",
    "examples_nowhere": "examples are chosen, and have no place in the template",
    "first_label_only": "of a label map only the first label is rendered",
    "label_like_key": "a key is taken for a label, and is likely none",
    "latex_placeholder": "a column is filled in right after a command of LaTeX",
    "messages_as_text": "a text shows a column of messages as Python prints it",
    "missing_expand_column": "a column that is to give messages isn't there",
    "missing_input_column": "the samples lack an input column",
    "missing_output_column": "the samples lack the output column",
    "no_column": "the template shows no column",
    "no_retriever": "examples and a template for them are given, and nothing chooses any",
    "nobody_generates": "no role generates, and the turn of the answer is in every prompt, empty",
    "placeholder_format": "a placeholder is written as another language does",
    "roles_left_out": "no meta template says what roles are called, so all turns are one message",
    "round_without_list": "a round is a dict where a list of turns belongs",
    "same_table": "the examples are the samples' own table",
    "texts_as_turns": "a conversation's columns hold texts, not lists of texts",
    "turn_without_text": "a turn says nothing",
    "unclosed_brace": "a brace before a column's name isn't closed",
    "unfilled_placeholder": "a placeholder stands where nothing is filled in",
    "unknown_inferencer": "no harness has such an inferencer",
    "unknown_placeholder": "a placeholder names no column",
    "unmasked_output_column": "the answer stands in a template that nothing masks",
    "unread_key": "a key of the configuration is read by nobody",
}
"""Findings about the configuration and the columns alone: the notes of `Renderer.notes`, with their severities."""

ALL_CODES = frozenset({*CODES, *NOTES})
"""The codes of all findings."""


class Limit(NamedTuple):
    """A limit that a user may set: the code of the finding beyond it, and the help of its option."""

    code: str
    help: str
    needs_tokenizer: bool = False


LIMITS = {
    "bytes": Limit("prompt_too_long", "report prompts with more bytes"),
    "tokens": Limit("prompt_too_many_tokens", "report prompts with more tokens of --tokenizer", needs_tokenizer=True),
}
"""The limits by the names of `limits=`, whose options are `--max-bytes` and so on."""


_SUPERSEDED = {
    # This note says the same about the template.
    "unmasked_output_column": ("answer_in_prompt",),
    # It follows if samples are their own examples.
    "answer_in_example": ("own_example_row", "own_example_equal", "own_example_alike"),
}
"""Codes of findings that others make superfluous, by the codes of these others."""


def with_superseding(codes: frozenset[str]) -> frozenset[str]:
    """Return the codes with those that decide whether their findings are listed."""
    return codes.union(*(_SUPERSEDED.get(code, ()) for code in codes))


def known_codes(codes: Iterable[str], argument: str = "allow") -> frozenset[str]:
    """Check and return codes of findings that a user gives by an argument."""
    if isinstance(codes, str):
        raise TypeError(f"{argument}: expected a list of codes, found one text; write [{codes!r}]")
    given = list(codes)
    for code in given:
        if not isinstance(code, str):
            raise TypeError(f"{argument}: expected codes of findings, found a {type(code).__name__}")
        if code not in ALL_CODES:
            hint = did_you_mean(code, [*CODES, *NOTES]) or "; docs/audit.md lists them"
            raise ValueError(f"{argument}: there is no finding {code!r}{hint}")
    return frozenset(given)
