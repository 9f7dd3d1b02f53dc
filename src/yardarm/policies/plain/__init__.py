"""Plain functions and torch modules as policies."""
