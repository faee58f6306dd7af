"""The public surface: modules, names, types and their descriptions; a change of it changes this file."""

import ast
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import promptpress
import promptpress.aisbench
import promptpress.lm_eval
import promptpress.opencompass
import promptpress.typing as types_of
import pyarrow as pa
import pyarrow.dataset
import pytest
from promptpress_harness.aisbench import exceptions

TEMPLATES = ("APITemplateParser", "LMTemplateParser", "PromptList", "PromptTemplate", "safe_format")
SWITCH = ("backend", "disable", "enable", "register")
PUBLIC = {
    "promptpress": (
        *("Config", "ConfigError", "DataError", "load_config"),
        *("Conversation", "PromptWarning", "RenderError", "Renderer", "TemplateError", "__version__", "set_threads"),
        *("Diff", "LengthSummary", "Preview", "Statistics", "diff", "export", "lm_eval", "stats"),
        "to_pylist",
    ),
    "promptpress.aisbench": (
        *TEMPLATES,
        *SWITCH,
        *("BasePromptTemplate", "MMPromptTemplate", "MultiTurnPromptTemplate"),
        *("get_prompt_hash", "get_round_index", "is_mm_prompt", "request_messages"),
    ),
    "promptpress.datasets": ("render",),
    "promptpress.duckdb": ("register",),
    "promptpress.export": (
        *("Written", "alpaca", "datasets", "join", "litellm_batch", "messages_json", "openai_batch", "preference"),
        *("predictions", "prompt_completion", "ray_rows", "sharegpt", "vllm_batch"),
        *("openai_responses", "anthropic_batch", "gemini_batch"),
        *("axolotl_tokens", "ray_tokens", "sglang_tokens", "trl_preference_tokens", "trl_tokens", "vllm_tokens"),
    ),
    "promptpress.lm_eval": ("answers", "backend", "disable", "enable", "requests", "tokenize"),
    "promptpress.opencompass": (
        *TEMPLATES,
        *SWITCH,
        *("ChatAPITemplateParser", "ChatLMTemplateParser", "Coverage", "RawPromptTemplate", "coverage"),
        *("get_prompt_hash", "promptlist_to_openai"),
    ),
    "promptpress.openicl": ("PromptTemplate",),
    "promptpress.polars": ("PromptExpressions",),
    "promptpress.run": ("main",),
    "promptpress.transformers": ("apply_chat_template", "backend", "disable", "enable"),
    "promptpress.typing": (
        *("ArrowArrayExportable", "ArrowStreamExportable", "HuggingFaceDataset", "JinjaOptions", "PyArrowDataset"),
        *("PolarsLazyFrame", "StreamingHuggingFaceDataset"),
        *("ChatTemplateLike", "Columns", "ConfigFile", "ConfigLike", "Path", "Rows", "StreamLike", "TableLike"),
        *(
            "ControlTokens",
            "Dialect",
            "Finding",
            "FitLabels",
            "FitRule",
            "KeptColumns",
            "Label",
            "Mask",
            "Mode",
            "Output",
            "RequestOrder",
            "RowPolicy",
            "SpanDetail",
            "StringLayout",
            "Substitution",
            "Template",
            "Tokens",
            "Truncation",
            "Turns",
            "Unknown",
        ),
        *("Message", "Request"),
    ),
}
ERRORS = (
    *("AISBenchImplementationError", "AISBenchInvalidTypeException", "AISBenchKeyError", "AISBenchTypeError"),
    "AISBenchValueError",
)
"""Names of `promptpress.aisbench` too, looked up when they are asked for: the harness may have classes for them."""

OF_TOOLS = {
    "promptpress.engine",
    *(f"promptpress.engine.{name}" for name in ("configs", "core", "errors", "tables", "templates", "tokens")),
}
"""The interface for tools: classes and functions of the rooms, shown as they are."""

