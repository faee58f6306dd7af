"""Random cases: the same ones in every CI run, others in every run by hand.

A case that a change didn't break must not stop it from landing; by hand new ones are looked for.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
settings.register_profile("hand", print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "hand")
