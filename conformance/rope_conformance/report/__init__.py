"""What came out of a run, and how it is shown."""
