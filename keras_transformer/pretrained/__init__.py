"""Models that were trained elsewhere: reads their files into our models, and writes ours as theirs."""
