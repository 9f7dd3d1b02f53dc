"""The commands of ``yardarm dataset``, one per file."""
