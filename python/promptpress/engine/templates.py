"""Jinja and chat templates for tools; these need the package jinja2."""

from promptpress._engine.chat_engine import ChatEngine
from promptpress._engine.staged_engine import StagedRenderer
from promptpress._jinja.chat.chat_renderer import ChatRenderer
from promptpress._jinja.chat.conversation_texts import ConversationTexts, TemplateCall
from promptpress._jinja.chat.settings import ChatSettings
from promptpress._jinja.reference import Reference
from promptpress._jinja.run import JinjaRun, Runner
from promptpress._tokens.turns import TurnsEngine, TurnsRenderer

__all__ = [
    "ChatEngine",
    "ChatRenderer",
    "ChatSettings",
    "ConversationTexts",
    "JinjaRun",
    "Reference",
    "Runner",
    "StagedRenderer",
    "TemplateCall",
    "TurnsEngine",
    "TurnsRenderer",
]
