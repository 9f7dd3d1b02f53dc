"""The commands of ``yardarm dataset``, one in each file."""
