"""What of these tests needs an engine that isn't installed here is skipped; `make test-jinja` brings all of them."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("jinja2") else ["test_*.py"]
