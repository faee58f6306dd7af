"""What a prompt looks like to people: pieces with their origins, and where prompts are taken from.

Nothing here knows of terminals or browsers but `html`, which writes pieces as HTML. A prompt is made by a source
(`prompt_source`): a renderer and samples (`renderer_source`), or rows that were rendered before (`rendered_source`).
"""
