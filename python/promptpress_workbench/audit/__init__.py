"""The audit: mistakes and oddities in the prompts of a whole table.

`collect` renders batch by batch, without rows that can't be rendered, and runs the checks. A check (`check`) sees the
audited renderer (`subject`) and each `batch` of samples with their requests, and yields `findings`, whose `codes` have
severities, meanings and remedies. The other files have the checks, each those of a concern.
"""
