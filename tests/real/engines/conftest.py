"""Modules that import engines hold no doctests, and the engines may not be there."""

collect_ignore_glob = ["run_*.py", "counted.py"]
