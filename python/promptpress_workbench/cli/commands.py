"""The commands of the command line: their help texts and options, without the code that runs them.

That code is imported when a command runs, because it would double the time of `--help`.
"""

from __future__ import annotations

from argparse import Namespace
from textwrap import fill
from typing import TYPE_CHECKING

from promptpress_workbench.audit.codes import LIMITS
from promptpress_workbench.cli.command import EXIT_CODES, Command
from promptpress_workbench.cli.options import (
    BUDGET_OPTIONS,
    FORMAT_OPTIONS,
    JINJA_OPTIONS,
    LM_EVAL_OPTIONS,
    MODEL_OPTIONS,
    OPTIONS,
    OVERRIDES,
    SEEN_TOKEN_OPTIONS,
    TEMPLATE_OPTIONS,
    TOKEN_OPTIONS,
    TWIN_OPTIONS,
    Keywords,
    option_name,
)
from promptpress_workbench.export.forms import EXPORTS
from promptpress_workbench.files.read.formats import FORMATS

if TYPE_CHECKING:
    from promptpress_workbench.cli.errors import ExitCode
    from promptpress_workbench.cli.settings import Settings


def render(settings: Settings, arguments: Namespace) -> ExitCode:
    """Render a configuration, all entries of a configuration, or an lm-eval task; return the exit code."""
    from promptpress_workbench.cli import lm_eval_tasks as tasks  # noqa: PLC0415 - --help needn't import what renders
    from promptpress_workbench.cli.jinja_sources import has_jinja_source  # noqa: PLC0415
    from promptpress_workbench.cli.render import render as render_one  # noqa: PLC0415

    if tasks.is_task(settings.config):
        return tasks.render_lm_eval(settings)
    tasks.refuse_lm_eval(arguments)
    if settings.takes_all and not has_jinja_source(settings):
        from promptpress_workbench.cli.render_all import render_all  # noqa: PLC0415 - a tenth of the start

        return render_all(settings, arguments.out)
    return render_one(settings)


def _help(**texts: str) -> dict[str, Keywords]:
    """Return changed help texts of options."""
    return {name: {"help": text} for name, text in texts.items()}


_SOURCES = ("config", "data", "examples", *TEMPLATE_OPTIONS, *MODEL_OPTIONS, *JINJA_OPTIONS)
_RULES = (*OVERRIDES, "tokenizer", *BUDGET_OPTIONS)
_OF_TASKS = ("system", "shots", "shots_seed", "chat_template", *LM_EVAL_OPTIONS)
_ROWS = ("where", "limit", "sample", "seed")
_WRITING = ("out", "out_format", "compression", "keep", "index", "errors", "no_clobber", "resume", "skip_corrupt")
_RUN = (*FORMAT_OPTIONS, "threads", "quiet", "traceback")
_BULK = (*_RUN, "batch_size", "progress")
_QUIET = _help(quiet="no progress bar, no notes and no summary")
_COUNTS = _help(tokenizer="count tokens: tokenizer.json, its folder, or cached model")
_SEEN_TOKENS = _help(
    tokenizer="show tokens: of a tokenizer.json, its folder, or a cached model",
    mask="with --tokenizer: fill the tokens that are trained",
)
_SKIPPED: dict[str, Keywords] = {
    "errors": {
        "choices": ("raise", "skip"),
        "metavar": "raise|skip",
        "help": "a row that can't be rendered ends the run (raise, default), or is left out (skip)",
    }
}
_ALSO_PROMPTS = "CONFIG is a prompt configuration, with samples from --data; or a file of prompts that render wrote."
_RENDER_EXIT_CODES = """\
exit codes: 0 done, 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 7 done except for the rows of
--skip-corrupt, or with --strict those of --errors, 130 interrupted, 141 nobody reads standard output, 143 terminated.
Whatever goes wrong, --out is either complete or untouched.
"""

