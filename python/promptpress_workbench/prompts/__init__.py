"""One prompt for people: its text in pieces with their origins, the sources of prompts, search, and layout.

A source of prompts (`prompt_source`) has a renderer and samples (`renderer_source`), or rows that were rendered before
(`rendered_source`). Nothing here depends on a terminal or a browser; `layout` writes lines and HTML.
"""
