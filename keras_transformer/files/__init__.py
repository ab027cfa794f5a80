"""Files of the trade, such as catalogues, subtitles and pages: their texts are translated, the rest
of each file is left as it is.
"""
