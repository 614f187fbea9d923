"""Real numbers to any digits, and the cos and sin kernel."""
