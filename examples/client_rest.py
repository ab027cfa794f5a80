"""Translates over REST, with the client code of TensorFlow Serving's documentation.

    keras-transformer serve exported/demo --port 8501
    python examples/client_rest.py "Hello, how are you?" "Sara does not like mice."

Prints a line for each text:

    Hello, how are you? -> Hola, ¿cómo estás? (-0.23)
    Sara does not like mice. -> A Sara no le gustan los ratones. (-0.35)
"""

import argparse
import json

import requests


def main() -> None:
    """Prints each text with its translation and score."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("texts", nargs="+", help="what to translate")
    parser.add_argument("--server", default="localhost:8501", help="default: localhost:8501")
    parser.add_argument("--model", default="demo", help="name of the model (default: demo)")
    arguments = parser.parse_args()

    url = f"http://{arguments.server}/v1/models/{arguments.model}:predict"
    data = json.dumps({"signature_name": "serving_default", "instances": arguments.texts})
    headers = {"content-type": "application/json"}
    json_response = requests.post(url, data=data, headers=headers, timeout=60)
    json_response.raise_for_status()
    predictions = json.loads(json_response.text)["predictions"]
    for text, prediction in zip(arguments.texts, predictions, strict=True):
        print(f"{text} -> {prediction['translation']} ({prediction['score']:.2f})")


if __name__ == "__main__":
    main()
