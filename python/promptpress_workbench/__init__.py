"""Tools for people who look at prompts: the command, files in and out, show, view, stats, audit, diff, export and join."""
