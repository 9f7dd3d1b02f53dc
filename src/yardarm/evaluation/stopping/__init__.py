"""Early stopping: what is declared before the first episode, and who judges the outcomes in the planned order."""
