"""The typed records in `manifest.json` and `training.json`; `docs/run-folder.md` describes the same for readers."""
