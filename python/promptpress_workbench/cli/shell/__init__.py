"""Parts that all commands share: options, exit codes, messages, progress, terminal output, threads."""
