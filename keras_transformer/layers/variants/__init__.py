"""What followed the paper and may replace its parts: other norms and other positions."""
