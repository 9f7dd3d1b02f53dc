"""What policies share that are built on PaliGemma: π0 and π0.5.

PaliGemma reads images and text, and leaves keys and values (`backbone`). Beside it, a smaller Gemma turns noise into
actions (`expert`, `network`).
"""
