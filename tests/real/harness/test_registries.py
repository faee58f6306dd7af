"""Configurations that name promptpress's classes build them through the harnesses' own registries."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

OPENCOMPASS = "promptpress.opencompass"
AISBENCH = "promptpress.aisbench"
CONFIGS = {
    f"{OPENCOMPASS}.PromptTemplate": {"template": "Q: {q}\nA: {a}"},
    f"{OPENCOMPASS}.RawPromptTemplate": {"messages": [{"role": "user", "content": "{q}"}]},
    f"{AISBENCH}.PromptTemplate": {"template": {"round": [{"role": "HUMAN", "prompt": "{q}"}]}},
    f"{AISBENCH}.MultiTurnPromptTemplate": {"template": {"round": [{"role": "HUMAN", "prompt": "{question}"}]}},
    f"{AISBENCH}.MMPromptTemplate": {
        "template": {"round": [{"role": "HUMAN", "prompt_mm": {"text": {"type": "text", "text": "{question}"}}}]}
    },
}


@pytest.mark.parametrize("name", [name for name in CONFIGS if name.startswith(OPENCOMPASS)])
def test_opencompass_builds_by_name(opencompass, name):
    assert opencompass
    _builds("opencompass.registry", name)


@pytest.mark.parametrize("name", [name for name in CONFIGS if name.startswith(AISBENCH)])
def test_aisbench_builds_by_name(aisbench, name):
    assert aisbench
    _builds("ais_bench.benchmark.registry", name)


def _builds(registry, name):
    templates = import_module(registry).ICL_PROMPT_TEMPLATES
    module, _, attribute = name.rpartition(".")
    built = templates.build({"type": name, **CONFIGS[name]})
    assert type(built) is getattr(import_module(module), attribute)
    # By a class, as configurations have it that import it.
    assert type(templates.build({"type": type(built), **CONFIGS[name]})) is type(built)
    # The harness's own class keeps its own name.
    registered = templates.get(attribute)
    assert registered is not type(built)
    assert not registered.__module__.startswith("promptpress")
    # Entered by itself where the harness came first, else by hand; the build finds it either way.
    import_module(module).register()
    assert templates.module_dict[name] is type(built)


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from real.harness.installed import {harness}
{first}
{harness}.load()
from {registry} import ICL_PROMPT_TEMPLATES
print(type(ICL_PROMPT_TEMPLATES.build(dict(type={name!r}, template="{{q}}"))).__module__)
"""


HARNESSES = {
    "opencompass": ("OPENCOMPASS", "opencompass.registry", OPENCOMPASS),
    "aisbench": ("AISBENCH", "ais_bench.benchmark.registry", AISBENCH),
}


@pytest.mark.parametrize("ours_first", [False, True])
@pytest.mark.parametrize("fixture", HARNESSES)
def test_it_works_in_either_order_of_imports(request, fixture, ours_first):
    request.getfixturevalue(fixture)
    harness, registry, package = HARNESSES[fixture]
    code = PROGRAM.format(
        tests=str(Path(__file__).parents[2]),
        harness=harness,
        first=f"import {package}" if ours_first else "",
        registry=registry,
        name=f"{package}.PromptTemplate",
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith(package)
