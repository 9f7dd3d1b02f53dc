"""Parts of networks that architectures share, and the way between numpy and torch."""
