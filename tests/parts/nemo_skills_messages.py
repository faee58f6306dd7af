"""Messages that NeMo-Skills' own code makes of rows: `python nemo_skills_messages.py FOLDER < JOBS > MESSAGES`.

FOLDER is a checkout of NeMo-Skills. JOBS is a list of `[file, rows]` as JSON. For each there are the messages of the
rows, or an error; and for a file with examples, the same for each of the package's sets of examples by their names,
with the examples themselves.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from typing import Any


def messages_of(prompt: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The messages of rows, or an error."""
    try:
        return {"messages": [prompt.fill(row) for row in rows]}
    except Exception as error:  # a template without a value, for example
        return {"error": repr(error)}


def main() -> None:
    """Write what the prompts make."""
    sys.path.insert(0, sys.argv[1])
    if importlib.util.find_spec("transformers") is None:  # it has the tokenizers, and there is none
        stand_in = types.ModuleType("transformers")
        stand_in.AutoTokenizer = None  # type: ignore[attr-defined]
        sys.modules["transformers"] = stand_in
    from nemo_skills.prompt.few_shot_examples import examples_map
    from nemo_skills.prompt.utils import get_prompt

    results: list[Any] = []
    for path, rows in json.load(sys.stdin):
        try:
            prompt = get_prompt(path)
        except Exception as error:  # no prompt
            results.append({"error": repr(error)})
            continue
        result = messages_of(prompt, rows)
        if prompt.config.few_shot_examples.template:
            result["with_examples"] = {
                name: messages_of(get_prompt(path, examples_type=name), rows) for name in examples_map
            }
        results.append(result)
    json.dump({"results": results, "examples": examples_map}, sys.stdout)


if __name__ == "__main__":
    main()
