"""Statistics of requests over whole tables: `collect` makes `statistics`, which `report` prints."""
