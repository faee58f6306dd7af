"""The codes of findings: each has a case that triggers it, the page lists it, and those of notes are the core's."""

from __future__ import annotations

import re
from pathlib import Path

from promptpress._audit.checks.characters import KINDS
from promptpress._audit.codes import CODES, NOTES, SEVERITIES
from promptpress._core import ODD_KINDS

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "audit.md"
NOTE = re.compile(r'(?:Note::(?:warning|info)|\bnote)\)?\(\s*"([a-z_]+)"')


def lines() -> list[str]:
    """The tables of docs/audit.md."""
    own = [f"| `{code}` | {one.severity} | {one.meaning} | {one.remedy} |" for code, one in CODES.items()]
    return [*own, *(f"| `{code}` | {meaning} |" for code, meaning in NOTES.items())]


def test_the_page_lists_every_code_as_the_table_has_it():
    listed = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert listed == lines()


def test_every_code_has_a_case():
    """Near misses are other rows of the same case, which a finding doesn't name, or a case of their own."""
    tests = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "tests").glob("test_audit_*.py")))
    for code in CODES:
        assert f'"{code}"' in tests, code


def test_codes_are_named_and_said():
    for code, one in CODES.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code), code
        assert one.severity in SEVERITIES
        assert one.meaning, code
        assert one.remedy, code
        assert not one.meaning.endswith("."), code
        assert "|" not in one.meaning + one.remedy, code
    assert not CODES.keys() & NOTES.keys()


def test_codes_of_notes_are_those_of_the_core():
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "src" / "notes").glob("*.rs")))
    assert set(NOTE.findall(sources)) == set(NOTES)


def test_kinds_of_characters_are_those_of_the_core():
    assert len(KINDS) == len(ODD_KINDS)
    for (code, _), name in zip(KINDS, ODD_KINDS, strict=True):
        assert name.split("_")[0] in code, (code, name)
