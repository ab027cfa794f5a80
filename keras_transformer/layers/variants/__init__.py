"""What followed the paper and may replace its parts: other norms, other positions,
and integers for weights.
"""