SHARED = {"safe_format"}
"""Written once for two public modules, so that neither is where it is from."""

NO_EXAMPLE = {*SWITCH, "coverage", "main"}
"""Names that need an installed harness, and names that replace the process."""


def members(value: type) -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """Public functions of a class that promptpress wrote: name, function, whether it is a property."""
    for name in dir(value):
        member = inspect.getattr_static(value, name)
        is_property = isinstance(member, property)
        function = member.fget if is_property else getattr(member, "__func__", member)
        is_own = isinstance(function, FunctionType) and function.__module__.startswith("promptpress")
        if is_own and (not name.startswith("_") or name == "__call__"):
            yield name, function, is_property


def described() -> Iterator[Any]:
    """All that has a docstring and a signature of its own, with the docstring of what it belongs to."""
    for module, names in PUBLIC.items():
        for name in names if module != "promptpress.typing" else ():
            value = getattr(importlib.import_module(module), name)
            if isinstance(value, type):
                for member, function, is_property in members(value):
                    around = f"{inspect.getdoc(value)}"
                    yield pytest.param(function, member, around, is_property, id=f"{module}.{name}.{member}")
            elif callable(value):
                yield pytest.param(value, name, "", False, id=f"{module}.{name}")


def test_whatever_else_is_a_module_begins_with_an_underscore() -> None:
    modules = {"promptpress", *(module.name for module in pkgutil.walk_packages(promptpress.__path__, "promptpress."))}
    public = {name for name in modules if not any(part.startswith("_") for part in name.split("."))}
    assert public == {*PUBLIC, *OF_TOOLS}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules that a file imports from, each with a name; a module that is imported itself has none."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("package", ["promptpress_harness", "promptpress_workbench"])
def test_tools_import_public_names_only(package: str) -> None:
    folder = Path(promptpress.__file__).parent.with_name(package)
    lazy = {"ChatTemplate", "JinjaTemplate", *(name.rpartition(".")[2] for name in (*PUBLIC, *OF_TOOLS))}
    for path in sorted(folder.rglob("*.py")):
        for module, name in imports(path):
            if module.partition(".")[0] == "promptpress":
                assert module in (*PUBLIC, *OF_TOOLS), f"{path} imports from {module}, which isn't public"
                public = {*importlib.import_module(module).__all__, *lazy}
                assert name in ("", *public), f"{path} imports {name!r} from {module}, where it isn't public"


@pytest.mark.parametrize("module", sorted(OF_TOOLS))
def test_the_interface_for_tools_has_what_tools_use(module: str) -> None:
    packages = (Path(promptpress.__file__).parent.with_name(f"promptpress_{name}") for name in ("harness", "workbench"))
    source = "\n".join(path.read_text(encoding="utf-8") for folder in packages for path in folder.rglob("*.py"))
    names = importlib.import_module(module).__all__
    assert [name for name in names if not re.search(rf"\b{name}\b", source)] == []


@pytest.mark.parametrize("module", PUBLIC)
def test_all_says_what_is_public(module: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"from {module} import *", namespace)
    del namespace["__builtins__"]
    assert sorted(namespace) == sorted(PUBLIC[module])
    assert sorted(importlib.import_module(module).__all__) == sorted(PUBLIC[module])


@pytest.mark.parametrize(
    "module", ["promptpress", "promptpress.aisbench", "promptpress.opencompass", "promptpress.openicl"]
)
def test_dir_shows_nothing_else(module: str) -> None:
    submodules = {name.removeprefix(f"{module}.") for name in PUBLIC if name.startswith(f"{module}.")}
    names = {name for name in dir(importlib.import_module(module)) if not name.startswith("_")}
    lazy = {"ChatTemplate", "JinjaTemplate"} if module == "promptpress" else set()
    assert names <= {*PUBLIC[module], *submodules, *lazy}


