// What the page asks the server, and the server's refusals in words.

import { keyHeaders, renewKey } from "./key.js";

export class ServerError extends Error {
  constructor(message, detail = "") {
    super(message);
    this.detail = detail;
  }
}

const IN_WORDS = {
  400: "The server does not accept this text.",
  401: "The server asks for an API key. Reload the page to enter one.",
  404: "The server does not know this model any more.",
  413: "This text is too large for the server.",
  429: "The server has more to do than it can take on. Try again in a moment.",
  503: "The server is not ready: it loads a model, or shuts down.",
  504: "The answer took longer than the server allows. Try a shorter text.",
};

// Yields {piece} for each piece of text as it comes, at last {translation} or {text}.
export async function* streamAnswer(model, text, options, signal) {
  const body = { text, ...options };
  const response = await ask(`v1/models/${encodeURIComponent(model)}:stream`, body, signal);
  for await (const { event, data } of serverSentEvents(response)) {
    const answer = JSON.parse(data);
    if (event === "error") throw new ServerError("The answer broke off.", answer.error);
    yield answer;
    if (event === "done") return;
  }
  throw new ServerError("The answer broke off: the connection was closed.");
}

// Returns {sentences, gaps}: each sentence with {source, source_pieces, hypotheses}, the best
// hypothesis first, and what stands before each sentence's translation and behind the last one.
export async function explain(model, text, options, signal) {
  const body = { text, ...options };
  const response = await ask(`v1/models/${encodeURIComponent(model)}:explain`, body, signal);
  return response.json();
}

// Returns what a signature answers to one row of inputs: an object of outputs, or the only one.
export async function predict(model, signature, row, signal) {
  const body = { signature_name: signature, instances: [row] };
  const response = await ask(`v1/models/${encodeURIComponent(model)}:predict`, body, signal);
  return (await response.json()).predictions[0];
}

// Returns {content, translated, left, low_confidence, warnings}: the translated file as a Blob, how
// many texts were translated and left, and those that should be looked at.
export async function translateFile(model, file, options, signal) {
  const query = new URLSearchParams({ name: file.name, ...options });
  const path = `v1/models/${encodeURIComponent(model)}:translate_file?${query}`;
  const answer = await (await ask(path, file, signal)).json();
  const bytes = Uint8Array.from(atob(answer.content), (one) => one.charCodeAt(0));
  return { ...answer, content: new Blob([bytes], { type: "application/octet-stream" }) };
}

// Returns the names of a model's signatures.
export async function signatureNames(model, signal) {
  const response = await ask(`v1/models/${encodeURIComponent(model)}/metadata`, undefined, signal);
  return Object.keys((await response.json()).metadata.signature_def.signature_def);
}

// Returns {languages, names_source, source_language, target_language}: codes to choose between, none
// if the model has no choice, whether the text's own language is chosen, too, and the defaults.
export async function languagesOf(model, signal) {
  return (await ask(`v1/models/${encodeURIComponent(model)}/languages`, undefined, signal)).json();
}

// Returns the newest version that answers.
export async function availableVersion(model, signal) {
  const response = await ask(`v1/models/${encodeURIComponent(model)}`, undefined, signal);
  const { model_version_status: all } = await response.json();
  const versions = all.filter(({ state }) => state === "AVAILABLE").map((one) => Number(one.version));
  if (!versions.length) throw new ServerError(IN_WORDS[503]);
  return Math.max(...versions);
}

// Sends a body, an object as JSON and a file as it is; gets what is there if there is none.
async function ask(path, body, signal) {
  const isFile = body instanceof Blob;
  const request = body && { method: "POST", body: isFile ? body : JSON.stringify(body) };
  const type = body && { "Content-Type": isFile ? "application/octet-stream" : "application/json" };
  const key = keyHeaders();
  let response;
  try {
    response = await fetch(path, { ...request, headers: { ...key, ...type }, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServerError("The server cannot be reached.");
  }
  if (response.ok) return response;
  if (response.status === 401 && (await renewKey(key))) return ask(path, body, signal);
  const { error: detail = "" } = await response.json().catch(() => ({}));
  const words = IN_WORDS[response.status] ?? `The server failed (${response.status}).`;
  throw new ServerError(isFile ? words.replace("text", "file") : words, detail);
}

// Yields {event, data} as the HTML standard reads an event stream; of its fields we need these two.
async function* serverSentEvents(response) {
  let waiting = "";
  const chunks = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await chunks.read();
    if (done) return;
    waiting += value;
    const events = waiting.split(/\r?\n\r?\n/);
    waiting = events.pop();
    for (const lines of events) {
      const fields = lines.split(/\r?\n/).map((line) => line.match(/^(\w+): ?(.*)$/s) ?? []);
      const of = (name) => fields.filter((field) => field[1] === name).map((field) => field[2]);
      const data = of("data").join("\n");
      if (data) yield { event: of("event").at(-1) ?? "message", data };
    }
  }
}
