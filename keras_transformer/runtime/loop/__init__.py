"""The decode loop: from requests to candidates, step by step, in numpy."""
