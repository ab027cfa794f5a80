"""A client with short requests, one after the other, and beside it many clients with long ones."""

import http.client
import json
import random
import threading
import time
from typing import Any

from speed.serving import serve

_HEAD = {"Content-Type": "application/json"}
_PATIENCE_SECONDS = 300.0


class MixedClients:
    """What the benchmark asks of the clients' process."""

    def drive(
        self,
        port: int,
        path: str,
        short: Any,
        long: Any,
        clients: int,
        seconds: float,
        pause: float,
    ) -> dict[str, Any]:
        """Drives a server on the loopback interface.

        Args:
            port: Its port.
            path: The path that both kinds of requests go to.
            short: The body of the short requests.
            long: That of the long ones.
            clients: Clients with long requests; 0 for none.
            seconds: How long requests are sent.
            pause: Seconds between an answer and the next short request at most, drawn at random.

        Returns:
            "latencies" of the short requests in seconds; "answers", the different ones of these;
            "long", the number of long requests that were answered, and "seconds" until the last.
        """
        begin = time.perf_counter()
        end, long_answers = begin + seconds, []

        def repeat() -> None:
            while time.perf_counter() < end:
                long_answers.append(_ask(port, path, long))

        others = [threading.Thread(target=repeat) for _ in range(clients)]
        for thread in others:
            thread.start()
        latencies, answers, draw = [], set(), random.Random(0)
        while time.perf_counter() < end:
            time.sleep(draw.uniform(0, pause))
            sent = time.perf_counter()
            answers.add(_ask(port, path, short))
            latencies.append(time.perf_counter() - sent)
        for thread in others:
            thread.join()
        return {
            "latencies": latencies,
            "answers": sorted(answers),
            "long": len(long_answers),
            "long_answers": sorted(set(long_answers)),
            "seconds": time.perf_counter() - begin,
        }


def _ask(port: int, path: str, body: Any) -> str:
    """Returns the text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    connection.request("POST", path, json.dumps(body), _HEAD)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {content[:200]!r}")
    found = json.loads(content)
    return json.dumps(found["choices"] if "choices" in found else found["predictions"])


if __name__ == "__main__":
    serve(MixedClients())
