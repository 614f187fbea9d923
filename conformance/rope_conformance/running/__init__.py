"""A run from settings to verdicts: settling, discovery, shrinking, isolation, waivers."""
