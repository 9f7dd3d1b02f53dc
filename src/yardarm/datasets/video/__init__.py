"""Videos of datasets: encodes them in the background, joins them without encoding again, and decodes single frames."""

from yardarm.datasets.video.decoding import VideoReaders, check_backend
from yardarm.datasets.video.encoding import BackgroundEncoder, VideoEncoding, pieces_of, video_info
from yardarm.datasets.video.joining import Segment, can_be_copied, join_segments, kind_of_video, open_video

__all__ = [
    "BackgroundEncoder",
    "Segment",
    "VideoEncoding",
    "VideoReaders",
    "can_be_copied",
    "check_backend",
    "join_segments",
    "kind_of_video",
    "open_video",
    "pieces_of",
    "video_info",
]
