"""Token ids for tools: tokenizers, what is asked of token ids, and the engine that encodes what another renders."""

from promptpress._config.tokenizer import LOAD_ERRORS, LoadedTokenizer, load_tokenizer, text_parts
from promptpress._tokens.encoder import Encoder
from promptpress._tokens.settings import TokenSettings
from promptpress._tokens.token_engine import TokenEngine, TokenRenderer, token_engine
from promptpress._tokens.turn_requests import numbered_turns

__all__ = [
    "LOAD_ERRORS",
    "Encoder",
    "LoadedTokenizer",
    "TokenEngine",
    "TokenRenderer",
    "TokenSettings",
    "load_tokenizer",
    "numbered_turns",
    "text_parts",
    "token_engine",
]
