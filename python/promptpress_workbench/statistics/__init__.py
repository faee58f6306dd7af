"""Statistics of requests over whole tables: `collect` makes what `statistics` holds and prints."""
