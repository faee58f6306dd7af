"""Oracles for the origins of bytes: masks, control tokens, spans and audits over real chat templates.

`python -m origins masks`, with `tests` on the path; the other commands are `control-tokens`, `spans` and `shapes`.
The oracles don't know how promptpress finds origins. Each value of a conversation holds words that stand nowhere else,
so a word in a prompt says which value it comes from.
"""
