"""The viewer: shows runs live in the browser, with videos rendered on demand; datasets; twins, and arms that move."""

from yardarm.viewer.dataset_catalogue import DatasetCatalogue
from yardarm.viewer.server import (
    FIRST_PORT,
    Listening,
    ViewOptions,
    serve_datasets,
    serve_twin,
    serve_viewer,
    served_control,
)

__all__ = [
    "FIRST_PORT",
    "DatasetCatalogue",
    "Listening",
    "ViewOptions",
    "serve_datasets",
    "serve_twin",
    "serve_viewer",
    "served_control",
]
