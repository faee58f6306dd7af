"""OpenICL: its single-sample prompt template."""
