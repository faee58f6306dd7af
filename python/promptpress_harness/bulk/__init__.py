"""The part that the harnesses' bulk backends share.

A harness makes prompts one by one, in its own loops. These loops stay as they are, but the methods that they call
return a placeholder for each sample instead of a prompt. When a placeholder reaches a parser, the text or
the messages come from a block of samples that was rendered at once (`rendering`). The harness's own code makes the
prompts of a call that isn't covered (`bulk_call`).
"""
