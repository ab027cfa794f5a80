"""What training minimizes: label-smoothed cross-entropy, alone or with the head, and metrics."""
