"""Rendering by Jinja2 that knows where each byte comes from: values carry their origins through all operations."""
