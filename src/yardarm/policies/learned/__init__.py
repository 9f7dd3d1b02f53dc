"""Learned policies: what they share, whatever their architecture. `yardarm.policies.learning` is the door to it."""
