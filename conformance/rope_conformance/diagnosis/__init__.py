"""The likely cause of a failure: suspects, ranked by what they explain."""
