"""The page and its server: all that needs NiceGUI.

`whole_page` puts together what is seen, from `choice_fields`, `list_panel`, `length_panel` and `help_dialog`; `routes`
is what the page's own script in `static/` fetches, and `server` serves it.
"""
