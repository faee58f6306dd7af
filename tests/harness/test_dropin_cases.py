"""The recorded cases of the real harnesses through the single-sample classes, where they are at hand.

What is compared is all that was recorded: each prompt before the parser and each parsed one, lists where the harness
has lists and prompt lists where it has those, and of errors the type and the stage.
`tests/rendering/test_recorded_cases.py` says where the cases are looked for.
"""

from __future__ import annotations

import collections
import copy
import importlib.util
import json
import math
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import promptpress.aisbench as ais
import promptpress.opencompass as oc
import pytest
from parts import harness_chain
from promptpress import openicl
from test_recorded_cases import lines_of, recorded

# A chain of this project stands for the harness's retriever here; what it refuses has the stage of its own there.
STAGES = {"construct": {"template", "parser"}, "ice": {"ice", "retrieve", "labels"}, "parse": {"parse", "infer"}}


def tools(runner: Path) -> ModuleType:
    """The program that runs recorded cases: it knows how to make rows of them."""
    spec = importlib.util.spec_from_file_location("recorded_cases_program", runner)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same(a: Any, b: Any) -> bool:
    """Equal, NaN to NaN, and of one kind: a string is no list, True is no 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return type(a) is type(b) and a == b


def plain(value: Any) -> Any:
    """Prompt lists as lists."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def has_prompt_lists(case: dict[str, Any]) -> bool:
    """Return true if the case's template makes prompt lists; raw messages are plain lists."""
    return (case["prompt_template"] or case["ice_template"])["type"] != "RawPromptTemplate"


def revived(case: dict[str, Any], program: ModuleType) -> tuple[dict[str, Any], SimpleNamespace]:
    case = copy.deepcopy(case)
    if case.get("label_key_type") == "int":
        for name in ("prompt_template", "ice_template"):
            template = (case[name] or {}).get("template")
            if isinstance(template, dict) and not set(template) <= {"begin", "round", "end"}:
                case[name]["template"] = {int(key): value for key, value in template.items()}
        case["labels"] = case["labels"] and [None if label is None else int(label) for label in case["labels"]]
    for name in ("prompt_template", "ice_template", "meta_template", "inferencer"):
        case[name] = program.revive(case[name])
    rows = {name: program.table(case[name], case["schema"]).to_pylist() for name in ("train", "test")}
    return case, SimpleNamespace(**rows)


def raised_alike(out: harness_chain.Outcome, error: dict[str, Any]) -> bool:
    stages = STAGES.get(error["stage"], {error["stage"]})
    return out.raised is not None and harness_chain.name_of(out.raised) == error["type"] and out.stage in stages


def difference(case: dict[str, Any], out: harness_chain.Outcome, prompt_list: Any) -> str | None:
    """Return what differs from the record, if anything."""
    error = case["error"]
    if error is not None and not raised_alike(out, error):
        return f"{error['stage']} {error['type']} recorded, {out.stage} {out.raised!r} found"
    if error is None and out.raised is not None:
        return f"{out.stage}: {out.raised!r}"
    if case["intermediate"] is not None and not same(plain(out.intermediate), case["intermediate"]):
        return f"intermediate {out.intermediate!r:.300} is not {case['intermediate']!r:.300}"
    return None if error is not None else made_differently(case, out, prompt_list)


def made_differently(case: dict[str, Any], out: harness_chain.Outcome, prompt_list: Any) -> str | None:
    """Return what differs in types, and after the parser."""
    prompts = [prompt for row in out.intermediate for prompt in row] if case["mode"] == "ppl" else out.intermediate
    for prompt in prompts:
        if isinstance(prompt, list) and isinstance(prompt, prompt_list) != has_prompt_lists(case):
            return f"a list of the wrong type, {type(prompt).__name__}: {prompt!r:.300}"
    if "requests" in case:
        return None if same(plain(out.requests), case["requests"]) else f"requests {out.requests!r:.300}"
    if case["parser"] == "none":
        return unparsed_difference(case, out)
    if not all(
        is_parsed(prompt, parsed, prompt_list) for prompt, parsed in zip(out.intermediate, out.expect, strict=True)
    ):
        return f"parsed to a list of the wrong type: {out.expect!r:.300}"
    return (
        None if same(plain(out.expect), case["expect"]) else f"parsed {out.expect!r:.300}, not {case['expect']!r:.300}"
    )


def is_parsed(prompt: Any, parsed: Any, prompt_list: Any) -> bool:
    """Return true if messages have the harness's type: prompt lists of prompt lists; parts and many prompts aren't."""
    if isinstance(prompt, prompt_list) and isinstance(parsed, list):
        return isinstance(parsed, prompt_list) != all(isinstance(item, dict) and "type" in item for item in parsed)
    return not isinstance(parsed, prompt_list)


