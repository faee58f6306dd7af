"""Files of samples, read, and files of prompts, written."""
