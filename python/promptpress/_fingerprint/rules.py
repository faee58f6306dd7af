"""The number of the rules: which bytes this version makes of a configuration."""

RULES = 1
"""To be raised by one whenever some configuration and table come out otherwise than in the version before.

Fingerprints of before and after differ then, as the prompts do. tests/fingerprint/test_fingerprint_rules.py holds
hashes of tables and fingerprints fixed, and says when it is time.
"""
