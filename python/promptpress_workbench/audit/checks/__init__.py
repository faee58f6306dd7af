"""The checks, a file for each concern."""

from promptpress_workbench.audit.checks.answers import Answers
from promptpress_workbench.audit.checks.check import Check, ConfiguredCheck
from promptpress_workbench.audit.checks.configuration import LastRole, Notes, Roles, UnknownOrigins, UnusedColumns
from promptpress_workbench.audit.checks.examples import OwnExamples
from promptpress_workbench.audit.checks.requests import EmptyPrompts, EqualLabels, EqualPrompts, Lengths
from promptpress_workbench.audit.checks.special_tokens import DoubleBos, MediaTags, SpecialTokens, TemplateTokens
from promptpress_workbench.audit.checks.tokens import Budgets, GrowingChats, TokenBorders, TrainedTokens
from promptpress_workbench.audit.checks.values import Nulls, OddCharacters, Placeholders

CHECKS: tuple[type[Check | ConfiguredCheck], ...] = (
    *(OwnExamples, Answers, Placeholders, TemplateTokens, MediaTags, SpecialTokens),
    *(EmptyPrompts, EqualPrompts, EqualLabels, Lengths, Budgets, DoubleBos, LastRole, Roles),
    *(TrainedTokens, GrowingChats, TokenBorders),
    *(Nulls, OddCharacters, Notes, UnusedColumns, UnknownOrigins),
)
"""Every check, in the order in which findings of equal severity are listed."""
