"""Formats that people read: pages, manuals, subtitles and the files of office programs."""
