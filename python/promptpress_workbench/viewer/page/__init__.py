"""The page (`whole_page`, with `figure_panels`) and its `server`: all that needs NiceGUI."""
