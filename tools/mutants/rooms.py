"""Which tests concern which part of the source."""

from __future__ import annotations

import re
from pathlib import Path

# Folders of tests/ by the beginning of a file's path, of which the longest counts; those that take least time first.
TESTS = {
    "python/promptpress/": "project config engine harness",
    "python/promptpress/_arrow/": "statistics arrow io engine rendering",
    "python/promptpress/_config/": "fingerprint config harness tokens engine cli rendering",
    "python/promptpress/_engine/": "statistics export engine tokens jinja rendering",
    "python/promptpress/_errors/": "audit config io engine cli rendering",
    "python/promptpress/_jinja/": "jinja engine real/jinja",
    "python/promptpress/_renderers/": "prompts config engine jinja rendering",
    "python/promptpress/_tokens/": "tokens statistics engine export",
    "python/promptpress_harness/": "harness config project cli",
    "python/promptpress_harness/aisbench/bulk.py": "harness real/harness",
    "python/promptpress_harness/bulk/": "harness real/harness",
    "python/promptpress_harness/configs/": "config io cli harness",
    "python/promptpress_harness/opencompass/bulk": "harness real/harness",
    "python/promptpress_harness/lm_eval/": "jinja cli io real/jinja",
    "python/promptpress_harness/transformers.py": "jinja real/jinja",
    "python/promptpress_workbench/": "export io cli engine",
    "python/promptpress_workbench/audit/": "audit view cli",
    "python/promptpress_workbench/cli/": "cli config export io jinja project",
    "python/promptpress_workbench/diff/": "diff cli",
    "python/promptpress_workbench/export/": "export cli real/jinja",
    "python/promptpress_workbench/files/": "io export cli config",
    "python/promptpress_workbench/prompts/": "prompts view cli",
    "python/promptpress_workbench/statistics/": "statistics view cli",
    "python/promptpress_workbench/viewer/": "view cli real/view",
    "src/": "rendering/test_cases.py statistics fingerprint config engine arrow tokens rendering cli",
    "src/audit/": "audit statistics cli",
    "src/conversations/": "jinja export engine rendering",
    "src/jinja/": "jinja engine tokens real/jinja",
    "src/json_lines/": "export io cli",
    "src/json_reader/": "io arrow cli",
    "src/lints/": "config audit engine cli",
    "src/python_text/": "arrow statistics rendering jinja",
    "src/token_ids/": "tokens engine",
}


def tests_of(tree: Path, path: Path) -> list[tuple[str, list[str]]]:
    """The tests for a file, with their environments: those that share a word of its name, then all of its room."""
    name = path.relative_to(tree).as_posix()
    folders = TESTS[max((room for room in TESTS if name.startswith(room)), key=len)].split()
    words = _words(path) | _words(path.parent)
    out = []
    for folder in folders:
        files = sorted((tree / "tests" / folder).glob("test_*.py"))
        nearest = [str(test.relative_to(tree)) for test in files if words & _words(test)]
        out.append((not nearest, _environment(folder), nearest or [f"tests/{folder}"]))
        if nearest:
            out.append((True, _environment(folder), [f"tests/{folder}"]))
    return [(environment, tests) for _, environment, tests in sorted(out, key=lambda of: of[0])]


def _environment(folder: str) -> str:
    """The environment of a folder of tests, as `make` names it."""
    return f".venv-{folder.removeprefix('real/')}" if folder.startswith("real/") else ".venv"


def _words(path: Path) -> set[str]:
    """The words of a file's name."""
    return {word.removesuffix("s") for word in re.findall("[a-z]{3,}", path.stem)} - {"test", "and"}
