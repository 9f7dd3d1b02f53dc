"""Teleoperators: what a person moves."""
