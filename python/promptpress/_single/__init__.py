"""What the single-sample classes of the harnesses have in common.

A harness's own module holds what differs, as data or as an override, with a line that says which harness does it.
"""
