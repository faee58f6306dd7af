"""Words of drawn templates: literals that look like placeholders, roles, and the column of turns."""

LITERALS = (
    "",
    " ",
    "Q: ",
    "答",
    "😀",
    "\n",
    "\t",
    "{",
    "}",
    "{{",
    "}}",
    "{unknown}",
    "{qu",
    "q}",
    "{ q }",
    "{a!r}",
    "%s",
)
ROLES = ("HUMAN", "BOT", "SYSTEM", "THINK")
EXPANDED = "turns so far"
