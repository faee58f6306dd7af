"""`promptpress fingerprint`: prints the fingerprint of a configuration, and OpenCompass's prompt hash."""

from __future__ import annotations

import json
from argparse import Namespace

import promptpress
from promptpress import ConfigError
from promptpress.engine import RULES
from promptpress.opencompass import get_prompt_hash
from promptpress_harness.configs.config_file import read_config
from promptpress_harness.configs.selection import dataset_as_read

from promptpress_workbench.cli.shell.errors import print_error_line
from promptpress_workbench.cli.sources.configured_renderer import make_renderer
from promptpress_workbench.cli.sources.jinja_sources import template_of
from promptpress_workbench.cli.sources.template_option import TEMPLATE
from promptpress_workbench.files.write.output_file import standard_output

_SUMMARY_DIGITS = 6
"""Digits of the prompt hash in OpenCompass's summaries."""


def fingerprint(arguments: Namespace) -> None:
    """Print the fingerprint, and the prompt hash if the configuration has one."""
    digits = (template_of(arguments) or make_renderer(arguments)).fingerprint()
    prompt_hash = _prompt_hash(arguments)
    with standard_output() as stream:
        if arguments.json:
            report = {"fingerprint": digits, "prompt_hash": prompt_hash, "rules": RULES}
            print(json.dumps({**report, "promptpress": promptpress.__version__}), file=stream)
            return
        print(f"fingerprint  {digits}", file=stream)
        if prompt_hash is not None:
            print(f"prompt hash  {prompt_hash} (OpenCompass's summaries: {prompt_hash[:_SUMMARY_DIGITS]})", file=stream)


def _prompt_hash(arguments: Namespace) -> str | None:
    """Return OpenCompass's hash of the dataset, or None if there is no dataset; a note tells why a hash fails."""
    if arguments.config in (None, TEMPLATE):
        return None
    try:
        dataset = dataset_as_read(read_config(arguments.config), arguments.dataset)
        return None if dataset is None else get_prompt_hash(dataset)
    except (ConfigError, promptpress.TemplateError, TypeError) as error:
        if not arguments.quiet:
            print_error_line(f"promptpress: note: no prompt hash: {error}")
        return None
