"""Under a running lm-evaluation-harness: its requests are built in bulk, its templates compiled once."""
