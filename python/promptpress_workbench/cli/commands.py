"""The commands of the command line: their help texts and options, without the code that runs them.

That code is imported when a command runs, because it would double the time of `--help`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeAlias

from promptpress_workbench.cli.option_values import natural
from promptpress_workbench.cli.options import (
    BUDGET_OPTIONS,
    FORMAT_OPTIONS,
    JINJA_OPTIONS,
    LIMIT_OPTIONS,
    LM_EVAL_OPTIONS,
    OPERANDS,
    OPTIONS,
    OVERRIDES,
    PROMPT_OPTIONS,
    TEMPLATE_OPTIONS,
    TOKEN_OPTIONS,
    TRAINING_OPTIONS,
    option_name,
)
from promptpress_workbench.export.forms import EXPORTS
from promptpress_workbench.export.forms import TOKEN_OPTIONS as EXPORTED_TOKEN_OPTIONS
from promptpress_workbench.files.read.formats import FORMATS

if TYPE_CHECKING:
    from promptpress_workbench.cli.errors import ExitCode
    from promptpress_workbench.cli.settings import Settings

EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
"""


@dataclass(frozen=True)
class Changed:
    """An option whose keywords differ from those of the table, or that has other names."""

    name: str
    keywords: dict[str, Any]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class OneOf:
    """Options of which one can be given."""

    options: tuple[str | Changed, ...]


Option: TypeAlias = "str | Changed | OneOf"

Group: TypeAlias = "tuple[str, tuple[Option, ...]]"
"""Options with their title in the help, which may come twice; without a title they are among the first ones."""


def _group(title: str, *options: Option) -> Group:
    return title, options


def _changed(name: str, *names: str, **keywords: Any) -> Changed:
    return Changed(name, keywords, names)


@dataclass(frozen=True)
class Command:
    """A command: its help texts, its options, and the function that runs it.

    The function is named as `module:function`; it takes a `Settings` and the parsed
    arguments, and returns an exit code, or None for success. Every command has the options `quiet` and `traceback`.
    At most `max_operands` words may precede the first option; None is any number.
    """

    name: str
    summary: str
    run: str
    description: str
    groups: tuple[Group, ...]
    epilog: str = EXIT_CODES
    max_operands: int | None = 1

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options to a parser."""
        groups: dict[str, Any] = {"": parser}
        for title, options in self.groups:
            group = groups[title] = groups.get(title) or parser.add_argument_group(title)
            for option in options:
                if isinstance(option, OneOf):
                    either = group.add_mutually_exclusive_group()
                    for alternative in option.options:
                        _add(either, alternative)
                else:
                    _add(group, option)


def _add(group: Any, option: str | Changed) -> None:
    given = option if isinstance(option, Changed) else Changed(option, {})
    keywords = {**(OPERANDS.get(given.name) or OPTIONS.get(given.name, {})), **given.keywords}
    names = given.names or (given.name if given.name in OPERANDS else option_name(given.name),)
    group.add_argument(*names, **keywords)


def render(settings: Settings, arguments: Namespace) -> ExitCode:
    """Render a configuration, all entries of a configuration, or an lm-eval task; return the exit code."""
    from promptpress_workbench.cli import lm_eval_tasks as tasks  # noqa: PLC0415 - --help needn't import what renders
    from promptpress_workbench.cli.jinja_sources import has_jinja_source  # noqa: PLC0415
    from promptpress_workbench.cli.render import render as render_one  # noqa: PLC0415

    if tasks.is_lm_eval(settings.config) and not tasks.is_samples(str(settings.config)):
        return tasks.render_lm_eval(settings, arguments)
    tasks.refuse_lm_eval(arguments)
    if settings.takes_all and not has_jinja_source(settings):
        from promptpress_workbench.cli.render_all import render_all  # noqa: PLC0415 - a tenth of the start

        return render_all(settings, arguments.out)
    return render_one(settings)


_OVERRIDES = "prompts (these options override the configuration)"
_DATA = _group("", "data", "examples")
_REQUIRED_DATA = _group("", _changed("data", required=True), "examples")
_TEMPLATE = _group("instead of CONFIG", *TEMPLATE_OPTIONS)
_JINJA = _group("Jinja templates, instead of CONFIG or after its messages", *JINJA_OPTIONS)
_ROWS = _group("some of the samples", "where", "limit", "sample", "seed")
_PROGRESS = OneOf(("progress", _changed("quiet", help="no progress bar, no notes and no summary")))


def _model(all_hint: str = "") -> tuple[Group, Group]:
    """Return the model and the choice of several; `all_hint` says what the name `all` chooses."""
    choice = tuple(_changed(name, help=OPTIONS[name]["help"] + all_hint) for name in ("dataset", "model_abbr"))
    return _group("", "model"), _group("if a file contains several", *choice)


def _config(all_hint: str = "") -> tuple[Group, ...]:
    """Return the operand CONFIG, the template that can replace it, and the model."""
    return _group("", "config"), _TEMPLATE, *_model(all_hint)


def _budget(*tokenizer: Option) -> Group:
    """Return the options of a budget of tokens, with `--tokenizer` unless it is in another group."""
    return _group("a budget of tokens, which --tokenizer counts", *tokenizer, *BUDGET_OPTIONS)


_COUNTING = _changed(
    "tokenizer", help="count tokens for the budget with a tokenizer.json, its folder, or a model in the local cache"
)


def _format(text: str | None = None) -> tuple[Option, ...]:
    first, *others = FORMAT_OPTIONS
    return (first if text is None else _changed(first, help=text), *others)


_EXECUTION: tuple[Group, ...] = (
    _group("execution", *_format(), "out_format", "batch_size", "compression", "threads"),
    _group("faults", "resume", "errors", "skip_corrupt", "no_clobber"),
)
_RENDER_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 7 done except for the rows of
--skip-corrupt, or with --strict those of --errors, 130 interrupted, 141 nobody reads standard output, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""

_RENDER = Command(
    "render",
    "render files of samples into prompts",
    "promptpress_workbench.cli.commands:render",
    f"""\