def unparsed_difference(case: dict[str, Any], out: harness_chain.Outcome) -> str | None:
    """Without a parser `str()` of the prompts was recorded, where it is one."""
    texts = case.get("expect_str", case["expect"])
    rows = zip(out.intermediate, texts, strict=True)
    pairs = (
        [pair for mine, theirs in rows for pair in zip(mine, theirs, strict=True)] if case["mode"] == "ppl" else rows
    )
    for prompt, text in pairs:
        if isinstance(text, str) and str(prompt) != text:
            return f"str() {str(prompt)!r:.300} is not {text!r:.300}"
    return None


def cases_of(name: str) -> tuple[ModuleType, list[dict[str, Any]]]:
    runner, cases = recorded(name)
    return tools(runner), [json.loads(line) for line in lines_of(cases)]


def run(case: dict[str, Any], program: ModuleType, classes: Any, **options: Any) -> harness_chain.Outcome:
    config, data = revived(case, program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # strings that messages leave out
        return harness_chain.run(config, classes, data, **options)


def report(name: str, count: int, failed: list[str]) -> None:
    print(f"\n{name}: {count} cases through the single-sample classes, {len(failed)} differ")
    assert not failed, "\n".join(failed[:5])
    assert count


@pytest.mark.parametrize("name", ["opencompass_configs", "opencompass_fuzz", "aisbench"])
def test_recorded_cases(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, cases = cases_of(name)
    classes: Any = ais if name == "aisbench" else oc
    failed = []
    for case in cases:
        differs = difference(case, run(case, program, classes), classes.PromptList)
        if differs is not None:
            failed.append(f"{case['id']}: {differs}")
    capsys.readouterr()  # what the parsers say of unknown roles
    with capsys.disabled():
        report(name, len(cases), failed)


def test_openicl(capsys: pytest.CaptureFixture[str]) -> None:
    program, cases = cases_of("openicl")
    failed = []
    for case in cases:
        config, data = revived(case, program)
        out = harness_chain.run_openicl(config, openicl.PromptTemplate, data)
        differs = difference({**case, "parser": "none", "expect": case["expect"] or []}, out, None)
        if differs is not None:
            failed.append(f"{case['id']}: {differs}")
    with capsys.disabled():
        report("openicl", len(cases), failed)


@pytest.mark.parametrize("name", ["opencompass_configs", "opencompass_fuzz", "aisbench"])
def test_documented(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, cases = cases_of(name)
    classes: Any = ais if name == "aisbench" else oc
    failed, kinds = [], collections.Counter[str]()
    for case in cases:
        wanted = case.get("documented") or case.get("documented_requests")
        if not wanted or (not case.get("documented") and case["inferencer"]["infer_mode"] != "last"):
            continue
        kinds["documented" if case.get("documented") else "documented_requests"] += 1
        out = run(case, program, classes, documented=True)
        parsed = out.expect if case.get("documented") else out.requests
        if case.get("documented") and case["parser"] == "none":
            parsed = out.intermediate
        complete = [row or [] for row in wanted]
        if not same(plain(parsed), wanted) and not same(plain(parsed), complete):
            failed.append(f"{case['id']}: {out.stage} {out.raised!r} {parsed!r:.300} is not {wanted!r:.300}")
    capsys.readouterr()
    with capsys.disabled():
        report(f"{name}, as documented {dict(kinds)}", sum(kinds.values()), failed)


def call(function: str, given: Any) -> Any:
    """One of AISBench's single functions."""
    template = ais.MMPromptTemplate({"round": []})
    functions = {
        "MMPromptTemplate.get_mm_template": template.get_mm_template,
        "MMPromptTemplate.format_mm_url": lambda pair: template.format_mm_url(*pair),
        "get_round_index": lambda items: list(ais.get_round_index(items)),
        "is_mm_prompt": ais.is_mm_prompt,
        "str(PromptList)": lambda items: str(ais.PromptList(items)),
        "VLLMCustomAPIChat.get_request_body.messages": ais.request_messages,
    }
    return functions[function](given)


def test_single_functions(capsys: pytest.CaptureFixture[str]) -> None:
    _, cases = cases_of("aisbench_direct")
    failed = []
    for case in cases:
        try:
            result, raised = call(case["function"], case["input"]), None
        except Exception as error:
            result, raised = None, type(error).__name__
        wanted = case["error"]["type"] if case["error"] else None
        if not same(result, case["expect"]) or raised != wanted:
            failed.append(f"{case['id']}: {result!r} {raised}, not {case['expect']!r} {wanted}")
    with capsys.disabled():
        report("aisbench_direct", len(cases), failed)
