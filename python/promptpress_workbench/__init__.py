"""What people do with prompts: the command, files in and out, show, view, stats, audit, diff, export and join."""
