"""Arrow values on their way into the core and out of it: text of values, row selection, validation, sizes."""
