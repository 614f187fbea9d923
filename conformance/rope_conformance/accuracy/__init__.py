"""How wrong is wrong: profiles, the derived bound, the residual, and what a run saw of them."""
