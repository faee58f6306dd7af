"""The audit: mistakes and oddities in the prompts of a whole table.

| file | content |
|---|---|
| `codes` | the codes of findings, with their severities, meanings and remedies |
| `finding` | one finding, its rows, the table of all findings, and arrays of row numbers |
| `subject` | the audited renderer, and what its configuration and the schema say |
| `texts`, `batch` | texts and samples with their requests, as the checks read them |
| `token_batches` | the tokens of the requests, encoded once for all checks |
| `searches` | searches for texts in columns, and the rows of examples |
| `checks/` | a file for each concern |
| `collect` | renders batch by batch, without rows that can't be rendered, and runs the checks |
| `report` | findings as a page of text, and as HTML for notebooks |
"""
