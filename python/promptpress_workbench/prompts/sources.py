"""The source of the prompts of any renderer."""

from __future__ import annotations

from typing import Any

from promptpress.engine import ConfiguredEngine, TableRenderer, engine_of

from promptpress_workbench.prompts.renderer_source import RendererSource
from promptpress_workbench.prompts.sample_rows import SampleRows
from promptpress_workbench.prompts.template_source import TemplateSource


def source_of(renderer: TableRenderer[Any], rows: SampleRows) -> RendererSource | TemplateSource:
    """Return the prompts of a `Renderer`, a `JinjaTemplate` or a `ChatTemplate`.

    Args:
        renderer: The renderer.
        rows: Its samples.

    Raises:
        RenderError: If a column that the renderer needs is missing.

    """
    if isinstance(engine_of(renderer), ConfiguredEngine):
        return RendererSource(renderer, rows)
    return TemplateSource(renderer, rows)
