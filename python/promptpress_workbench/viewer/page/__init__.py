"""The page (`whole_page`, with `list_panel` and `figure_panels`) and its `server`: all that needs NiceGUI."""
