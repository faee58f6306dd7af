"""The command `promptpress render`: streams of prompts, their files and metadata, many datasets, and resumed runs."""
