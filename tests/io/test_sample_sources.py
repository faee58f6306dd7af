"""Sources of samples besides Arrow data: rows, columns, lazy frames, datasets that stream, files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import promptpress as pp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

RENDERER = pp.Renderer("{q}|{n}", substitution="harness")
DAY, NOON = date(2020, 1, 1), datetime(2020, 1, 1, 12)
ROWS = [{"q": f"question {i}", "n": i} for i in range(20_000)]
WANT = [f"question {i}|{i}" for i in range(20_000)]


def prompts(table: pa.Table) -> list[str]:
    texts: list[str] = table["prompt"].to_pylist()
    return texts


def both(samples: Any) -> list[list[str]]:
    return [prompts(RENDERER.render(samples)), prompts(RENDERER.stream(samples).read_all())]


@pytest.fixture(scope="module")
def datasets() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own imports' affair
        return pytest.importorskip("datasets", reason="Hugging Face datasets isn't installed")


class TestRows:
    def test_as_a_table(self) -> None:
        assert both(ROWS) == both(tuple(ROWS)) == [WANT, WANT]
        assert RENDERER(ROWS[:1])["prompt"].to_pylist() == WANT[:1]
        assert RENDERER.explain(ROWS, 7).num_rows == 3
        assert RENDERER.divergence([{"q": "{n}", "n": 1}]).to_pylist() == [{"row": 0, "columns": ["q"]}]

    def test_columns_in_the_order_in_which_they_occur(self) -> None:
        renderer = pp.Renderer("{b}{a}{c}")
        table = renderer.render([{"b": 1}, {"a": "x", "b": None}, {"c": [1, None]}], keep=["b", "a", "c"])
        assert table.column_names == ["b", "a", "c", "prompt"]
        assert prompts(table) == ["1NoneNone", "NonexNone", "NoneNone[1, None]"]

    def test_values_as_a_harness_types_them(self) -> None:
        harness = pp.Renderer("{q}", dialect="opencompass")
        assert prompts(pp.Renderer("{q}").render([{"q": "007"}, {"q": "2020-01-01"}, {"q": ""}])) == [
            *("007", "2020-01-01", "")
        ]
        assert prompts(harness.render([{"q": 1}, {"q": 2.5}])) == ["1.0", "2.5"]
        assert prompts(harness.render([{"q": {"a": 1}}, {"q": {"b": "x"}}])) == [
            *("{'a': 1, 'b': None}", "{'a': None, 'b': 'x'}")
        ]
        assert prompts(harness.render([{"q": {"a": 1}}, {"q": 2.0}])) == ["{'a': 1}", "2.0"]

    @pytest.mark.parametrize(
        ("values", "row", "words"),
        [
            (["x", object()], 1, "did not recognize Python value type"),
        ],
    )
    def test_mixed_kinds(self, values: list[Any], row: int, words: str) -> None:
        for samples in ([{"q": "x", "n": value} for value in values], {"q": ["x"] * len(values), "n": values}):
            with pytest.raises(pp.RenderError) as caught:
                RENDERER.render(samples)
            error = caught.value
            assert (error.code, error.row, error.column) == ("unconvertible_value", row, "n")
            assert words in str(error)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (["x", b"y"], "b'y' is bytes, but row 0 has a string"),
            ([DAY, NOON], "is a datetime, but row 0 has a date"),
            ([NOON, NOON.replace(tzinfo=timezone.utc)], "is a datetime with a zone, but row 0 has a datetime"),
            ([[DAY], [None, NOON]], "is a datetime, but row 0 has a date"),
            ([{"a": ["x"]}, {"a": [b"y"]}], "b'y' is bytes, but row 0 has a string"),
        ],
    )
    def test_kinds_that_arrow_makes_one(self, values: list[Any], words: str) -> None:
        for samples in ([{"q": "x", "n": value} for value in values], {"q": ["x"] * len(values), "n": values}):
            with pytest.raises(pp.RenderError) as caught:
                RENDERER.render(samples)
            assert (caught.value.code, caught.value.row, caught.value.column) == ("unconvertible_value", 1, "n")
            assert words in str(caught.value)

    def test_kinds_of_several_fields(self) -> None:
        value = {"a": "x", "b": b"y", "c": DAY, "d": NOON}
        assert prompts(RENDERER.render([{"q": "x", "n": value}])) == [f"x|{value}"]

    def test_values_without_end(self) -> None:
        loop: list[Any] = []
        loop += [loop, loop]
        deep: Any = 1
        for _ in range(50_000):
            deep = {"a": deep}
        for value in (loop, deep):
            with pytest.raises(pp.RenderError, match="nested more than 128 deep, or holds itself"):
                RENDERER.render([{"q": "x", "n": value}])

    def test_what_is_no_row_among_rows(self) -> None:
        with pytest.raises(TypeError, match="found a list of dicts; item 1 is no dict but int"):
            RENDERER.render([{"q": 1}, 5])

    @pytest.mark.parametrize(
        "values",
        [
            [1, None, "x"],
            ["x", 1],
            [None, True, 2],
            [[1], "x"],
            [{"a": 1}, [1]],
            [1, 2**70],
            [0.5, 2**53 + 1],
            [2, 1.5],
            [[2, 1.5]],
            [{"a": 1}, {"b": 2.0, "a": None}],
            [{"a": {"b": "x"}}, {"a": {}}],
            [[{"a": 1}, {}]],
        ],
    )
    def test_values_stay_what_they_are(self, values: list[Any]) -> None:
        rows = [{"q": "x", "n": value} for value in values]
        wanted = [f"x|{value}" for value in values]
        renderer = pp.Renderer("{q}|{n}")
        for samples in (rows, {"q": ["x"] * len(values), "n": values}, iter(rows)):
            assert prompts(renderer.stream(samples).read_all()) == wanted
        assert prompts(renderer.render(renderer.render(rows, keep="all").select(["q", "n"]))) == wanted
        with pytest.warns(pp.PromptWarning, match="a column of JSON has values of several kinds"):
            assert prompts(pp.JinjaTemplate("{{ q }}|{{ n }}").render(rows)) == wanted

    def test_half_a_surrogate_pair(self) -> None:
        rows = [{"q": "x", "n": value} for value in ("y", "\ud800")]
        assert prompts(pp.Renderer("{q}").render(rows)) == ["x", "x"]
        with pytest.raises(pp.RenderError, match="half of a surrogate pair") as caught:
            RENDERER.render(rows)
        assert (caught.value.code, caught.value.row, caught.value.column) == ("invalid_unicode", 1, "n")

    def test_names_that_are_no_text(self) -> None:
        with pytest.raises(pp.RenderError, match="found 1, a int") as caught:
            RENDERER.render([{1: "x"}])
        assert caught.value.code == "invalid_column_name"
        with pytest.raises(pp.RenderError, match="half of a surrogate pair"):
            RENDERER.render([{"\ud800": "x"}])

    def test_examples(self) -> None:
        renderer = pp.Renderer(
            prompt_template={"template": "</E>{q}", "ice_token": "</E>"},
            ice_template="{q}={n}",
            retriever={"type": "FixKRetriever", "fix_id_list": [1]},
            reader={"output_column": "n"},
            examples=ROWS,
        )
        assert prompts(renderer.render(ROWS[:1])) == ["question 1=1\nquestion 0"]
        with pytest.raises(pp.RenderError, match='row 1, column "q"'):
            pp.Renderer("{q}", examples=[{"q": 1}, {"q": b"x"}])


class TestColumns:
    def test_as_a_table(self) -> None:
        numpy = pytest.importorskip("numpy")
        q, n = [row["q"] for row in ROWS], [row["n"] for row in ROWS]
        for samples in (
            {"q": q, "n": n},
            {"q": pa.array(q), "n": numpy.arange(20_000)},
            {"q": tuple(q), "n": range_of(n)},
        ):
            assert both(samples) == [WANT, WANT]

    def test_more_than_one_dimension(self) -> None:
        numpy = pytest.importorskip("numpy")
        with pytest.raises(TypeError, match="a column has one dimension, and 'n' has another number"):
            RENDERER.render({"q": ["x", "y"], "n": numpy.zeros((2, 2))})

    def test_lengths_that_differ(self) -> None:
        with pytest.raises(pp.RenderError, match="column \"n\": it has 1 values, and the column 'q' has 2"):
            RENDERER.render({"q": ["a", "b"], "n": [1]})


def range_of(values: list[int]) -> pa.ChunkedArray:
    return pa.chunked_array([values[:7], values[7:]])


class TestPolars:
    def test_lazy_frames(self) -> None:
        polars = pytest.importorskip("polars")
        frame = polars.LazyFrame({"q": [row["q"] for row in ROWS], "m": range(20_000)})
        frame = frame.select("q", n=polars.col("m") * 1)
        assert both(frame) == [WANT, WANT]
        assert prompts(RENDERER.stream(frame.head(0)).read_all()) == []
        # a value may bring in the placeholder of a column that no template names
        other = polars.LazyFrame({"q": ["{z}"], "n": [1], "z": ["gold"]})
        assert both(other) == [["gold|1"], ["gold|1"]]

    def test_batch_by_batch(self) -> None:
        polars = pytest.importorskip("polars")
        if not hasattr(polars.LazyFrame, "collect_batches"):
            pytest.skip("this Polars collects frames whole")
        stream = RENDERER.stream(polars.LazyFrame({"q": ["x"] * 100_000, "n": [1] * 100_000}))
        assert stream.read_next_batch().num_rows < 100_000

    def test_objects(self) -> None:
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({"q": ["x"], "n": [object()]}, schema={"q": polars.String, "n": polars.Object})
        for samples in (frame, frame.lazy()):
            for use in (RENDERER.render, RENDERER.stream):
                with pytest.raises(pp.RenderError, match='column "n": Polars holds it as Python objects'):
                    use(samples)


class TestPandas:
    @pytest.mark.parametrize("values", [[[1, 2], [3, 4]], [["x", 1], ["y", "z"]], [["x", "y"], ["z", 1]]])
    def test_what_it_cannot_give(self, values: Any) -> None:
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(values, columns=["q", "q" if values[0][0] == 1 else "n"])
        for use in (RENDERER.render, RENDERER.stream):
            with pytest.raises(pp.RenderError, match=r"pandas can't give its values to Arrow: .*(Duplicate|column n)"):
                use(frame)


class TestDatasets:
    def test_a_transform(self, datasets: Any) -> None:
        transformed = datasets.Dataset.from_list(ROWS[:3]).with_transform(lambda rows: {"q": ["T"] * 3, "n": rows["n"]})
        for use in (RENDERER.render, RENDERER.stream):
            with pytest.raises(TypeError, match=r"apply it by samples.map"):
                use(transformed)
        assert both(transformed.with_format(None)) == [WANT[:3], WANT[:3]]

    def test_those_that_stream(self, datasets: Any) -> None:
        whole = datasets.Dataset.from_list(ROWS)
        assert both(whole.to_iterable_dataset(num_shards=3)) == [WANT, WANT]

        def rows() -> Iterator[dict[str, Any]]:
            yield from ROWS

        unknown = datasets.IterableDataset.from_generator(rows)
        assert unknown.features is None
        assert both(unknown) == [WANT, WANT]
        assert prompts(RENDERER.stream(unknown.filter(lambda row: row["n"] < 0)).read_all()) == []

    def test_one_that_is_read_as_it_comes(self, datasets: Any) -> None:
        made = []

        def rows() -> Iterator[dict[str, Any]]:
            for row in ROWS:
                made.append(row)
                yield row

        stream = RENDERER.stream(datasets.IterableDataset.from_generator(rows))
        stream.read_next_batch()
        assert len(made) < len(ROWS)

    def test_types_that_change(self, datasets: Any) -> None:
        def rows() -> Iterator[dict[str, Any]]:
            yield from ROWS[:8192]
            yield from ({"q": None, "n": None} for _ in range(8192))
            yield from ({"q": "x", "n": "text"} for _ in range(100))
            yield {"q": "x", "n": 1}

        changing = datasets.IterableDataset.from_generator(rows)
        assert prompts(RENDERER.stream(changing.take(16384)).read_all())[-1] == "None|None"
        assert prompts(RENDERER.render(changing.take(16384)))[-1] == "None|None"
        with pytest.raises(pp.RenderError, match=r"batch 2: its schema is another .* cast the dataset") as caught:
            RENDERER.render(changing.take(16484))
        assert caught.value.code == "schema_mismatch"
        with pytest.raises(pp.RenderError, match="cast the dataset to features that fit all rows") as caught:
            RENDERER.render(changing)
        assert caught.value.code == "schema_mismatch"

    def test_splits(self, datasets: Any) -> None:
        whole = datasets.Dataset.from_list(ROWS[:3])
        for splits in (
            datasets.DatasetDict(train=whole, test=whole),
            datasets.IterableDatasetDict(train=whole.to_iterable_dataset(), test=whole.to_iterable_dataset()),
        ):
            for use in (RENDERER.render, RENDERER.stream):
                with pytest.raises(TypeError, match=r"choose one of its splits: samples\['train'\], samples\['test'\]"):
                    use(splits)


class TestPaths:
    def test_files(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=1000)
        assert both(path) == both(str(path)) == [WANT, WANT]
        (tmp_path / "b.csv").write_text("q,n\n" + "".join(f"question {i},{i}\n" for i in range(20_000)))
        assert both(tmp_path / "b.csv") == [WANT, WANT]

    def test_a_stream_reads_as_it_goes(self, tmp_path: Path) -> None:
        (tmp_path / "b.csv").write_text("q,n\n" + "x,1\n" * 9_000_000 + "ragged\n")
        stream = RENDERER.stream(tmp_path / "b.csv")
        assert stream.read_next_batch().num_rows > 0
        with pytest.raises(pp.RenderError, match=r"b\.csv:9000002: 1 field"):
            for _ in stream:
                pass

    def test_errors(self, tmp_path: Path) -> None:
        (tmp_path / "a.xyz").write_text("")
        (tmp_path / "b.csv").write_text("q,n\n1\n")
        for name, code, words in (
            ("none.parquet", "unreadable_data", r"none\.parquet: No such file or directory"),
            ("a.xyz", "unclear_choice", r"a\.xyz: the suffix '\.xyz' is none of .*; data_format= says the format"),
            ("b.csv", "unreadable_data", r"b\.csv:2: 1 field"),
        ):
            path = tmp_path / name
            for use in (RENDERER.render, lambda path: RENDERER.stream(path).read_all(), RENDERER.notes):
                with pytest.raises(pp.RenderError, match=words) as caught:
                    use(path)
                assert (caught.value.code, caught.value.path) == (code, str(path))
                assert "--" not in str(caught.value)
