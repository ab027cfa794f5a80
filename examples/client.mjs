// Translates lines with a portable artefact in Node.js, without Python. Greedy search, as OnnxTranslator's:
//
//     keras-transformer export runs/demo --format onnx --target portable --output exported/portable
//     npm ci --prefix examples
//     echo "Good morning." | node examples/client.mjs exported/portable
//
// writes a line for each line: {"text": …, "ids": […]}. In a browser greedy.mjs runs on
// onnxruntime-web: see docs/onnx_artefact.md.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SentencePieceProcessor } from "@sctg/sentencepiece-js";
import ort from "onnxruntime-node";
import { openTranslator } from "./greedy.mjs";

// onnxruntime reports to its makers otherwise; it reads this when it opens the first graph.
process.env.ORT_DISABLE_TELEMETRY ??= "1";

const directory = process.argv[2];
if (!directory) throw new Error("usage: node client.mjs ARTEFACT < lines");
const manifest = JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8"));
const open = (file) => ort.InferenceSession.create(join(directory, file));
const translate = await openTranslator(ort, manifest, open);
const special = new Set(Object.values(manifest.special_ids));
const [source, target] = [await tokenizer("source"), await tokenizer("target")];

for await (const line of createInterface({ input: process.stdin })) {
  const ids = await translate(source.encodeIds(line));
  const plain = ids.filter((id) => !special.has(id));
  console.log(JSON.stringify({ text: plain.length ? target.decodeIds(plain) : "", ids }));
}

async function tokenizer(side) {
  const processor = new SentencePieceProcessor();
  await processor.load(join(directory, manifest.tokenizers[side].file));
  return processor;
}
