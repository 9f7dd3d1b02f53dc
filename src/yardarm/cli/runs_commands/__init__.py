"""The commands of ``yardarm runs``, one file each."""
