"""What vision-language-action policies share.

A prefix of images, text and state (`prefix`) goes through the layers of a language model (`layers`), which leave their
keys and values. An expert reads them while it turns noise into actions, step by step (`flow`).
"""
