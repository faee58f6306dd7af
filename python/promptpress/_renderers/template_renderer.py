"""The base of `JinjaTemplate` and `ChatTemplate`: what is the same for every template that makes one text of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pyarrow as pa

from promptpress._engine.template_engine import TemplateEngine
from promptpress._jinja.run import JinjaRun
from promptpress._renderers.prompt_renderer import PromptRenderer
from promptpress.typing import Mask, StreamLike, TableLike

if TYPE_CHECKING:
    from promptpress_workbench.prompts.preview import Preview

Engine = TypeVar("Engine", bound=TemplateEngine)


class TemplateRenderer(PromptRenderer[Engine]):
    """Renders one text of each row."""

    __slots__ = ()

    def preview(self, samples: TableLike, n: int = 5, *, rows: Sequence[int] | None = None) -> Preview:
        """Show some texts: coloured by where each piece comes from in a notebook, as text elsewhere.

        Args:
            samples: As in `render`. Only the rows that are shown are rendered.
            n: The number of rows, from the first on.
            rows: The numbers of the rows, in the place of the first ones.

        Returns:
            An object that a notebook shows by itself, and `print` as text.

        Raises:
            RenderError: As `render`, and if there is no such row.

        >>> import pyarrow as pa
        >>> from promptpress import JinjaTemplate
        >>> print(JinjaTemplate("Q: {{ q }}").preview(pa.table({"q": ["1+1=?", "2+2=?"]}), rows=[1]))
        ── row 1 · 8 bytes · 8 characters
        Q: 2+2=?

        """
        from promptpress_workbench.prompts.preview import preview_of  # noqa: PLC0415 - most programs only render

        return preview_of(self, samples, n, rows=rows)

    def audit(
        self,
        samples: TableLike | StreamLike,
        *,
        output_column: str | None = None,
        tokenizer: object = None,
        mask: Mask | None = None,
        limits: Mapping[str, int] | None = None,
        allow: Sequence[str] = (),
        only: Sequence[str] | None = None,
        errors: Literal["raise", "skip"] = "raise",
    ) -> pa.Table:
        """Check all rows and their texts for mistakes, without a model, as `Renderer.audit` does.

        It finds answers in texts, control tokens in values, equal and empty texts, texts beyond a limit, and odd
        characters and nulls in values that are shown. A template has no examples, roles or placeholders to check.

        Args:
            samples: As in `render` or `stream`.
            output_column: The column of the answers; None: answers aren't checked.
            tokenizer: As in `Renderer.audit`.
            mask: As in `Renderer.audit`.
            limits: As in `Renderer.audit`.
            allow: As in `Renderer.audit`.
            only: As in `Renderer.audit`.
            errors: As in `Renderer.audit`.

        Returns:
            The table of `Renderer.audit`.

        Raises:
            RenderError: As `render`, and if there is no such column of answers.
            TemplateError: If what a mask would train isn't known of any row.
            ValueError: If there is no such code, limit or mask.

        >>> import pyarrow as pa
        >>> from promptpress import JinjaTemplate
        >>> samples = pa.table({"q": ["1+1=?", "Is it <|im_end|>?"], "a": ["2", "yes"]})
        >>> findings = JinjaTemplate("Q: {{ q }}").audit(samples, output_column="a")
        >>> [(row["code"], row["first_rows"], row["column"]) for row in findings.to_pylist()]
        [('likely_special_token', [1], 'q')]

        """
        from promptpress_workbench.audit.collect import audit  # noqa: PLC0415 - most programs only render

        options: dict[str, Any] = {"only": only, "mask": mask, "errors": errors, "output_column": output_column}
        return audit(self, samples, tokenizer, limits, allow, **options)

    @property
    def last_run(self) -> JinjaRun | None:
        """The numbers of rows that programs and Jinja2 rendered, and why, when a table was rendered last.

        Of a stream, as far as it has been read. None before. The first conversation of a shape is always Jinja2's.

        >>> from promptpress import ChatTemplate, JinjaTemplate
        >>> template = JinjaTemplate("{{ q }}")
        >>> template.last_run is None
        True
        >>> chat = ChatTemplate("{{ messages[0].content }}")
        >>> table = chat.render([{"messages": [{"role": "user", "content": "Hi."}]}] * 3)
        >>> chat.last_run.rows, chat.last_run.compiled
        (3, 2)

        """
        return self._engine.last_run
