"""The audit: what is wrong, or odd, in a whole table's prompts.

| file | what it knows |
|---|---|
| `codes` | which findings there are, how serious each is, what it means and what to do |
| `finding` | one finding, its rows, and the table of all |
| `subject` | what is known before any sample is seen |
| `texts` | the texts within a column, or within requests, as arrays |
| `batch` | some samples with their requests |
| `collect` | goes over the batches, and asks each check |
| `checks/` | a concern each |
| `report` | findings as a page of text, and as plain data |
"""