Render all rows of some files into the prompts that an LLM-evaluation harness would build from them.

CONFIG is JSON, YAML, TOML or a harness's Python file, which is read as data and never executed. It contains arguments
of promptpress.Renderer (prompt_template, retriever, ...), a dataset dict (reader_cfg, infer_cfg), or a list of those
(datasets, ..._datasets). Instead of CONFIG, --template gives the prompt itself, --jinja a Jinja template, and
--chat-template a model's chat template, for conversations. For a YAML task of lm-evaluation-harness, the requests of
the harness are written.

The suffix decides the format of a file. Samples are read from
{", ".join("/".join(suffixes) for suffixes in FORMATS.values())};
.json is an array of objects, and any of them may end with .gz, .zst, .bz2 or .xz.
""",
    (
        *_config("; 'all' renders every one, each into a file in the folder --out"),
        _JINJA,
        _group(
            "if CONFIG is a YAML task of lm-evaluation-harness",
            *LM_EVAL_OPTIONS[:-1],
            _changed("seed", type=int, help="the seed for the choice of examples (1234); else that of --sample (0)"),
            LM_EVAL_OPTIONS[-1],
        ),
        _DATA,
        _group(
            "",
            _changed(
                "out",
                help="the prompts: .parquet, .arrow, .jsonl or .csv, the last two also with .gz or .zst; - is"
                " standard output",
            ),
        ),
        _group(_OVERRIDES, "keep", *OVERRIDES, "index", "order", "shared", "hashes"),
        _budget(_COUNTING),
        _group("some of the samples", "where", "limit", "sample"),
        *_EXECUTION,
        _group("messages", "print_first", _PROGRESS, "strict", "traceback"),
    ),
    _RENDER_EXIT_CODES,
)

_TOKENIZE = Command(
    "tokenize",
    "render files of samples into token ids",
    "promptpress_workbench.cli.render:tokenize",
    """\
Render all rows of some files, and write the token ids of the prompts: input_ids and n_tokens, and on request which
tokens are trained. The ids are those of the library tokenizers with the same tokenizer.json.

CONFIG is a configuration as for render; --template, --jinja and --chat-template take its place.
""",
    (
        *_config(),
        _JINJA,
        _REQUIRED_DATA,
        _group("", _changed("out", help="the tokens: .parquet, .arrow, or .jsonl, also with .gz or .zst")),
        _group(
            "tokens",
            _changed(
                "tokenizer",
                help="a tokenizer.json, its folder, or a model in the local Hugging Face cache; nothing is downloaded",
                required=True,
            ),
            *TOKEN_OPTIONS,
        ),
        _group(_OVERRIDES, "keep", *OVERRIDES, "index"),
        _budget(),
        _ROWS,
        *_EXECUTION,
        _group("messages", _PROGRESS, "strict", "traceback"),
    ),
    _RENDER_EXIT_CODES,
)

_SHOW = Command(
    "show",
    "show prompts, coloured by origin",
    "promptpress_workbench.cli.show:show",
    """\
