"""What a black box is, read from what it does to unit vectors."""
