"""The exports of `promptpress.export`: lines and files of requests, and results joined to their rows."""