Show prompts as the model gets them, coloured by the origin of each piece: the template, a column, an example, the
model's meta template, or a masked answer. Chats that were rendered to one text are coloured by role and control token.

CONFIG is a configuration as for render, with samples from --data; or a file of prompts that render wrote. Characters
that are invisible or would control the terminal are shown as Python escapes (\\x1b, \\u202e).
""",
    (
        *_config(),
        _JINJA,
        _DATA,
        _group(
            "which prompts (default: the first row)",
            OneOf(("row", "grep", "longest", "shortest", "failed", _changed("sample", help="N random rows"))),
            *("seed", "where", "max", "label", "turn"),
        ),
        _group("display", "whitespace", "origins", "tokenizer", "color"),
        _group(_OVERRIDES, *OVERRIDES),
        _budget(),
        _group("data and execution", *_format(), "prompt_column", "threads", "quiet", "traceback"),
    ),
)

_DIFF = Command(
    "diff",
    "compare two ways of rendering",
    "promptpress_workbench.cli.show:diff",
    """\
Compare two ways of rendering the same samples. Count the requests that differ in the whole table, and show the first
of them side by side: the differences, what is around them, and their origins. Messages are aligned by their words.

A and B are configurations as for render, or files of prompts that render wrote. Without B, both sides are A, with other
options for B: --model M1 --model-b M2, --substitution-b single_pass, --template TEXT --template-b TEXT.
""",
    (
        _group("", _changed("config", metavar="A", help="a configuration, or a file of prompts"), "other"),
        _TEMPLATE,
        _JINJA,
        *_model(),
        _DATA,
        _group(_OVERRIDES, *OVERRIDES),
        _budget(_COUNTING),
        _group(
            "the same options for B; default: as for A",
            *(
                _changed(name, f"{option_name(name)}-b", default=None, help=f"of B, instead of {option_name(name)}")
                for name in PROMPT_OPTIONS
            ),
        ),
        _group(
            "display",
            _changed("max", type=natural, default=3, help="show the first N differences (3)"),
            *("whitespace", "color"),
            _changed("json", help="print the counts and the first differences as JSON, for programs"),
        ),
        _group("data and execution", "where", *_format(), "prompt_column", "threads", "quiet", "traceback"),
    ),
    """\
exit codes: 0 all requests are equal, 1 a difference or an unexpected error, 2 command line, 3 configuration, 4 data,
5 output, 130 interrupted, 143 terminated.
""",
    max_operands=2,
)

_VIEW = Command(
    "view",
    "browse all prompts in the browser",
    "promptpress_workbench.cli.view:view",
    """\
Open a page in the browser that shows all prompts: a list of millions of rows that scrolls at once, and each prompt in
the colours of its origins; chats are coloured by role and control token. Search all prompts, switch model, mode, output
and substitution, compare two configurations or models side by side, and see lengths and duplicates.

CONFIG is as for render, with samples from --data; the page can switch between several. Or CONFIG is a file of prompts
that render wrote. The page is served on this machine only, at an address with a secret part, until Ctrl-C. Nothing is
loaded from elsewhere. With --html FILE no page is opened; instead, the prompts of --rows are written into one file.
""",
    (
        _group(
            "",
            _changed(
                "config",
                nargs="*",
                help="prompt configurations, or a file of rendered prompts; without them, --data is already rendered",
            ),
            _changed(
                "model",
                nargs="+",
                action="extend",
                help="model configurations; the page begins with the first, and with two models side by side",
            ),
        ),
        _TEMPLATE,
        _JINJA,
        _group("the entry to show first, if a file contains several", "dataset", "model_abbr"),
        _DATA,
        _group("the first prompts (these options override the configuration)", *OVERRIDES),
        _budget(_COUNTING),
        _group("the page", "no_open", "port"),
        _group("a file instead of the page", "html", "no_clobber", "rows"),
        _ROWS,
        _group("execution", *_format(), "prompt_column", "threads", "quiet", "traceback"),
    ),
    """\
exit codes: 0 done (Ctrl-C too), 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 143 terminated.
""",
    max_operands=None,
)

_STATS = Command(
    "stats",
    "lengths, origins and duplicates of prompts",
    "promptpress_workbench.cli.stats:stats",
    """\
