"""Configuration dicts for tools: models and their classes, the short form, and paths of files."""

from promptpress._config.configuration import label_or_text
from promptpress._config.from_harness import (
    CHAT_INFERENCERS,
    INFERENCER_MODES,
    dialect_of,
    find_model_class,
    inform_of_max_seq_len,
    last_part,
    renderer_arguments,
)
from promptpress._config.settings import (
    CHAT_ROLES,
    HARNESS_WORDS,
    SHORT_WORDS,
    follows_harness,
    names_of_settings,
    short_form_of,
)
from promptpress._errors.file_errors import CODECS, STDIN, is_remote, missing, split_codec

__all__ = [
    "CHAT_INFERENCERS",
    "CHAT_ROLES",
    "CODECS",
    "HARNESS_WORDS",
    "INFERENCER_MODES",
    "SHORT_WORDS",
    "STDIN",
    "dialect_of",
    "find_model_class",
    "follows_harness",
    "inform_of_max_seq_len",
    "is_remote",
    "label_or_text",
    "last_part",
    "missing",
    "names_of_settings",
    "renderer_arguments",
    "short_form_of",
    "split_codec",
]
