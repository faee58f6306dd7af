"""The modules whose examples run: those of the page need NiceGUI, which `make test-view` installs."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("nicegui") else ["promptpress_workbench/viewer/page/*"]
