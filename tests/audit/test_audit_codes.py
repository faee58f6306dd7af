"""The codes of findings: each has a case that triggers it, and those of notes are the core's."""

from __future__ import annotations

import re
from pathlib import Path

from promptpress._core import ODD_KINDS
from promptpress_workbench.audit.codes import CODES, NOTES, SEVERITIES
from promptpress_workbench.audit.values import KINDS

PROJECT = Path(__file__).resolve().parents[2]
NOTE = re.compile(r'(?:Note::(?:warning|info)|\bnote)\)?\(\s*"([a-z_]+)"')


def test_every_code_has_a_case():
    """Near misses are other rows of the same case, which a finding doesn't name, or a case of their own."""
    tests = "".join(
        path.read_text(encoding="utf-8") for path in sorted((PROJECT / "tests" / "audit").glob("test_*.py"))
    )
    for code in CODES:
        assert f'"{code}"' in tests, code


def test_codes_have_a_name_a_meaning_and_a_remedy():
    for code, entry in CODES.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", code), code
        assert entry.severity in SEVERITIES
        assert entry.meaning, code
        assert entry.remedy, code
        assert not entry.meaning.endswith("."), code
        assert "|" not in entry.meaning + entry.remedy, code
    assert not CODES.keys() & NOTES.keys()


def test_codes_of_notes_are_those_of_the_core():
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted((PROJECT / "src" / "lints").glob("*.rs")))
    assert set(NOTE.findall(sources)) == set(NOTES)


def test_kinds_of_characters_are_those_of_the_core():
    assert len(KINDS) == len(ODD_KINDS)
    for (code, _), name in zip(KINDS, ODD_KINDS, strict=True):
        assert name.split("_")[0] in code, (code, name)
