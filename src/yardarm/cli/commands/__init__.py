"""The commands, one in each file; `run` gets the words after the name."""
