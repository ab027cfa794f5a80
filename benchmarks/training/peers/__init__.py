"""The engines: ours and its peers, one file each, run as `python -m training.peers.NAME`."""
