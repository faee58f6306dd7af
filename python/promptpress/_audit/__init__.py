"""The audit: mistakes and oddities in the prompts of a whole table.

| file | content |
|---|---|
| `codes` | the codes of findings, with their severities, meanings and remedies |
| `finding` | one finding, its rows, and the table of all findings |
| `subject` | the audited renderer, and what its configuration and the schema say |
| `row_numbers`, `texts`, `batch` | row numbers, texts and samples with their requests, as the checks read them |
| `bad_rows` | the rows that can't be rendered |
| `token_batches` | the tokens of the requests, encoded once for all checks |
| `example_rows`, `text_matches` | the rows of examples, and searches for texts in columns |
| `checks/` | a file for each concern |
| `collect` | renders batch by batch and runs the checks |
| `report`, `html` | findings as a page of text, and as HTML for notebooks |
"""
