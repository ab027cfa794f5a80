"""Keeps libraries that this package loads from reporting to their makers, which some do unless a
variable of the environment says otherwise when they start.
"""

import os
import sys

# onnxruntime 1.29 and newer writes a device's id and events to ~/.cache and sends them; Ray sends
# statistics of a cluster every hour.
SILENCED = {"ORT_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}


def silence() -> None:
    """Sets the variables that the user has not set, for this process and those that it starts.

    An onnxruntime that was loaded before has begun already: it is told to stop, but has written its
    files, and may send what it noted at its start.
    """
    decides = "ORT_DISABLE_TELEMETRY" not in os.environ
    for name, value in SILENCED.items():
        os.environ.setdefault(name, value)
    onnxruntime = sys.modules.get("onnxruntime")
    if decides and onnxruntime is not None:
        onnxruntime.disable_telemetry_events()
