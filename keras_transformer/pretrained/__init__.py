"""Models that were trained elsewhere: reads their files into ours, and writes ours as theirs."""
