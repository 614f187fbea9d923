"""Model configs opened and put into words: what `rope-ref describe` shows."""
