"""Characters that mark stretches of a rendered text."""

MARKS = ("\ufdd0", "\ufdd1")
"""The characters before and after the text of a `{% generation %}` block where blocks are marked: noncharacters."""
