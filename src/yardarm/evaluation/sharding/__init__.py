"""Evaluations in parts: which episodes a shard has, and how shards are merged."""
