"""What is judged: its claim and rule, how it is called, whose arrays it takes, what it changes."""
