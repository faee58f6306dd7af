"""The part that the harnesses' single-sample classes share.

A harness's own module holds what differs, as data or as an override, with a line that says which harness does it.
"""
