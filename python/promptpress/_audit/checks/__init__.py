"""The checks, a file for each concern."""

from promptpress._audit.checks.answers import Answers
from promptpress._audit.checks.budgets import Budgets
from promptpress._audit.checks.check import Check, ConfiguredCheck
from promptpress._audit.checks.examples import OwnExamples
from promptpress._audit.checks.growing_chats import GrowingChats
from promptpress._audit.checks.notes import Notes, UnknownOrigins, UnusedColumns
from promptpress._audit.checks.placeholders import Placeholders
from promptpress._audit.checks.requests import EmptyPrompts, EqualLabels, EqualPrompts, Lengths
from promptpress._audit.checks.roles import LastRole, Roles
from promptpress._audit.checks.special_tokens import DoubleBos, SpecialTokens
from promptpress._audit.checks.template_tokens import MediaTags, TemplateTokens
from promptpress._audit.checks.tokens import TokenBorders, TrainedTokens
from promptpress._audit.checks.values import Nulls, OddCharacters

CHECKS: tuple[type[Check | ConfiguredCheck], ...] = (
    *(OwnExamples, Answers, Placeholders, TemplateTokens, MediaTags, SpecialTokens),
    *(EmptyPrompts, EqualPrompts, EqualLabels, Lengths, Budgets, DoubleBos, LastRole, Roles),
    *(TrainedTokens, GrowingChats, TokenBorders),
    *(Nulls, OddCharacters, Notes, UnusedColumns, UnknownOrigins),
)
"""Every check, in the order in which findings of equal severity are listed."""
