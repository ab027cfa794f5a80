// Greedy search with a portable artefact, as OnnxTranslator's: takes the ids of a sentence's pieces and returns
// those of its translation. client.mjs runs it on onnxruntime-node, docs/onnx_artefact.md on onnxruntime-web.

const MAX_LENGTH = 256; // tokens of a translation, eos included

// `ort` is either of the two; `open` takes a graph's file name and returns a session. Returns an asynchronous
// function from ids to ids.
export async function openTranslator(ort, manifest, open) {
  if (manifest.format !== "keras-transformer-onnx" || manifest.format_version !== 5)
    throw new Error("this client reads artefacts of format_version 5: export the model again.");
  if (manifest.target !== "portable")
    throw new Error(`the artefact has target ${manifest.target}: export it with --target portable.`);
  const encoder = await open(manifest.graphs.encoder.file);
  const decoder = await open(manifest.graphs.greedy_scores.file);
  return (pieces) => translate(ort, manifest, encoder, decoder, pieces);
}

async function translate(ort, manifest, encoder, decoder, pieces) {
  const { pad, bos, eos, decoder_start = bos } = manifest.special_ids;
  const int32 = (values, shape) => new ort.Tensor("int32", Int32Array.from(values), shape);
  if (!pieces.length) return [];
  const length = pieces.length + 1;
  const encoded = await encoder.run({ source_ids: int32([...pieces, eos], [1, length]) });
  const feeds = { source_mask: int32(new Array(length).fill(1), [1, length]) };
  for (const { name, shape } of manifest.graphs.greedy_scores.inputs) {
    if (name.startsWith("cross_")) feeds[name] = encoded[name];
    // The places of a recurrence's states are two; all others have a name.
    const places = Number(shape[2]) || MAX_LENGTH;
    if (name.startsWith("cache_")) feeds[name] = zeros(ort, [1, shape[1], places, shape[3]]);
  }
  const ids = [];
  for (let newest = decoder_start, step = 0; step < MAX_LENGTH; step++) {
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

function zeros(ort, shape) {
  const size = shape.reduce((product, axis) => product * axis, 1);
  return new ort.Tensor("float32", new Float32Array(size), shape);
}
