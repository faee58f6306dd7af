"""Which tests concern which part of the source: folders of tests/, those that are over soonest first."""

from __future__ import annotations

# The environment of a folder of tests, as `make` names them, if it isn't .venv.
ENVIRONMENTS = {"real/harness": ".venv-harness", "real/jinja": ".venv-jinja", "real/view": ".venv-view"}

# The longest beginning of a path counts.
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
    "python/promptpress_harness/format_prompts.py": "harness config cli",
    "python/promptpress_harness/opencompass/bulk": "harness real/harness",
    "python/promptpress_harness/lm_eval/": "jinja cli io real/jinja",
    "python/promptpress_harness/openicl.py": "harness config rendering",
    "python/promptpress_harness/python_subset/": "config cli",
    "python/promptpress_harness/single/": "harness config",
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
    "src/": "statistics fingerprint config engine arrow tokens rendering cli",
    "src/audit/": "audit statistics cli",
    "src/conversations/": "jinja export engine rendering",
    "src/jinja/": "jinja engine tokens real/jinja",
    "src/json_lines/": "export io cli",
    "src/json_reader/": "io arrow cli",
    "src/lints/": "config audit engine cli",
    "src/prefix_order/": "statistics engine cli",
    "src/python_text/": "arrow statistics rendering jinja",
    "src/statistics/": "statistics diff audit cli",
    "src/token_ids/": "tokens engine",
}


def tests_of(path: str) -> dict[str, list[str]]:
    """The folders of tests for a file, by environment."""
    room = max((beginning for beginning in TESTS if path.startswith(beginning)), key=len)
    folders: dict[str, list[str]] = {}
    for name in TESTS[room].split():
        folders.setdefault(ENVIRONMENTS.get(name, ".venv"), []).append(f"tests/{name}")
    return folders
