"""Renderers over Hugging Face datasets."""

from __future__ import annotations

from typing import Any

from promptpress_workbench.adapters.columns import AnyRenderer, renderer_of


def render(
    dataset: Any, renderer: AnyRenderer, /, *, remove_columns: str | list[str] | None = None, **arguments: Any
) -> Any:
    """Add the prompts to a Hugging Face dataset: `dataset.map(renderer, batched=True)`, with batches that are Arrow's.

    `map` takes a renderer as it is, and gives it the lists of Python that it makes of each batch. Here batches stay
    tables, which takes a fraction of the time. The result is kept in the cache as that of any other function, by what
    the renderer is made of.

    Args:
        dataset: A `Dataset`, a `DatasetDict`, or one of those that stream.
        renderer: A `Renderer`, a `JinjaTemplate` or a `ChatTemplate`; or a template, of which a `Renderer` is made.
        remove_columns: Columns that are removed once all prompts are there.
        arguments: Others of `map`: `batch_size`, `num_proc` and so on.

    Returns:
        The dataset with the output columns, and without a format.

    Raises:
        TypeError: If `dataset` is no dataset, or `renderer` is something else.
        TemplateError: As `Renderer`; if the configuration depends on more than a batch.
        RenderError: If a row can't be rendered.

    >>> from promptpress import datasets
    >>> datasets.render(dataset, "Q: {question}")  # doctest: +SKIP
    Dataset({
        features: ['question', 'prompt'],
        num_rows: 2
    })

    """
    if not (hasattr(dataset, "with_format") and hasattr(dataset, "map")):
        raise TypeError(f"expected a Hugging Face dataset, found a {type(dataset).__name__}")
    function = renderer_of(renderer, {})
    rendered = dataset.with_format("arrow").map(function, batched=True, **arguments).with_format(None)
    return rendered if remove_columns is None else rendered.remove_columns(remove_columns)
