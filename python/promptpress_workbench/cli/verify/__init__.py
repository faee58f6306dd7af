"""The command `verify`, which compares promptpress's prompts with those of the installed harness."""
