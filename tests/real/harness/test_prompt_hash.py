"""`get_prompt_hash` beside OpenCompass's own, over the dataset configurations that it ships."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import promptpress as pp
import pytest
from promptpress.opencompass import get_prompt_hash
from promptpress_harness.configs.selection import datasets_as_read
from real.harness.shipped import folder

EACH = 40
"""In the usual run each of so many files is read."""


def file_names() -> list[Path]:
    root = folder("opencompass")
    files = [] if root is None else root.joinpath("configs", "datasets").rglob("*.py")
    return sorted(path for path in files if path.name != "__init__.py")


def loaded(path: Path) -> list[Any]:
    """A file's datasets as OpenCompass has them; none where mmengine can't load it."""
    from mmengine.config import Config

    try:
        config = Config.fromfile(str(path))
    except Exception:  # packages that aren't installed, and files that are no configurations
        return []
    names = [name for name in config._cfg_dict.to_dict() if name.endswith("_datasets")]
    lists = [config[name] for name in names]
    return [
        dataset for datasets in lists if isinstance(datasets, list) for dataset in datasets if "infer_cfg" in dataset
    ]


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:  # whatever the harness raises
        return type(error)


def compared(paths: list[Path]) -> tuple[int, int, list[Any]]:
    """Return the number of compared datasets, the number that were read from the file too, and the differences."""
    from opencompass.utils.prompt import get_prompt_hash as real

    count, read, wrong = 0, 0, []
    for path in paths:
        datasets = loaded(path)
        if not datasets:
            continue
        before = copy.deepcopy(datasets)
        of_configs = [outcome(get_prompt_hash, dataset) for dataset in datasets]
        assert [dataset.to_dict() for dataset in datasets] == [dataset.to_dict() for dataset in before]
        plain = [outcome(get_prompt_hash, dataset.to_dict()) for dataset in datasets]
        whole = outcome(get_prompt_hash, list(datasets))
        by_file = outcome(
            lambda path: {get_prompt_hash(dataset) for dataset in datasets_as_read(pp.load_config(path))}, path
        )
        want_whole = outcome(real, copy.deepcopy(datasets))
        want = [outcome(real, dataset) for dataset in datasets]
        count += len(want)
        for of, ours, expected in (("dict", of_configs, want), ("plain", plain, want), ("list", whole, want_whole)):
            if ours != expected and not isinstance(expected, type):
                wrong.append((path.name, of, ours, expected))
        if isinstance(by_file, set):
            read += len(want)
            if by_file != set(want):  # a list that is made of others has their datasets once more
                wrong.append((path.name, "file", by_file, set(want)))
    return count, read, wrong


@pytest.mark.usefixtures("opencompass")
def test_of_a_sample_of_the_shipped_configurations():
    paths = file_names()
    count, read, wrong = compared(paths[:: max(1, len(paths) // EACH)])
    assert not wrong
    assert count > EACH
    assert read > count // 2


@pytest.mark.full
@pytest.mark.usefixtures("opencompass")
def test_of_all_shipped_configurations():
    count, read, wrong = compared(file_names())
    print(f"{count:,} datasets compared, {read:,} of them read from their files as data, too")
    assert not wrong
    assert count > 3000
    assert read > count * 0.8


@pytest.mark.usefixtures("opencompass")
@pytest.mark.parametrize("shots", [False, True])
@pytest.mark.parametrize("splits", [{}, {"train_split": "dev"}, {"train_split": "dev", "test_split": "test"}])
def test_of_the_other_form_of_configurations(shots, splits):
    from mmengine.config import ConfigDict
    from opencompass.utils.prompt import get_prompt_hash as real

    template = {"type": "a.b.PromptTemplate", "template": {0: "n\u00e9 {q}", 1: ["x", ("y", 1.5, None)]}}
    infer = {
        "reader_cfg": {"type": "a.DatasetReader", **splits},
        "prompt_template": template,
        "retriever": {"type": "x.FixKRetriever", **({"fix_id_list": [2, 1]} if shots else {})},
        "inferencer": {"type": "GenInferencer", "max_out_len": 7},
    }
    dataset = {"reader_cfg": {"input_columns": ["q"], "output_column": None}, "infer_cfg": infer}
    assert get_prompt_hash(dataset) == real(ConfigDict(copy.deepcopy(dataset)))
    assert get_prompt_hash([dataset, dataset]) == real([ConfigDict(copy.deepcopy(dataset)) for _ in range(2)])
    assert get_prompt_hash([]) == real([])


@pytest.mark.usefixtures("opencompass")
def test_of_a_file_that_holds_several():
    path = next(path for path in file_names() if path.name.startswith("mmlu_gen_"))
    config = pp.load_config(path)
    assert len(config.datasets) > 10
    assert get_prompt_hash(config) == get_prompt_hash(str(path))
    assert get_prompt_hash(config) == get_prompt_hash(loaded(path))
