"""Two ways of rendering the same samples, request by request: how many differ, which, and where."""
