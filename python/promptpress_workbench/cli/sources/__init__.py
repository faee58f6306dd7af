"""Sources of prompts for the command: configurations, Jinja templates, lm-eval tasks, rendered files."""
