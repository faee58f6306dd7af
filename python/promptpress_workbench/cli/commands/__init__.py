"""The commands of the command line, each in a file with its description and options.

These files don't import the code that runs the commands, which would double the time of `--help`.
"""

from promptpress_workbench.cli.commands.audit import COMMAND as AUDIT
from promptpress_workbench.cli.commands.command import Command
from promptpress_workbench.cli.commands.diff import COMMAND as DIFF
from promptpress_workbench.cli.commands.export import COMMAND as EXPORT
from promptpress_workbench.cli.commands.fingerprint import COMMAND as FINGERPRINT
from promptpress_workbench.cli.commands.join import COMMAND as JOIN
from promptpress_workbench.cli.commands.render import COMMAND as RENDER
from promptpress_workbench.cli.commands.show import COMMAND as SHOW
from promptpress_workbench.cli.commands.stats import COMMAND as STATS
from promptpress_workbench.cli.commands.tokenize import COMMAND as TOKENIZE
from promptpress_workbench.cli.commands.verify import COMMAND as VERIFY
from promptpress_workbench.cli.commands.view import COMMAND as VIEW

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (RENDER, TOKENIZE, SHOW, DIFF, VIEW, STATS, AUDIT, EXPORT, JOIN, VERIFY, FINGERPRINT)
}
"""All commands by name, in the order of the help."""
