"""`promptpress fingerprint`: what decides the bytes of the prompts, in one short text."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

import promptpress
from promptpress._cli.configured_renderer import make_renderer
from promptpress._cli.jinja_sources import template_of
from promptpress._cli.template_option import TEMPLATE
from promptpress._config_files.as_read import dataset_as_read
from promptpress._config_files.config_file import read_config
from promptpress._file_errors import ConfigError
from promptpress._fingerprint.rules import RULES
from promptpress._outputs.output_file import standard_output
from promptpress._view.visible import encodable, printable
from promptpress.opencompass import get_prompt_hash

_SHOWN_DIGITS = 6
"""Of the prompt hash in OpenCompass's summaries."""


def fingerprint(arguments: Namespace) -> None:
    """Do what the command line says.

    Args:
        arguments: as `promptpress._cli.arguments.parse` gives them.

    Raises:
        FileError: when something is wrong, by kind.
        promptpress.TemplateError: when the configuration is.

    """
    renderer = template_of(arguments) or make_renderer(arguments)
    own = renderer.fingerprint()
    prompt_hash = _prompt_hash(arguments)
    with standard_output() as stream:
        if arguments.json:
            said = {"fingerprint": own, "prompt_hash": prompt_hash, "rules": RULES}
            print(json.dumps({**said, "promptpress": promptpress.__version__}), file=stream)
            return
        print(f"fingerprint  {own}", file=stream)
        if prompt_hash is not None:
            print(f"prompt hash  {prompt_hash} (OpenCompass's summaries: {prompt_hash[:_SHOWN_DIGITS]})", file=stream)


def _prompt_hash(arguments: Namespace) -> str | None:
    """OpenCompass's hash of the dataset; None where there is no dataset, or no such hash of it, which is told."""
    if arguments.config in (None, TEMPLATE):
        return None
    try:
        dataset = dataset_as_read(read_config(arguments.config), arguments.dataset)
        return None if dataset is None else get_prompt_hash(dataset)
    except (ConfigError, promptpress.TemplateError, TypeError) as error:
        if not arguments.quiet:
            line = f"promptpress: note: no prompt hash: {error}"
            print(encodable(printable(line), sys.stderr.encoding), file=sys.stderr)
        return None
