"""Tests whose engine isn't installed are skipped; `make test-jinja` installs all of them."""

from __future__ import annotations

import importlib.util
import os

if importlib.util.find_spec("lm_eval"):
    # Before anything of theirs is imported; where they aren't, other tests in the same process see none of it.
    os.environ.update(TQDM_DISABLE="1", HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
collect_ignore_glob = [] if importlib.util.find_spec("jinja2") else ["test_*.py"]
# A program that imports lm-eval at once; without it, looking for examples in its docstrings would fail.
collect_ignore = [] if importlib.util.find_spec("lm_eval") else ["lm_eval_versions.py"]
