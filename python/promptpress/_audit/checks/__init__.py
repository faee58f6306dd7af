"""The checks, a file for each concern."""

from promptpress._audit.checks.answers import Answers
from promptpress._audit.checks.bos import DoubleBos
from promptpress._audit.checks.characters import OddCharacters
from promptpress._audit.checks.check import Check
from promptpress._audit.checks.examples import OwnExamples
from promptpress._audit.checks.lengths import Lengths
from promptpress._audit.checks.notes import Notes, UnusedColumns
from promptpress._audit.checks.nulls import Nulls
from promptpress._audit.checks.placeholders import Placeholders
from promptpress._audit.checks.requests import EmptyPrompts, EqualLabels, EqualPrompts
from promptpress._audit.checks.roles import LastRole, Roles
from promptpress._audit.checks.special_tokens import SpecialTokens
from promptpress._audit.checks.template_tokens import MediaTags, TemplateTokens

CHECKS: tuple[type[Check], ...] = (
    *(OwnExamples, Answers, Placeholders, TemplateTokens, MediaTags, SpecialTokens),
    *(EmptyPrompts, EqualPrompts, EqualLabels, Lengths, DoubleBos, LastRole, Roles),
    *(Nulls, OddCharacters, Notes, UnusedColumns),
)
"""Every check, in the order in which findings of one severity are told."""
