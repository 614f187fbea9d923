"""Honest parts that the members of the zoo are made of, not taken from rope_ref."""
