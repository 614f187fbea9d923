"""The report of a run: its data, its JSON Schema, and how it is shown."""
