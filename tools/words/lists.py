"""Words that the project has given up, with the reason or the word that took their place."""

from __future__ import annotations

NAMES = {
    "asked": "name what is asked for",
    "at": "index, position, offset",
    "behind": "after",
    "beside": "with, next to",
    "found": "name the thing: match, matches, result",
    "hole": "slot",
    "known": "cached, registered, or the thing's name",
    "looked_up": "name the table",
    "lower": "python_text",
    "meant": "suggestion, expected",
    "near": "suggest",
    "one": "name the thing: item, row, part",
    "ones": "name the things",
    "own": "name whose it is",
    "place": "path, location, index",
    "places": "paths, locations",
    "said": "name what is said: text, message",
    "shown": "name what is shown: excerpt, text",
    "taken": "name what was taken",
    "told": "message, report",
    "unlike": "unsupported",
}
"""Names of variables, parameters, attributes, functions, classes and modules, each with what to write instead."""

PARTS = frozenset({"asked", "behind", "beside", "hole", "meant", "near", "own", "said", "taken", "told"})
"""Those that no name of a module, class, function or parameter has among its parts either (`own_label`)."""

BEGINNINGS = frozenset({"by", "how", "of", "that", "what", "where", "whether", "which", "who", "whose", "why"})
"""Words that no docstring begins with: a docstring is a whole sentence, or a noun phrase with its purpose."""

PROSE = {
    "behind": "after",
    "beside": "next to, with, besides",
    "likewise": "say it again",
    "whoever": "if you",
}
"""Words that no docstring and no page has."""

PUBLIC = frozenset({"own_example", "own_examples"})
"""Names that users see, which stay: codes of findings."""

PUBLIC_OF_FILES = {("python/promptpress/_core.pyi", "place")}
"""Names of public classes that stay, each with its file."""
