"""The commands of ``yardarm robot``, one per file."""
