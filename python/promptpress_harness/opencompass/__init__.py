"""OpenCompass: its single-sample classes, and the bulk backend of a running OpenCompass."""
