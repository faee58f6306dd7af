"""What `promptpress.export` is made of: forms of requests, lines and files, and results brought back."""
