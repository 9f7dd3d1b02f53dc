"""What the commands say themselves: results, live pages, how to go on after an interruption."""
