"""The core's table of settings, next to whatever has to name them itself."""

from __future__ import annotations

import inspect

import promptpress as pp
from promptpress._core import SETTINGS
from promptpress_workbench.cli.options import BUDGET_OPTIONS, OPTIONS, OVERRIDES, TEMPLATE_OPTIONS


def of_group(*groups: str) -> set[str]:
    """The options of the settings of some groups, as attributes of the parsed arguments."""
    options = [setting.option for setting in SETTINGS.values() if setting.group in groups and setting.option]
    return {option.replace("-", "_") for option in options}


def test_the_arguments_of_a_renderer() -> None:
    assert [name for name in inspect.signature(pp.Renderer.__init__).parameters if name != "self"] == [*SETTINGS]


def test_the_options_of_the_command() -> None:
    assert set(OVERRIDES) == of_group("rendering")
    assert set(BUDGET_OPTIONS) == of_group("budget")
    assert set(TEMPLATE_OPTIONS) == {"template", *of_group("short")}
    assert of_group("object") <= set(OPTIONS)
