"""Messages that EvalScope's own code makes of samples: `python evalscope_messages.py FOLDER < NAMES > MESSAGES`.

FOLDER is a checkout of EvalScope, NAMES a list of benchmarks as JSON. For each there are the values that the
benchmark's code fills into its template, a dict a sample, and the messages that it makes; or an error. The benchmark's
own code makes the values of most samples of records, which aren't here, so any text stands in their place.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import types
from pathlib import Path
from typing import Any

SAMPLES: list[dict[str, Any]] = [
    {"question": "What is {choices} or {{x}}?\n", "choices": ["a", "{question}", "c"]},
    {"question": "é\r\n", "choices": ["only"]},
    {"question": "q", "choices": [str(number) for number in range(30)]},
]
PUZZLE = json.dumps({"header": ["House", "Name"], "rows": [["1", "a"], ["2", "b"]]})
"""A target that the one benchmark takes apart whose template shows the form of its target."""


class AnyText(dict[str, Any]):
    """Metadata of a sample: a text for each name."""

    def __missing__(self, name: str) -> str:
        return f"<{name} {{x}}>"

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ARG002 - there is a text for each name
        return self[name]

    def pop(self, name: str, default: Any = None) -> Any:  # noqa: ARG002 - as `get`
        return self[name]


class Recorded(str):
    """A template that keeps the values that are filled into it."""

    __slots__ = ("values",)

    def format(self, *args: Any, **values: Any) -> str:
        self.values = values
        return str.format(self, *args, **values)


def import_adapters(folder: Path) -> None:
    """Import EvalScope's benchmarks without the packages that only their metrics need."""
    from evalscope.utils import import_utils

    def always_true(*_: Any, **__: Any) -> bool:
        return True

    checked = import_utils.check_import
    importlib.import_module("evalscope.api.benchmark.adapters")
    for module in [module for name, module in sys.modules.items() if name.startswith("evalscope")]:
        if getattr(module, "check_import", None) is checked:
            module.check_import = always_true  # type: ignore[attr-defined]
    package = types.ModuleType("evalscope.benchmarks")  # without its own import of all modules, of which one may fail
    package.__path__ = [str(folder / "evalscope" / "benchmarks")]
    sys.modules["evalscope.benchmarks"] = package
    for file in sorted((folder / "evalscope" / "benchmarks").glob("*/**/*_adapter.py")):
        if not file.name.startswith("_"):
            try:
                importlib.import_module(".".join(file.relative_to(folder).with_suffix("").parts))
            except Exception as error:  # its benchmarks are unknown then
                print(f"{file.name}: {error!r}", file=sys.stderr)


def messages_of(name: str) -> dict[str, Any]:
    """The values and the messages of all samples of a benchmark."""
    from evalscope.api.dataset import Sample
    from evalscope.api.registry import get_benchmark

    adapter = get_benchmark(name)
    meta = adapter._benchmark_meta
    key = "few_shot_prompt_template" if adapter.few_shot_num else "prompt_template"
    result: dict[str, Any] = {"values": [], "messages": []}
    for row in SAMPLES:
        template = Recorded(getattr(meta, key))
        setattr(meta, key, template)
        sample = Sample(input=row["question"], choices=row["choices"], target=PUZZLE)
        sample.metadata = AnyText()
        if adapter.few_shot_num:
            text = adapter.format_fewshot_template(fewshot="<examples {x}>\n", sample=sample)
        else:
            try:
                text = adapter.format_prompt_template(sample=sample)
            except KeyError:  # a field that the code fills in where it makes samples of records
                text = adapter.record_to_sample(AnyText()).input[0].content
        messages = [] if adapter.system_prompt is None else [{"role": "system", "content": adapter.system_prompt}]
        result["messages"].append([*messages, {"role": "user", "content": text}])
        result["values"].append({**template.values, "choices": row["choices"]})
    return result


def main() -> None:
    """Write what the benchmarks make."""
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    logging.disable(logging.CRITICAL)
    output, sys.stdout = sys.stdout, sys.stderr
    import_adapters(folder)
    results: dict[str, Any] = {}
    for name in json.load(sys.stdin):
        try:
            results[name] = messages_of(name)
        except Exception as error:  # a benchmark's own code may raise anything
            results[name] = {"error": repr(error)}
    json.dump(results, output)


if __name__ == "__main__":
    main()
