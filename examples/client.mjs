// Translates lines with a portable artefact in Node.js, without Python. Greedy search, as OnnxTranslator's:
//
//     keras-transformer export runs/demo --format onnx --target portable --output exported/portable
//     npm ci --prefix examples
//     echo "Good morning." | node examples/client.mjs exported/portable
//
// writes a line for each line: {"text": …, "ids": […]}. In a browser the same code runs on
// onnxruntime-web: docs/onnx_artefact.md has what differs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SentencePieceProcessor } from "@sctg/sentencepiece-js";
import ort from "onnxruntime-node";

const MAX_LENGTH = 256; // tokens of a translation, eos included

const directory = process.argv[2];
if (!directory) throw new Error("usage: node client.mjs ARTEFACT < lines");
const manifest = JSON.parse(readFileSync(join(directory, "manifest.json"), "utf8"));
if (manifest.format !== "keras-transformer-onnx" || manifest.format_version !== 5)
  throw new Error("this client reads artefacts of format_version 5: export the model again.");
if (manifest.target !== "portable")
  throw new Error(`the artefact has target ${manifest.target}: export it with --target portable.`);
const { pad, bos, eos } = manifest.special_ids;
const special = new Set(Object.values(manifest.special_ids));

const open = (name) => ort.InferenceSession.create(join(directory, manifest.graphs[name].file));
const [encoder, decoder] = [await open("encoder"), await open("greedy_scores")];
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

async function translate(pieces) {
  if (!pieces.length) return [];
  const length = pieces.length + 1;
  const encoded = await encoder.run({ source_ids: int32([...pieces, eos], [1, length]) });
  const feeds = { source_mask: int32(new Array(length).fill(1), [1, length]) };
  for (const { name, shape } of manifest.graphs.greedy_scores.inputs) {
    if (name.startsWith("cross_")) feeds[name] = encoded[name];
    if (name.startsWith("cache_")) feeds[name] = zeros([1, shape[1], MAX_LENGTH, shape[3]]);
  }
  const ids = [];
  for (let newest = bos, step = 0; step < MAX_LENGTH; step++) {
    const inputs = { ...feeds, target_ids: int32([newest], [1]), step: int32([step], [1]) };
    const outputs = await decoder.run(inputs);
    // A translation has at least one token.
    newest = largest(outputs.logits.data, step ? [pad, bos] : [pad, bos, eos]);
    if (newest === eos) break;
    ids.push(newest);
    for (const name of decoder.outputNames)
      if (name.startsWith("new_")) feeds[name.slice("new_".length)] = outputs[name];
  }
  return ids;
}

function largest(logits, forbidden) {
  for (const id of forbidden) logits[id] = -Infinity;
  return logits.reduce((best, value, id) => (value > logits[best] ? id : best), 0);
}

function int32(values, shape) {
  return new ort.Tensor("int32", Int32Array.from(values), shape);
}

function zeros(shape) {
  const size = shape.reduce((product, axis) => product * axis, 1);
  return new ort.Tensor("float32", new Float32Array(size), shape);
}
