"""Jinja templates over tables: compiled to programs of the core, or rendered by Jinja2 where that isn't certain."""
