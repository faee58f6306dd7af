"""Writes the tables of docs/jinja-compiled.md: each thing that Jinja has, and whether it is compiled.

    python tools/jinja_page [--check]

Nothing is written by hand: an example of each is compiled for a table and rendered. With `--check` nothing is written:
the exit code is 1 if the page isn't what that gives.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import promptpress
from promptpress._engine.table_engine import engine_of
from promptpress._jinja.compiler.compilation import TablePrograms
from promptpress._jinja.reference import Reference

from examples import EXPRESSIONS, FILTERS, FUNCTIONS, METHODS, STATEMENTS, TABLE, TESTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "jinja-compiled.md"
BLOCK = re.compile(r"(<!-- compiled: (\w+) -->\n).*?(<!-- /compiled -->)", re.DOTALL)
NAME = re.compile(r"(?<=the method) `\w+`|(?<=the filter) `\w+`|(?<=the test) `\w+`")
WIDTH = 120
ENVIRONMENTS = ("jinja2", "transformers", "lm_eval")


def outcome(source: str) -> tuple[str, str | None]:
    """In which environment a template is compiled, and why rows are Jinja2's if it isn't.

    Args:
        source: the template.

    Returns:
        The environment, of the first that knows all names in it; and the reason, None if all rows are compiled.

    """
    for environment in ENVIRONMENTS:
        try:
            template = promptpress.JinjaTemplate(source, environment=environment)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", promptpress.PromptWarning)
                template.render(TABLE)
        except promptpress.TemplateError:
            continue  # a tag or filter that this environment doesn't have
        except promptpress.RenderError as error:
            if "is undefined" in str(error) and environment != ENVIRONMENTS[-1]:
                continue
            return environment, f"raises, as Jinja2 does: {error.message}"
        run = template.last_run
        assert run is not None
        return environment, _reason(template, run) if run.jinja2 else None
    raise AssertionError(source)


def _reason(template: promptpress.JinjaTemplate, run: object) -> str:
    reference = Reference(
        engine_of(template).reference.source,
        engine_of(template).arguments["environment"],
        engine_of(template).arguments["now"],
    )
    programs = TablePrograms(reference, TABLE.schema)
    programs.for_table(TABLE)
    for compiled in programs.compiled():
        for bail in compiled.bails:
            return bail.reason
    return next(iter(run.reasons))  # type: ignore[attr-defined]


def _code(text: str) -> str:
    escaped = text.replace("|", r"\|")
    return f"`{escaped}`"


def _listed(sources: Iterable[str]) -> str:
    """Return what is compiled, and a table of what isn't, grouped by reason."""
    compiled, others = [], dict[str, list[str]]()
    for source in sources:
        whole = source if "%}" in source or "{#" in source else f"{{{{ {source} }}}}"
        environment, reason = outcome(whole)
        code = f"`{source}`" if reason is None else _code(source)
        where = "" if environment == "jinja2" else f" ({environment})"
        if reason is None:
            compiled.append(f"- {code}{where}" if whole == source else f"{code}{where}")
        else:
            others.setdefault(NAME.sub("", reason), []).append(f"{code}{where}")
    is_list = bool(compiled) and compiled[0].startswith("- ")
    text = "\n".join(compiled) if is_list else _filled("Compiled:", compiled)
    lines = [text if compiled else "None is compiled.", "", "| Jinja2 renders | because of |", "|---|---|"]
    lines += [f"| {', '.join(examples)} | {_escaped(reason)} |" for reason, examples in others.items()]
    return "\n".join(lines) + "\n"


def _filled(begin: str, items: list[str]) -> str:
    """Items in lines of at most 120 characters, none of them broken."""
    lines = [begin]
    for number, item in enumerate(items):
        text = f" {item}{',' if number + 1 < len(items) else '.'}"
        if len(lines[-1]) + len(text) > WIDTH:
            lines.append("")
        lines[-1] += text if lines[-1] else text[1:]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


def tables() -> dict[str, str]:
    """The tables by the names of their places."""
    return {
        "expressions": _listed(EXPRESSIONS),
        "statements": _listed(STATEMENTS),
        "filters": _listed(FILTERS.values()),
        "tests": _listed(TESTS.values()),
        "functions": _listed(FUNCTIONS.values()),
        **{f"methods_{kind}": _listed(examples.values()) for kind, examples in METHODS.items()},
    }


def main(arguments: list[str]) -> int:
    """Write the page, or look whether it would be the same."""
    made = tables()
    text = PAGE.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda match: f"{match[1]}{made[match[2]]}{match[3]}", text)
    if new == text:
        return 0
    if "--check" in arguments:
        print(f"{PAGE}: not what is compiled; python tools/jinja_page writes it", file=sys.stderr)
        return 1
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
