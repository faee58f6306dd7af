"""The commands of the command line, each in a file with its description and options.

These files don't import the code that runs the commands, which would double the time of `--help`.
"""

from promptpress._cli.commands.audit import COMMAND as AUDIT
from promptpress._cli.commands.command import Command
from promptpress._cli.commands.diff import COMMAND as DIFF
from promptpress._cli.commands.export import COMMAND as EXPORT
from promptpress._cli.commands.fingerprint import COMMAND as FINGERPRINT
from promptpress._cli.commands.join import COMMAND as JOIN
from promptpress._cli.commands.render import COMMAND as RENDER
from promptpress._cli.commands.show import COMMAND as SHOW
from promptpress._cli.commands.stats import COMMAND as STATS
from promptpress._cli.commands.tokenize import COMMAND as TOKENIZE
from promptpress._cli.commands.verify import COMMAND as VERIFY
from promptpress._cli.commands.view import COMMAND as VIEW

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (RENDER, TOKENIZE, SHOW, DIFF, VIEW, STATS, AUDIT, EXPORT, JOIN, VERIFY, FINGERPRINT)
}
"""All commands by name, in the order of the help."""
