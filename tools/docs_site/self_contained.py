"""Checks that a site loads nothing from elsewhere: a link may lead out, but the parts of a page may not."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

LOADS = {
    **dict.fromkeys(("audio", "embed", "iframe", "script", "video"), ("src",)),
    **dict.fromkeys(("img", "source"), ("src", "srcset")),
    **dict.fromkeys(("image", "use"), ("href",)),
    "object": ("data",),
}
RELATIONS = {"stylesheet", "preload", "icon", "shortcut", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)")


class _Loads(HTMLParser):
    """Collects the addresses that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one tag."""
        given = dict(attrs)
        names = LOADS.get(tag, ())
        if tag == "link" and RELATIONS & set((given.get("rel") or "").split()):
            names = ("href",)
        self.addresses += [value for name in names if (value := given.get(name))]
        self.addresses += STYLE.findall(given.get("style") or "")


def problems(site: Path) -> list[str]:
    """Return what a site would load from elsewhere.

    Args:
        site: the folder of the site.

    Returns:
        A line for each, with the file's name.

    """
    faults = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            page = _Loads()
            text = path.read_text(encoding="utf-8")
            page.feed(text)
            loaded = page.addresses + STYLE.findall("".join(re.findall(r"<style.*?</style>", text, re.DOTALL)))
        elif path.suffix in (".css", ".svg"):
            loaded = STYLE.findall(path.read_text(encoding="utf-8"))
        else:
            continue
        outside = [address for address in loaded if re.match(r"(?:[a-z]+:)?//", address)]
        faults += [f"{path.relative_to(site)}: loads {address}" for address in outside]
    return faults
