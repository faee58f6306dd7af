"""The page and its server: all that needs NiceGUI.

`whole_page` builds the page, with `list_panel` and `figure_panels`. `routes` answers the fetches of the page's own
script in `static/`, and `server` serves it all.
"""
