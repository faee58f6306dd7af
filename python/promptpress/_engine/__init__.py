"""The engines of the public renderers: batches, schemas, kept columns, row errors, spans, notes."""
