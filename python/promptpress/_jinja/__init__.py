"""Jinja templates over tables: compiled to programs of the core, and by Jinja2 itself where that isn't certain."""
