"""What followed the paper and may replace its parts: other norms, other positions, a recurrence,
integers for weights, and layers that are not trained.
"""
