"""What is judged: its claim, how it is called, whose arrays it takes, what it leaves alone."""
