"""LeRobot's spellings: its commands and flags, where they differ from Yardarm's own."""
