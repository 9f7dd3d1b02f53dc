"""What a terminal or a log file shows while a command runs, and its results."""
