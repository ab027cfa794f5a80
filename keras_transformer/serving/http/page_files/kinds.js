// What the page shows of each kind of model: its words, its questions to the server, its answers.

import { predict } from "./server.js";

// `answer` returns {text, items}: what stands beside the text that was typed, and the list below,
// each item with its words and its figures. A kind without one translates.
const TRANSLATION = {
  source: "Source",
  result: "Translation",
  button: "Translate",
  verb: "translates",
  placeholder: "Type a text",
};

const KINDS = {
  fill_mask: {
    source: "Text",
    result: "Best filling",
    button: "Fill in",
    verb: "fills in",
    placeholder: "Type a text with <mask> where a word is missing",
    heading: "Best fillings",
    note: "A score is the log-probability of what the masks are filled with.",
    async answer(model, text, signal) {
      const found = await predict(model, "fill_mask", { text }, signal);
      const items = found.texts.map((words, place) => ({
        words,
        figures: [found.tokens[place].join(", "), `score ${minus(found.scores[place].toFixed(3))}`],
        isThere: found.scores[place] > -1e30,
      }));
      return { text: found.texts[0], items: items.filter(({ isThere }) => isThere) };
    },
  },
  classify: {
    source: "Text",
    result: "Label",
    button: "Classify",
    verb: "classifies",
    placeholder: "Type a text",
    heading: "Labels",
    note: "Each label with its probability.",
    async answer(model, text, signal) {
      const found = await predict(model, "classify", { text }, signal);
      const items = found.labels.map((words, place) => ({
        words,
        figures: [`probability ${percent(found.probabilities[place])}`],
        value: found.probabilities[place],
      }));
      return { text: found.label, items: items.sort((one, other) => other.value - one.value) };
    },
  },
  tag: {
    source: "Text",
    result: "Tags",
    button: "Tag",
    verb: "tags",
    placeholder: "Type a text",
    heading: "Words",
    note: "Each word with its tag.",
    async answer(model, text, signal) {
      const found = await predict(model, "tag", { text }, signal);
      const items = found.tokens.map((words, place) => ({
        words,
        figures: [found.tags[place], `probability ${percent(found.probabilities[place])}`],
      }));
      return { text: found.tags.join(" "), items };
    },
  },
  regress: {
    source: "Text",
    result: "Number",
    button: "Read",
    verb: "reads",
    placeholder: "Type a text",
    async answer(model, text, signal) {
      const value = await predict(model, "regress", { text }, signal);
      return { text: minus(String(value)), items: [] };
    },
  },
  find_span: {
    source: "Question, and below it the text",
    result: "Answer",
    button: "Find",
    verb: "finds",
    placeholder: "A question\nThe text that answers it",
    async answer(model, text, signal) {
      const [question, ...lines] = text.split("\n");
      const row = { question, text: lines.join("\n") };
      return { text: (await predict(model, "find_span", row, signal)).answer, items: [] };
    },
  },
  generate: {
    source: "Beginning",
    result: "Continuation",
    button: "Continue",
    verb: "continues",
    placeholder: "Type how a text begins",
    streams: true,
    heading: "Best continuations",
    note: "A score is the log-probability of what is new over the length penalty.",
    async answer(model, prompt, signal) {
      const found = await predict(model, "generate_n_best", { prompt }, signal);
      const items = found.texts.map((words, place) => ({
        words,
        figures: [`score ${minus(found.scores[place].toFixed(3))}`],
        isThere: found.scores[place] > -1e30,
      }));
      return { text: found.texts[0], items: items.filter(({ isThere }) => isThere) };
    },
  },
  embed: {
    source: "Text",
    result: "Vector",
    button: "Embed",
    verb: "embeds",
    placeholder: "Type a text",
    async answer(model, text, signal) {
      const vector = await predict(model, "embed", { text }, signal);
      const numbers = vector.map((value) => minus(value.toFixed(4))).join(", ");
      return { text: `[${numbers}]`, items: [] };
    },
  },
};

// Returns what fits a model with signatures of these names.
export function kindOf(names) {
  if (names.includes("translate_ids")) return TRANSLATION;
  const found = Object.keys(KINDS).find((name) => names.includes(name));
  return KINDS[found] ?? TRANSLATION;
}

export function minus(figure) {
  return figure.replace("-", "−");
}

export function percent(share) {
  if (share < 0.001) return "below 0.1 %";
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
