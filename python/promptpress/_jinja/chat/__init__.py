"""Chat templates over columns of conversations: a program for each shape, and Jinja2 where there is none."""