_RENDER = Command(
    "render",
    "make",
    "render tables into prompts",
    "promptpress_workbench.cli.commands:render",
    "[CONFIG] --data FILE... --out FILE [options]",
    "Render each row of the samples into a prompt, and write the prompts into a file.",
    "promptpress render --template 'Q: {question} A:' --data questions.csv --out prompts.jsonl",
    ("data", "examples", "limit", "template", "system", "answer", "shots", "jinja", "chat_template", "keep", "out"),
    (
        *(*_SOURCES, *LM_EVAL_OPTIONS, *_RULES, *_ROWS, *_WRITING, *_BULK),
        *("turns", "order", "shared", "hashes", "print_first", "strict"),
    ),
    f"""\
CONFIG contains arguments of promptpress.Renderer (prompt_template, retriever, ...), a dataset dict of a harness
(reader_cfg, infer_cfg), or a list of those. A harness's Python file is read as data and never executed. --template,
--jinja or --chat-template can take the place of CONFIG. --chat-template also renders the messages of CONFIG. If CONFIG
is a YAML task of lm-evaluation-harness, the requests of that harness are written. Options of rendering override CONFIG.

The suffix decides the format of a file. Samples are read from
{", ".join("/".join(suffixes) for suffixes in FORMATS.values())};
.json is an array of objects, and any of them may end with .gz, .zst, .bz2 or .xz. JSON lines and CSV can be written
with .gz and .zst.
""",
    {
        **_QUIET,
        **_COUNTS,
        **_help(
            out="prompts: .parquet, .arrow, .jsonl, .csv; - is stdout",
            dataset=f"{OPTIONS['dataset']['help']}; all renders each one into a file in the folder --out",
            model_abbr=f"{OPTIONS['model_abbr']['help']}; all renders each one",
        ),
    },
    epilog=_RENDER_EXIT_CODES,
)

_TOKENIZE = Command(
    "tokenize",
    "make",
    "render tables into token ids",
    "promptpress_workbench.cli.render:tokenize",
    "[CONFIG] --data FILE... --tokenizer FILE --out FILE [options]",
    "Render each row of the samples, and write the token ids of the prompts: input_ids and n_tokens.",
    "promptpress tokenize --template 'Q: {question} A:' --data questions.csv --tokenizer tokenizer.json"
    " --out ids.parquet",
    ("data", "limit", "template", "jinja", "chat_template", "tokenizer", "max_tokens", "mask", "keep", "out"),
    (*_SOURCES, *_RULES, *TOKEN_OPTIONS, "turns", *_ROWS, *_WRITING, "strict", *_BULK),
    """\
The ids are those of the library tokenizers with the same tokenizer.json. CONFIG is a prompt configuration as for
render; --template, --jinja or --chat-template can take its place. --mask adds assistant_masks, true for the tokens that
are trained.
""",
    {**_QUIET, **_help(out="tokens: .parquet, .arrow, .jsonl"), "tokenizer": {"required": True}},
    epilog=_RENDER_EXIT_CODES,
)

_SHOW = Command(
    "show",
    "look",
    "show some prompts in the terminal",
    "promptpress_workbench.cli.show:show",
    "[CONFIG] --data FILE... [options]",
    "Show prompts as the model gets them, coloured by the origin of each piece.",
    "promptpress show --template 'Q: {question} A:' --data questions.csv --row 0-2",
    (
        *("data", "sample", "row", "grep", "longest", "template", "jinja", "chat_template"),
        *("tokenizer", "mask", "origins"),
    ),
    (
        *(*_SOURCES, *_RULES, "row", "grep", "longest", "shortest", "failed", "sample", "seed", "where", "max"),
        *("label", "turn", "whitespace", "origins", "color", *SEEN_TOKEN_OPTIONS, "ids", *_RUN),
    ),
    f"""\
{_ALSO_PROMPTS} Without an option that chooses rows, the first one is shown.

A piece is from the template, a column, an example, the model's meta template, or it is a masked answer. Chats that were
rendered to one text are coloured by role and control token. Characters that are invisible or would control the terminal
are shown as Python escapes (\\x1b, \\u202e). With --tokenizer, tokens stand apart, and those that --mask trains are
filled, or in brackets where there are no colours. A prepared data set of token ids is shown in the same way.
""",
    _SEEN_TOKENS,
    (("row", "grep", "longest", "shortest", "failed", "sample"),),
)

