"""Fingerprints: whether two renderers write the same bytes, and whether two runs sent the same requests."""
