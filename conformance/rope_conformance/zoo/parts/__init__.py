"""What members of the zoo are made of: honest RoPEs in parts, not from rope_ref."""
