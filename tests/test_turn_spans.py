"""`explain` and `divergence` of conversations and chats against what `render` gives, and against plain Python."""

from __future__ import annotations

from pathlib import Path

import promptpress as pp
import pytest
from case_files import FOLDER, read_cases
from marks import UNWARNED
from turn_parts import check_divergence, check_every_request

# Notes on odd configurations are no part of this.
pytestmark = UNWARNED


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("c[ho]*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_case_of_the_files(path: Path) -> None:
    covered = rendered = 0
    for case in read_cases(path.read_text(encoding="utf-8")):
        try:
            pp.Renderer(**case.settings)
        except pp.TemplateError:
            continue
        requests = check_every_request(case.settings, case.samples)
        check_divergence(case.settings, case.samples, set(case.samples.column_names))
        covered += len(requests)
        rendered += len(case.expected.get("prompts", []))
    assert covered or not rendered
