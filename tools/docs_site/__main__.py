"""Builds the documentation as a site.

    python tools/docs_site [--out FOLDER] [--sources-only]

Sphinx reads a folder of sources that is made anew here: README and docs/ (pages.py; reference.py writes what docs/ has
from the code's tables), and a page for each public module, filled from docstrings (api.py). A warning of Sphinx is an
error, and so are a public name that no page describes and a page that would load anything from elsewhere
(self_contained.py).
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from api import api_pages, undocumented
from pages import pages

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="docs_site", description="The documentation as a site.")
    parser.add_argument("--out", type=Path, default=PROJECT / "target" / "site", help="where it goes")
    parser.add_argument("--sources-only", action="store_true", help="write what Sphinx reads, and stop")
    arguments = parser.parse_args()
    sources = arguments.out / "sources"
    shutil.rmtree(arguments.out, ignore_errors=True)
    files = {**pages(PROJECT), **api_pages()}
    for name, content in files.items():
        path = sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if arguments.sources_only:
        return 0
    from self_contained import problems  # noqa: PLC0415 - and Sphinx isn't needed for what is above
    from sphinx.cmd.build import build_main  # noqa: PLC0415

    html = arguments.out / "html"
    code = build_main(["-W", "--keep-going", "-q", "-c", str(HERE), "-b", "html", str(sources), str(html)])
    if code != 0:
        return int(code)
    faults = problems(html) + [f"{name}: not on any page; has it a docstring?" for name in undocumented(html)]
    for problem in faults:
        print(problem, file=sys.stderr)
    if not faults:
        print(f"{sum(1 for _ in html.rglob('*.html'))} pages: {html / 'index.html'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
