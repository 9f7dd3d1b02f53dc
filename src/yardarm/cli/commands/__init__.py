"""The commands, one per file; `run` gets the words after the command's name."""
