"""What the distance between a query and a key, or their segments, add to their score."""