_DIFF = Command(
    "diff",
    "check",
    "compare the prompts of two configurations or files",
    "promptpress_workbench.cli.show:diff",
    "[A] [B] [--data FILE...] [options]",
    "Compare two ways of rendering the same samples: count the prompts that differ, and show the first of them.",
    "promptpress diff --template 'Q: {question} A:' --template-b 'Q: {question}' --data questions.csv",
    ("data", "where", "max", "template", "jinja", "model", "chat_template", "tokenizer", "mask", "json"),
    (*_SOURCES, "other", *_RULES, *SEEN_TOKEN_OPTIONS, "where", "max", "whitespace", "color", "json", *_RUN),
    f"""\
A and B are prompt configurations, or files of prompts that render wrote. Without B, both sides are A, and options for B
say what differs. Each of these options has a form with -b, such as --model-b, which is for B alone:
{", ".join(map(option_name, TWIN_OPTIONS))}.

With --tokenizer, token ids are compared, and with --mask what is trained; differences are grouped by the tokens that
differ and their place in the turn. A may be a prepared data set of token ids, which is compared with what the options
make of --data, or with B.
""",
    {
        **_help(
            tokenizer="compare token ids; or count tokens for a budget (--max-seq-len, --fit)",
            mask="with --tokenizer: compare what is trained, too",
        ),
        "config": {"metavar": "A", "help": "a prompt configuration, or a file of prompts"},
        "max": {"default": 3, "help": "show the first N differences (3)"},
        "json": {"help": "print the counts and the first differences as JSON"},
    },
    has_twins=True,
    epilog="""\
exit codes: 0 all prompts are equal, 1 a difference or an unexpected error, 2 command line, 3 configuration, 4 data,
5 output, 130 interrupted, 143 terminated.
""",
    max_operands=2,
)

_VIEW = Command(
    "view",
    "look",
    "browse all prompts in the browser",
    "promptpress_workbench.cli.view:view",
    "[CONFIG...] --data FILE... [options]",
    "Open a page in the browser that shows all prompts: search them, compare two models, see lengths and duplicates.",
    "promptpress view --template 'Q: {question} A:' --data questions.csv",
    ("data", "where", "limit", "template", "jinja", "model", "chat_template", "html", "row", "no_open", "port"),
    (
        *(*_SOURCES, *_RULES, *_ROWS, *SEEN_TOKEN_OPTIONS, "ids"),
        *("row", "html", "no_clobber", "no_open", "port", *_RUN),
    ),
    f"""\
{_ALSO_PROMPTS} With several configurations or models, the page can switch between them and compare two.

The page is served on this machine only, at an address with a secret part, until Ctrl-C. It loads nothing from
elsewhere. With --html FILE no page is opened; instead, some prompts are written into one file.
""",
    {
        **_SEEN_TOKENS,
        **_help(
            row="with --html: rows by number, from 0: 3,17,100-105; default: the first ten",
            dataset="the dataset to show first, if a file contains several",
            model_abbr="the model to show first, if a file contains several",
        ),
        "config": {"nargs": "*", "help": "prompt configurations, or one file of prompts"},
        "model": {"nargs": "+", "action": "extend", "help": "model configurations; two models are shown side by side"},
    },
    epilog="""\
exit codes: 0 done (Ctrl-C too), 1 unexpected, 2 command line, 3 configuration, 4 data, 5 output, 143 terminated.
""",
    max_operands=None,
)

