"""lm-evaluation-harness's tasks: their requests as a table, and under the running harness."""