Measure the prompts of some files: their lengths, the origins of their bytes, and their duplicates.

CONFIG is a configuration as for render, with samples from --data; no prompts are written. Or CONFIG is a file of
prompts that render wrote. Values of the data are printed with all unprintable characters escaped.
""",
    (
        *_config(),
        _JINJA,
        _DATA,
        _group("measurements", "prompt_column", "tokenizer", *OVERRIDES),
        _budget(),
        _ROWS,
        _group(
            "execution",
            "json",
            *_format("the format of the data or the prompts; default: by suffix"),
            *("batch_size", "threads"),
        ),
        _group("messages", _PROGRESS, "traceback"),
    ),
)

_AUDIT = Command(
    "audit",
    "find mistakes in all prompts of a table",
    "promptpress_workbench.cli.audit:audit",
    """\
Check all samples and their prompts for mistakes: answers in prompts, samples among their own examples, values treated
as templates or control tokens, equal prompts, empty prompts, and more. No model is needed. docs/audit.md lists all
findings.

CONFIG is a configuration as for render. Known findings can be allowed by code, with --allow or in the configuration:
audit: {allow: [CODE, ...]}.
""",
    (
        *_config(),
        _JINJA,
        _REQUIRED_DATA,
        _group(
            "checks",
            *("allow", "only"),
            *(Changed(name, keywords) for name, keywords in LIMIT_OPTIONS.items()),
            "tokenizer",
            _changed("mask", help="with --tokenizer: what is trained, as for tokenize; its mask is checked"),
            *OVERRIDES,
        ),
        _budget(),
        _ROWS,
        _group(
            "output",
            "format",
            _changed("out", required=False, help="write the findings into a file: .json, .jsonl, or any for a table"),
            *("fail_on", "color", _PROGRESS),
        ),
        _group("execution", *_format(), "batch_size", "threads", "traceback"),
    ),
    """\
exit codes: 0 no finding as serious as --fail-on, 1 such a finding or an unexpected error, 2 command line,
3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
""",
)


def _of_forms(name: str) -> Changed:
    """Return an option that only some forms of `export` have, with a help that names them."""
    forms = ", ".join(form for form, export in EXPORTS.items() if name in export.options)
    return _changed(name, help=f"{OPTIONS[name]['help']} ({forms})")


_INDENT = 21
_FORMS = "\n".join(
    fill(export.help, 110, initial_indent=f"  {name}".ljust(_INDENT), subsequent_indent=" " * _INDENT)
    for name, export in EXPORTS.items()
)

_EXPORT = Command(
    "export",
    "render files of samples for other programs",
    "promptpress_workbench.cli.export:export",
    f"""\
Render all samples into requests, and write them in the format of another program.

{_FORMS}

CONFIG is a configuration as for render, or a file whose column of prompts is exported as it is: one that render wrote,
or conversations. --output's default is openai, and text for token ids.
""",
    (
        _group("", "kind"),
        *_config(),
        _JINJA,
        _DATA,
        _group(
            "",
            _changed("out", metavar="PATH", help="the file, or the folder for datasets; - writes JSON lines to stdout"),
        ),
        _group(_OVERRIDES, *OVERRIDES, "prompt_column", "keep", "order"),
        _budget(
            _changed(
                "tokenizer",
                help="encode the prompts of token ids, or count tokens for the budget: a tokenizer.json, its folder, or"
                " a model",
            )
        ),
        _ROWS,
        _group(
            "requests (openai-batch, vllm-batch, litellm-batch)",
            *("model_name", "body", "body_columns", "custom_id", "url"),
            *("cache_control", "max_requests", "max_bytes"),
        ),
        _group("training data and rows", *map(_of_forms, TRAINING_OPTIONS)),
        _group("token ids", *map(_of_forms, (*EXPORTED_TOKEN_OPTIONS, "mask_column"))),
        _group(
            "execution",
            *_format(),
            *("batch_size", "threads", "no_clobber"),
            _changed(
                "errors",
                choices=("raise", "skip"),
                help="a row that can't be rendered ends the run (raise, default), or is left out (skip)",
            ),
        ),
        _group("messages", _PROGRESS, "unknown", "strict", "traceback"),
    ),
    f"{EXIT_CODES}Whatever goes wrong, either all files are there or none.\n",
    max_operands=2,
)

_RENDERED_AGAIN = "with --data, if --table is a configuration"
_JOIN = Command(
    "join",
    "join the results of batches to the rows of their requests",
    "promptpress_workbench.cli.join:join",
    """\
