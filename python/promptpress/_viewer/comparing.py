"""Two ways of rendering, compared over all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptpress._diff.comparison import unequal
from promptpress._diff.pairs import Pairs, paired
from promptpress._view.prompt_source import PromptSource
from promptpress._viewer.row_finder import RowFinder


class Comparing(RowFinder):
    """Finds the rows in which two sources give different requests, or one gives a request that the other lacks.

    Args:
        a: one source.
        b: the other, of the same samples.

    Example:
        >>> import pyarrow as pa
        >>> from promptpress import Renderer
        >>> from promptpress._view.renderer_source import RendererSource
        >>> from promptpress._view.sample_rows import TableRows
        >>> rows = TableRows(pa.table({"q": ["one", "see {q}"]}))
        >>> sources = [RendererSource(Renderer("{q}", substitution=s), rows) for s in ("harness", "single_pass")]
        >>> comparing = Comparing(*sources)
        >>> comparing.wait(), comparing.seen, comparing.error
        (True, 2, None)

    """

    def __init__(self, a: PromptSource, b: PromptSource) -> None:
        self._a, self._b = a, b
        super().__init__()

    def _steps(self) -> Iterator[tuple[Iterable[int], int]]:
        for found in paired(self._a.requests(), self._b.requests()):
            if isinstance(found, Pairs):
                samples = found.a.samples
                places = unequal(self._a, self._b, found)
                yield samples.take(places).to_pylist(), samples[-1].as_py() + 1
            else:
                yield [found.sample], found.sample + 1
