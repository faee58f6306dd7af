"""Files of samples that are read, outputs that are written, and tables made from the values that users pass."""
