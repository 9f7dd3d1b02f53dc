"""What a terminal or a log file shows while a command works, and what came of it."""
