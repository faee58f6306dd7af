"""README and docs/ as sources of the site: the same texts, with links that hold there."""

from __future__ import annotations

import os
import re
from pathlib import Path

# In the order in which they are to be read; what isn't named comes after these by itself.
LEARN = ["recipes", "start", "guide", "sources"]
DO = [
    *("messages", "conversations", "media", "harness-configurations", "prompt-files", "jinja", "tokens"),
    *("budgets", "export", "prefix-order", "command", "view", "origins", "notes", "audit", "reproduce", "faults"),
    *("scale", "integrations", "backends", "verify"),
]
LOOK_UP = [
    *("commands", "api/index", "errors", "jinja-compiled", "fidelity", "glossary"),
    *("benchmarks", "benchmarks-tables", "reliability"),
]
WHY = ["design"]
PROJECT_PAGES = {
    "README.md": "index.md",
    "README.zh-CN.md": "zh-CN.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}

PICTURES = ("svg", "png", "jpg", "gif", "webp")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
REPOSITORY = re.compile(r'^Repository = "(.*)"$', re.MULTILINE)


def pages(project: Path) -> dict[str, str | bytes]:
    """The sources by their names in the site.

    Args:
        project: the project's folder.

    Returns:
        Texts, and pictures as bytes.

    """
    sources = {name: project / origin for origin, name in PROJECT_PAGES.items()}
    docs = project / "docs"
    sources |= {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))}
    pictures = {path.relative_to(docs).as_posix(): path for form in PICTURES for path in docs.rglob(f"*.{form}")}
    files: dict[str, str | bytes] = {name: path.read_bytes() for name, path in pictures.items()}
    links = _Links(project, {path: name for name, path in {**sources, **pictures}.items()})
    for name, path in sources.items():
        text = links.of_the_site(path.read_text(encoding="utf-8"), path.parent, name)
        files[name] = text.replace("```mermaid\n", "```text\n")  # what draws it would have to be loaded from elsewhere
    listed = {*LEARN, *DO, *LOOK_UP, *WHY}
    others = [page for page in (source.removesuffix(".md") for source in sources) if page not in listed]
    files["index.md"] = f"{files['index.md']}\n{_contents(others)}"
    return files


class _Links:
    """Links as the site has them: to pages and pictures of its own, or into the repository."""

    def __init__(self, project: Path, named: dict[Path, str]) -> None:
        match = REPOSITORY.search((project / "pyproject.toml").read_text(encoding="utf-8"))
        if match is None:
            raise ValueError("pyproject.toml: project.urls has no Repository")
        self._project, self._named = project, named
        self._pages = f"{match[1]}/blob/main/"
        self._files = f"{match[1].replace('//github.com/', '//raw.githubusercontent.com/')}/main/"

    def of_the_site(self, text: str, folder: Path, name: str) -> str:
        """Return the text of the page `name`, whose links are from a folder of the project."""
        up = "../" * name.count("/")

        def link(match: re.Match[str]) -> str:
            target = self._of_the_site(match[2], folder)
            is_page = target.partition("#")[0] in self._named.values()
            return f"{match[1]}{up if is_page else ''}{target}{match[3]}"

        return LINK.sub(link, text)

    def _of_the_site(self, link: str, folder: Path) -> str:
        for prefix in (self._pages, self._files):
            if link.startswith(prefix):
                folder, link = self._project, link.removeprefix(prefix)
        if "://" in link or link.startswith("#"):
            return link
        file, mark, anchor = link.partition("#")
        target = Path(os.path.normpath(folder / file))
        if target in self._named:
            return self._named[target] + mark + anchor
        if not target.exists():
            return link  # Sphinx says so, and where
        return f"{self._pages}{target.relative_to(self._project).as_posix()}{mark}{anchor}"


def _contents(others: list[str]) -> str:
    """Tables of contents, for the side of each page."""
    project = [page for page in others if f"{page}.md" in PROJECT_PAGES.values() and page not in ("index", "zh-CN")]
    reasons = [page for page in others if page.startswith("design/")]
    new = [page for page in others if f"{page}.md" not in PROJECT_PAGES.values() and page not in reasons]
    parts = {
        "Learn": LEARN,
        "Do": [*DO, *new],
        "Look up": LOOK_UP,
        "Reasons": [*WHY, *reasons],
        "Project": ["中文 <zh-CN>", *project],
    }
    lines = []
    for caption, names in parts.items():
        lines += ["```{toctree}", ":hidden:", ":maxdepth: 2", f":caption: {caption}", "", *names, "```", ""]
    return "\n".join(lines)
