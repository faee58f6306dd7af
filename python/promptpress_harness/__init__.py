"""Drop-in parts for the harnesses: single-sample classes, bulk backends, lm-eval tasks."""