Join the results of batches to the rows of their requests by custom_id, in the order of the rows.

RESULTS are the output and error files of OpenAI's Batch API, vLLM or LiteLLM, in any order and number; results may be
missing. --table is the exported table: a rendered file, or the samples themselves if each of them is one request. With
--data, --table is the exported configuration, and the samples are rendered again.
""",
    (
        _group(
            "",
            *("results", "table"),
            _changed("out", help="rows and answers: .parquet, .arrow, .jsonl, .csv; - writes JSON lines to stdout"),
        ),
        _group(
            "ids and columns",
            _changed("custom_id", help="the pattern of the export; default: the default of export"),
            *("choices", "raw", "prefix"),
        ),
        _group("a second try", "retry", "requests"),
        _group(_RENDERED_AGAIN, "data", "examples"),
        *_model(),
        _group(_RENDERED_AGAIN, _changed("keep", help="columns to keep (all)"), *OVERRIDES),
        _budget(_COUNTING),
        _group(_RENDERED_AGAIN, "limit"),
        _group(
            "execution",
            *_format("the format of --data, or else of --table; default: by suffix"),
            *("no_clobber", "out_format", "compression", "threads"),
            _changed("quiet", help="no notes and no summary"),
            *("strict", "traceback"),
        ),
    ),
    f"{EXIT_CODES}Whatever goes wrong, --out is either complete or untouched.\n",
    max_operands=None,
)

_VERIFY = Command(
    "verify",
    "compare with the harness's own prompts",
    "promptpress_workbench.cli.verify:verify",
    """\
Render the rows of a dataset with the harness of CONFIG and with promptpress, and print the first difference.

CONFIG is a harness's dataset configuration, as for render. The harness (OpenCompass or AISBench) has to be installed.
It reads CONFIG itself, loads the dataset that CONFIG names, or takes the rows of --data and --examples, and runs
everything from its retriever to its model's parser. No model is loaded.

CONFIG may also be a YAML task of lm-evaluation-harness, whose requests are compared; or samples_TASK_DATE.jsonl of a
finished run, next to its results_DATE.json. Then the requests that were sent are compared with promptpress's requests
for the same documents. If the run used examples, --examples are the rows that they were drawn from.
""",
    (
        *_config("; 'all' compares every one"),
        _group(
            "",
            _changed(
                *("data", "--data", "--samples"),
                help="the samples; default: the dataset that CONFIG names, as the harness loads it",
            ),
            _changed("examples", help="the rows that examples come from, with --data"),
            "backend",
            _changed("num_fewshot", help="number of examples of a YAML task, instead of its own"),
            _changed(*("rows", "--rows", "--limit"), type=natural, metavar="N", help="only the first N samples"),
            _changed(
                "dialect",
                choices=("opencompass", "aisbench"),
                help="the harness; default: by the class names in CONFIG",
            ),
            *_format(),
            *("quiet", "traceback"),
        ),
    ),
    """\
exit codes: 0 all requests are equal, 1 a difference or an unexpected error, 2 command line, 3 configuration, or the
harness isn't installed, 4 data, or the dataset can't be loaded, 6 promptpress doesn't support the configuration,
130 interrupted, 143 terminated. With --dataset all or --model-abbr all: 1 if there is a difference, else the code of
an error, else 6.
""",
)

_FINGERPRINT = Command(
    "fingerprint",
    "identify a configuration by 64 digits",
    "promptpress_workbench.cli.render:fingerprint",
    """\
Print the fingerprint of a configuration and its examples: 64 hexadecimal digits that identify everything that decides
the bytes of the prompts.

CONFIG is a configuration as for render. Two runs with the same fingerprint make the same prompts from the same samples,
on any machine. Files that render wrote have the fingerprint in their metadata. For a harness's dataset, OpenCompass's
own prompt hash is printed too.
""",
    (
        *_config(),
        _JINJA,
        _group("", "examples"),
        _group(_OVERRIDES, *OVERRIDES),
        _budget(_COUNTING),
        _group("execution", "json", *_format("the format of --examples; default: by suffix"), "quiet", "traceback"),
    ),
)

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        *(_RENDER, _TOKENIZE, _SHOW, _DIFF, _VIEW, _STATS),
        *(_AUDIT, _EXPORT, _JOIN, _VERIFY, _FINGERPRINT),
    )
}
"""All commands by name, in the order of the help."""
