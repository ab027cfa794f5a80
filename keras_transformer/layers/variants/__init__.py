"""What followed the paper and may replace its parts: other norms, other positions, a recurrence,
and integers for weights.
"""
