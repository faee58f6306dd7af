"""lm-evaluation-harness's tasks: from the configuration and the documents to all requests, in bulk."""