_STATS = Command(
    "stats",
    "look",
    "measure lengths, origins and duplicates of prompts",
    "promptpress_workbench.cli.stats:stats",
    "[CONFIG] --data FILE... [options]",
    "Measure the prompts of a table: their lengths, the origins of their bytes, and their duplicates.",
    "promptpress stats --template 'Q: {question} A:' --data questions.csv",
    ("data", "examples", "where", "limit", "template", "jinja", "chat_template", "tokenizer", "prices", "json"),
    (*_SOURCES, *_RULES, *_ROWS, "prices", "expected_output", "json", *_BULK),
    f"{_ALSO_PROMPTS} No prompts are written. Unprintable characters of the data are escaped.",
    {**_QUIET, **_COUNTS},
)

_AUDIT = Command(
    "audit",
    "check",
    "find mistakes in all prompts of a table",
    "promptpress_workbench.cli.audit:audit",
    "[CONFIG] --data FILE... [options]",
    "Check all samples and their prompts for mistakes: answers in prompts, equal prompts, empty prompts, and more.",
    "promptpress audit --template 'Q: {question} A:' --answer answer --data questions.csv",
    ("data", "examples", "limit", "template", "answer", "jinja", "chat_template", "out", "allow", "only", "fail_on"),
    (
        *(*_SOURCES, *_RULES, *_ROWS, "mask", "out", "out_format", "allow", "only", "fail_on", "color"),
        *(f"max_{name}" for name in LIMITS),
        *_BULK,
    ),
    """\
No model is needed. docs/audit.md lists all findings. CONFIG is a prompt configuration as for render; it can allow known
findings as --allow does: audit: {allow: [CODE, ...]}.
""",
    {
        **_QUIET,
        **_COUNTS,
        **_help(
            mask="with --tokenizer: check the mask of trained tokens, as tokenize makes it",
            max_tokens=LIMITS["tokens"].help,
        ),
        "out": {"required": False, "help": "write the findings: .json, .jsonl, or a table"},
        "out_format": {
            "choices": ("table", "json", "jsonl"),
            "metavar": "table|json|jsonl",
            "help": "default: by suffix of --out, else a table",
        },
    },
    epilog="""\
exit codes: 0 no finding as serious as --fail-on, 1 such a finding or an unexpected error, 2 command line,
3 configuration, 4 data, 5 output, 130 interrupted, 143 terminated.
""",
)

_INDENT = 25
_FORMS = "\n".join(
    fill(export.help, 96, initial_indent=f"  {name}".ljust(_INDENT), subsequent_indent=" " * _INDENT)
    for name, export in EXPORTS.items()
)
_FORM_OPTIONS = tuple(dict.fromkeys(option for export in EXPORTS.values() for option in export.options))


def _of_forms(name: str) -> str:
    """Return the help of an option that only some forms of `export` have, with their names."""
    forms = [form for form, export in EXPORTS.items() if name in export.options]
    for ending in ("-batch", "-tokens"):
        family = [form for form in EXPORTS if form.endswith(ending)]
        others = [form for form in family if form not in forms]
        if len(others) < min(len(family) - 2, 2):
            forms = [form for form in forms if form not in family]
            forms.append(f"*{ending}" + "".join(f" but {form}" for form in others))
    return f"{OPTIONS[name]['help']} ({', '.join(forms)})"


