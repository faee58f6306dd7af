"""Tools for those who look at prompts: the command, files, show, view, stats, audit, diff, export and join."""
