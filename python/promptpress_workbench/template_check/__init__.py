"""The check of a chat template: what it reads and leaves out, each with a conversation that shows it."""
