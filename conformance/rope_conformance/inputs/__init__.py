"""What a target is given: strategies and the fixed inputs where RoPEs break, by surface."""