_EXPORT = Command(
    "export",
    "hand on",
    "write prompts in the format of another program",
    "promptpress_workbench.cli.export:export",
    "FORM [CONFIG] --data FILE... --out PATH [options]",
    "Render each row of the samples into a request, and write the requests in the format of another program.",
    "promptpress export openai-batch --template '{question}' --data questions.csv --model-name gpt-4o-mini"
    " --out batch.jsonl",
    ("data", "limit", "template", "answer", "chat_template", "tokenizer", "out", "model_name", "params"),
    (
        *("kind", *_SOURCES, *LM_EVAL_OPTIONS, *_RULES, *_ROWS, *_FORM_OPTIONS, *_BULK),
        *("out", "keep", "order", "errors", "no_clobber", "cache_control", "prices", "expected_output"),
        *("strict", "allow"),
    ),
    f"""\
FORM is one of

{_FORMS}

CONFIG is a prompt configuration as for render. Or CONFIG is a file, and its column of prompts is exported as it is: one
that render wrote, or conversations. The default of --output is openai, and text for token ids.
""",
    {
        **_QUIET,
        **_SKIPPED,
        **{name: {"help": _of_forms(name)} for name in _FORM_OPTIONS if name not in ("answer", "params", "mask")},
        **_help(
            allow="train rows of which the chat template leaves out what an assistant says: message_left_out, "
            "tool_call_left_out",
            answer="the column of answers: examples and the assistant's last message",
            model_name="the model's name for the API",
        ),
        "out": {"metavar": "PATH", "help": "the file, or the folder for datasets; - is stdout"},
    },
    epilog=f"{EXIT_CODES}Whatever goes wrong, either all files are there or none.\n",
    max_operands=2,
)

_JOIN = Command(
    "join",
    "hand on",
    "join the results of batches to the rows of their requests",
    "promptpress_workbench.cli.join:join",
    "RESULTS... --table FILE --out FILE [options]",
    "Join the results of batches to the rows of their requests by custom_id, in the order of the rows.",
    "promptpress join results.jsonl --table questions.csv --out answers.jsonl",
    ("table", "data", "requests", "out", "custom_id", "choices", "raw", "prefix", "retry"),
    (
        *("results", "table", "data", "examples", *MODEL_OPTIONS, *_OF_TASKS, *_RULES, "limit", "keep", "out"),
        *("out_format", "compression", "no_clobber", "custom_id", "choices", "raw", "prefix", "retry", "requests"),
        *("predictions", "unanswered", "strict", *_RUN),
    ),
    """\
RESULTS are the output and error files of batches of OpenAI, Anthropic, Gemini, vLLM or LiteLLM, in any order and
number; results may be missing. --table is a rendered file, or the samples themselves if each of them is one request.
With --data, --table is the exported configuration, and the samples are rendered again with the options of rendering.
""",
    {
        **_COUNTS,
        **_help(
            data="the samples, if --table is a configuration",
            out="rows and answers: .parquet, .arrow, .jsonl, .csv; - is stdout",
            custom_id="the pattern of the export; default: the default of export",
            keep="columns to keep (all)",
            data_format="the format of --data, or else of --table; default: by suffix",
            quiet="no notes and no summary",
        ),
    },
    epilog=f"{EXIT_CODES}Whatever goes wrong, --out is either complete or untouched.\n",
    max_operands=None,
)

_VERIFY = Command(
    "verify",
    "for harnesses",
    "compare with the harness's own prompts",
    "promptpress_workbench.cli.verify:verify",
    "CONFIG [--data FILE...] [options]",
    "Render the rows of a dataset with a harness and with promptpress, and print the first difference.",
    "promptpress verify gsm8k_gen.py --limit 100",
    ("data", "examples", "limit", "shots", *MODEL_OPTIONS, "dialect", "backend"),
    (
        *("config", "data", "examples", "limit", "shots", *MODEL_OPTIONS, "dialect", "backend", "column"),
        *(*FORMAT_OPTIONS, "quiet", "traceback"),
    ),
    """\
CONFIG is a harness's dataset configuration, as for render. The harness (OpenCompass or AISBench) has to be installed.
It reads CONFIG itself, loads the dataset that CONFIG names, or takes the rows of --data and --examples, and runs
everything from its retriever to its model's parser. No model is loaded.

CONFIG may also be a YAML task of lm-evaluation-harness, whose requests are compared; or samples_TASK_DATE.jsonl of a
finished run, next to its results_DATE.json. Then the requests that were sent are compared with promptpress's requests
for the same documents. If the run used examples, --examples are the rows that they were drawn from.

CONFIG may also be a file of prompts that `render` wrote: its prompts are compared with the hash that it says.
""",
    {
        **_help(
            data="the samples; default: the dataset that CONFIG names",
            examples="the rows that examples come from, with --data",
            shots="a YAML task: N examples, instead of the task's number",
            dataset=f"{OPTIONS['dataset']['help']}; all compares each one",
            model_abbr=f"{OPTIONS['model_abbr']['help']}; all compares each one",
        ),
        "config": {"nargs": None, "help": "a harness's dataset configuration, a task or run of lm-eval, or prompts"},
        "dialect": {
            "choices": ("opencompass", "aisbench"),
            "metavar": "opencompass|aisbench",
            "help": "the harness; default: by the class names in CONFIG",
        },
    },
    epilog="""\
exit codes: 0 all requests are equal, 1 a difference or an unexpected error, 2 command line, 3 configuration, or the
harness isn't installed, 4 data, or the dataset can't be loaded, 6 promptpress doesn't support the configuration,
130 interrupted, 143 terminated. With --dataset all or --model-abbr all: 1 if there is a difference, else the code of
an error, else 6.
""",
)