def test_dir_shows_what_is_imported_at_its_first_use() -> None:
    code = "import sys, promptpress; print(*dir(promptpress)); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, modules = (set(line.split()) for line in done.stdout.splitlines())
    lazy = {"aisbench", "export", "lm_eval", "openicl", "opencompass"}
    lazy |= {"datasets", "duckdb", "polars", "transformers"}
    assert {*PUBLIC["promptpress"], "ChatTemplate", "JinjaTemplate", "typing", *lazy} == names
    assert not modules & {*(f"promptpress.{name}" for name in lazy), "jinja2"}
    for name in names:
        getattr(promptpress, name)


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in PUBLIC for name in PUBLIC[module]])
def test_classes_and_functions_are_of_the_module_that_shows_them(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)) and name not in {*SHARED, "Message"}:
        assert (value.__module__, value.__qualname__) == (module, name)


@pytest.mark.parametrize(
    "value",
    [
        promptpress.Renderer("Q: {q}", tokens={1: "a"}, examples=pa.table({"q": ["1"]})),
        promptpress.to_pylist,
        promptpress.set_threads,
        promptpress.typing.ArrowStreamExportable,
        promptpress.opencompass.PromptList(["a", {"role": "HUMAN"}]),
        promptpress.aisbench.PromptList(["a"]),
        promptpress.opencompass.ChatLMTemplateParser,
        promptpress.aisbench.MMPromptTemplate,
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_name_no_module_that_may_move(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert b"promptpress." not in re.sub(rb"promptpress(\.(aisbench|opencompass|openicl|typing))?\b(?!\.)", b"", data)
    assert pickle.loads(data) == value


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_aisbench_are_public_by_name(name: str) -> None:
    error_class = exceptions.OWN_CLASSES[name]
    assert (error_class.__module__, error_class.__qualname__) == ("promptpress.aisbench", name)
    assert {*exceptions.NAMES} == {*ERRORS}
    assert getattr(promptpress.aisbench, name).__name__ == name


@pytest.mark.parametrize(
    "error", [promptpress.RenderError, promptpress.TemplateError, promptpress.PromptWarning, promptpress.DataError]
)
def test_errors_pickle(error: type[Exception]) -> None:
    again = pickle.loads(pickle.dumps(error("what is wrong")))
    assert (type(again), str(again)) == (error, "what is wrong")


@pytest.mark.parametrize(("function", "name", "around", "is_property"), list(described()))
def test_docstrings_say_all_there_is_to_know(
    function: Callable[..., Any], name: str, around: str, is_property: bool
) -> None:
    text = inspect.getdoc(function) or ""
    assert text
    if is_property:
        assert ": " not in text.splitlines()[0]  # Sphinx would show the words before it as the property's type
    else:
        signature = inspect.signature(function)
        for parameter in signature.parameters.keys() - {"self", "cls"}:
            assert re.search(rf"^    {parameter}: ", text.partition("Args:")[2], re.MULTILINE), parameter
        if signature.return_annotation not in (None, "None", inspect.Signature.empty):
            assert "Returns:" in text
    needs_none = name in NO_EXAMPLE or "by templates that" in text.lower()  # those refuse
    calls = name if name != "__call__" else "("
    assert needs_none or any(">>>" in line and calls in line for line in f"{text}\n{around}".splitlines())


def test_docstrings_of_aliases_begin_without_a_colon() -> None:
    # As of properties: Sphinx would show the words before it as the type.
    assert re.findall(r'^""".*: .*', inspect.getsource(types_of), re.MULTILINE) == []


@pytest.mark.parametrize("module", PUBLIC)
def test_classes_have_an_example(module: str) -> None:
    for name in PUBLIC[module]:
        value = getattr(importlib.import_module(module), name)
        if isinstance(value, type) and module != "promptpress.typing":
            text = inspect.getdoc(value) or ""
            assert ">>>" in text or (text and issubclass(value, Exception)), name


LITERALS = {
    "dialect": types_of.Dialect,
    "mode": types_of.Mode,
    "output": types_of.Output,
    "strings": types_of.StringLayout,
    "substitution": types_of.Substitution,
    "refuse": types_of.Finding,
}


@pytest.mark.parametrize("argument", LITERALS)
def test_literals_are_what_the_core_accepts(argument: str) -> None:
    def given(name: str) -> Any:
        return [name] if argument == "refuse" else name

    names = typing.get_args(LITERALS[argument])
    for name in names:
        template = {"template": "Q: </Q>", "column_token_map": {"q": "</Q>"}} if name == "openicl" else "Q: {q}"
        promptpress.Renderer(template, labels=["A"], **{argument: given(name)})
    with pytest.raises(promptpress.TemplateError) as error:
        promptpress.Renderer("{q}", **{argument: given("?")})
    listed = str(error.value).partition("one of ")[2]
    assert tuple(re.findall(r"\w+", listed)) == names


@pytest.mark.parametrize("argument", [name for name in LITERALS if name != "refuse"])
def test_arguments_are_typed_by_the_literals(argument: str) -> None:
    hints = typing.get_type_hints(promptpress.Renderer.__init__)
    assert typing.get_args(LITERALS[argument]) == tuple(
        value
        for hint in (hints[argument], *typing.get_args(hints[argument]))
        if typing.get_origin(hint) is typing.Literal
        for value in typing.get_args(hint)
    )


def test_what_promptpress_returns_has_a_type() -> None:
    functions = [
        promptpress.to_pylist,
        promptpress.diff,
        *(function for _, function, _ in members(promptpress.Conversation)),
    ]
    functions += [function for name, function, _ in members(promptpress.Renderer) if name != "eos_token_id"]
    for function in functions:
        hints = typing.get_type_hints(function, localns={"Preview": promptpress.Preview})
        assert hints["return"] not in (Any, None), function
        assert Any not in [hint for name, hint in hints.items() if name != "overrides"], function


TABLE = pa.table({"q": ["1+1=?"]})


def is_like_a_table(samples: Any) -> bool:
    return isinstance(samples, types_of.TableLike)


@pytest.mark.parametrize(
    "samples",
    [
        TABLE,
        [{"q": "1+1=?"}],
        {"q": ["1+1=?"]},
        TABLE.to_batches()[0],
        TABLE.to_struct_array(),
        TABLE.to_batches()[0].to_struct_array(),
        TABLE.to_reader(),
        pyarrow.dataset.dataset(TABLE),
        pyarrow.dataset.dataset(TABLE).scanner(),
    ],
    ids=lambda samples: type(samples).__name__,
)
def test_what_is_rendered_is_like_a_table(samples: Any) -> None:
    assert is_like_a_table(samples)
    assert promptpress.Renderer("Q: {q}").render(samples)["prompt"].to_pylist() == ["Q: 1+1=?"]


@pytest.mark.parametrize("package", ["polars", "pandas", "datasets"])
def test_frames_are_like_tables(package: str) -> None:
    module = pytest.importorskip(package)
    columns = {"q": ["1+1=?"]}
    made = [module.Dataset.from_dict(columns)] if package == "datasets" else [module.DataFrame(columns)]
    made += [made[0].to_iterable_dataset()] if package == "datasets" else []
    made += [made[0].lazy()] if package == "polars" else []
    for samples in made:
        assert is_like_a_table(samples)
        assert promptpress.Renderer("Q: {q}").render(samples)["prompt"].to_pylist() == ["Q: 1+1=?"]


@pytest.mark.parametrize("samples", [5, {1, 2}, None, object()], ids=lambda samples: type(samples).__name__)
def test_what_is_refused_is_not_like_a_table(samples: Any) -> None:
    assert not is_like_a_table(samples)
    with pytest.raises(TypeError):
        promptpress.Renderer("Q: {q}").render(samples)
