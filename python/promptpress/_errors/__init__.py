"""Error classes, the errors of files, and the remedies and suggestions that their messages end with."""
