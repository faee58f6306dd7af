"""Statistics of requests over whole tables: collected (`collect`), kept (`statistics`), and shown (`*_report`)."""
