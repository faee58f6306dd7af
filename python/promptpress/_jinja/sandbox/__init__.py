"""Jinja2 within limits: sandboxed environments, bounded filters, calls and regular expressions."""
