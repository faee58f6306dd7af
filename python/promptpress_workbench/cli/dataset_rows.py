"""Rows of the file that a harness's dataset names, which stand in for `--data` and `--examples`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from promptpress.engine import engine_of
from promptpress_harness.configs.config_file import ADDED_COLUMNS, UnknownFilesError, files_of
from promptpress_harness.configs.selection import Selection

from promptpress_workbench.files.read.samples import Samples

if TYPE_CHECKING:
    from promptpress.engine import TableRenderer


class DatasetRows(NamedTuple):
    """The file that a dataset names, and its rows as the harness reads them."""

    path: str
    train: pa.Table
    test: pa.Table

    @classmethod
    def of(cls, selection: Selection) -> DatasetRows:
        """Read the file of a dataset; raise an UnknownFilesError if the harness may have other rows."""
        if selection.dataset is None:
            raise UnknownFilesError("the configuration says of no file that it holds the rows")
        files = files_of(selection.dataset)
        samples = Samples([files.path], files.format, harness_types="json")
        try:
            files.check(samples.schema.names, has_times=samples.has_times)
            rows = samples.table()
        finally:
            samples.close()
        return cls(files.path, files.train(rows), files.test(rows))

    def without_range(self, selection: Selection) -> Selection:
        """Return the dataset without the range of its examples, which is applied."""
        dataset = selection.dataset or {}
        if not isinstance(reader := dataset.get("reader_cfg"), Mapping):
            return selection
        rest = {name: value for name, value in reader.items() if name != "train_range"}
        return replace(selection, dataset={**dataset, "reader_cfg": rest})

    def samples_for(self, renderer: TableRenderer[Any] | None) -> pa.Table:
        """Return the samples, unless a template needs columns that only the harness knows."""
        required = () if renderer is None else engine_of(renderer).required_columns
        if added := ADDED_COLUMNS.intersection(required) - set(self.test.column_names):
            message = f"a template names {min(added)!r}, which the harness adds to the rows"
            raise UnknownFilesError(message, for_command="--data FILE names rows that have it")
        return self.test
