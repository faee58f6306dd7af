"""`promptpress view`: a local page that shows every prompt of a file.

`sample_store` gives any row at once, `catalogue` the renderers that can be chosen, `view` what one open page shows,
`search` what it looks for; `guard` and `server` are the door, and `page` with its `panels` what is seen. What a prompt
looks like, piece by piece, is `promptpress._view`'s, as in the terminal.
"""
