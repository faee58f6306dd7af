"""What the harnesses' bulk backends have in common.

A harness makes prompts one by one, in loops of its own. These loops stay as they are. What they call gives them
placeholders instead of prompts (`prompts`), one for each sample; where a placeholder comes to a parser, the text or the
messages are taken from a block of samples that was rendered in one go (`rendering`). Whatever can't be done so is done
by the harness's own code (`bulk_call`).
"""