_CHECK_TEMPLATE = Command(
    "check-template",
    "check",
    "say what a chat template reads and leaves out",
    "promptpress_workbench.cli.check_template:check_template",
    "DIR|FILE... [options]",
    "Render small conversations, and print what a chat template reads, leaves out and refuses.",
    "promptpress check-template chat_template.jinja",
    ("chat_argument", "allow", "fail_on", "json", "verbose"),
    ("paths", "chat_argument", "allow", "fail_on", "json", "verbose", "color", "quiet", "traceback"),
    "Several templates get a line each. docs/check-template.md explains the facts and their codes.",
    {"allow": {"help": "codes that are no findings: tools_left_out,message_left_out"}},
    epilog="""\
exit codes: 0 nothing that matters is left out, 1 a message, call or tool is left out or refused, or an unexpected
error, 2 command line, 3 a template can't be read, 5 output, 130 interrupted, 143 terminated.
""",
    max_operands=None,
)

_FINGERPRINT = Command(
    "fingerprint",
    "check",
    "identify a configuration by 64 digits",
    "promptpress_workbench.cli.render:fingerprint",
    "[CONFIG] [--examples FILE...] [options]",
    "Print 64 hexadecimal digits that identify everything that decides the bytes of the prompts, except the samples.",
    "promptpress fingerprint --template 'Q: {question} A:'",
    ("examples", "template", "system", "answer", "shots", "jinja", "model", "chat_template", "json"),
    (*(name for name in _SOURCES if name != "data"), *_RULES, "json", *FORMAT_OPTIONS, "quiet", "traceback"),
    """\
CONFIG is a prompt configuration as for render. Two runs with the same fingerprint make the same prompts from the same
samples, on any machine. Files that render wrote have the fingerprint in their metadata. For a harness's dataset,
OpenCompass's own prompt hash is printed too.
""",
    {**_COUNTS, **_help(data_format="the format of --examples; default: by suffix")},
)

_COMPLETION = Command(
    "completion",
    "for the shell",
    "print the script that completes commands, options and values",
    "promptpress_workbench.cli.completion:completion",
    "SHELL",
    "Print a script for the shell, which completes commands, options, choices and files when Tab is pressed.",
    "promptpress completion bash > ~/.local/share/bash-completion/completions/promptpress",
    (),
    ("shell", "traceback"),
    "zsh reads such a script from a folder of fpath, as _promptpress; fish from ~/.config/fish/completions.",
    {"shell": {"help": "bash, zsh or fish"}},
)

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        *(_RENDER, _TOKENIZE, _SHOW, _VIEW, _STATS, _DIFF, _AUDIT, _CHECK_TEMPLATE),
        *(_FINGERPRINT, _EXPORT, _JOIN, _VERIFY, _COMPLETION),
    )
}
"""All commands by name, in the order of the help."""
