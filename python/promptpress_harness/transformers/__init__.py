"""The drop-in for transformers' chat templates."""
