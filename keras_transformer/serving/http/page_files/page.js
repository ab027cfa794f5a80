// The page itself: what happens when a text is sent, and what the answers fill.

import { kindOf, minus, percent } from "./kinds.js";
import { Matrix } from "./matrix.js";
import { hideFile, offerFiles, onFile, onHtml, readsHtml, sendFile, sendHtml } from "./files.js";
import { chosenLanguages, onChoice, showLanguages } from "./languages.js";
import { availableVersion, explain, ServerError, signatureNames, streamAnswer } from "./server.js";

const part = (id) => document.getElementById(id);
// There only where the server has several models.
const chooser = part("model");
const chosenModel = () => chooser?.value ?? document.documentElement.dataset.model;
const [form, source, translation, notice] = ["form", "source", "translation", "notice"].map(part);
const [details, hypotheses, version] = ["details", "hypotheses", "version"].map(part);
const [heading, choice] = ["best-heading", "choice"].map(part);
const [several, sentences] = ["several", "sentences"].map(part);
const [attention, note] = ["attention", "note"].map(part);
const joining = part("join_lines");
const matrix = new Matrix(part("matrix"), part("readout"), part("most"));

// The request under way; a newer one ends it.
let running = null;
// What the chosen model does: it translates until its signatures say otherwise.
let kind = kindOf([]);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  answer(source.value);
});

source.addEventListener("keydown", (event) => {
  // Input methods confirm a word with Enter.
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

chooser?.addEventListener("change", async () => {
  await Promise.all([showKind(), showChoice()]);
  answer(source.value);
  showVersion();
});

onChoice(() => answer(source.value));
joining.addEventListener("change", () => answer(source.value));
onHtml(() => answer(source.value));
onFile(form, answerFile);
showKind();
showChoice();
showVersion();

// Does what a request needs, in place of the one under way; shows what goes wrong.
async function run(job) {
  running?.abort();
  const own = (running = new AbortController());
  notice.replaceChildren();
  translation.textContent = "";
  hideFile();
  setBusy(true);
  try {
    await job(own.signal);
    await showVersion(own.signal);
  } catch (error) {
    if (own.signal.aborted) return;
    details.hidden = true;
    showError(error);
  } finally {
    if (running === own) setBusy(false);
  }
}

function answer(text) {
  const model = chosenModel();
  if (!text.trim()) {
    running?.abort();
    running = null;
    notice.replaceChildren();
    translation.textContent = "";
    hideFile();
    setBusy(false);
    details.hidden = true;
  } else if (readsHtml()) {
    run(async (signal) => {
      details.hidden = true;
      translation.textContent = await sendHtml(model, text, chosenLanguages(), signal);
    });
  } else {
    run((signal) => answerText(model, text, signal));
  }
}

function answerFile(file) {
  if (part("filing").hidden) return;
  const model = chosenModel();
  source.value = "";
  details.hidden = true;
  run(async (signal) => {
    await sendFile(model, file, chosenLanguages(), signal);
  });
}

async function answerText(model, text, signal) {
  const asked = { ...chosenLanguages(), ...(joining.checked && { join_lines: true }) };
  const drawn = chosenDrawing();
  if (kind.answer === undefined || kind.streams) {
    for await (const event of streamAnswer(model, text, { ...asked, ...drawn }, signal)) {
      if (event.piece !== undefined) translation.textContent += event.piece;
      else translation.textContent = event.translation ?? event.text;
    }
  }
  // What the best ones are and look at is told of a search, not of a sample.
  if (drawn.sample) details.hidden = true;
  else if (kind.answer === undefined) showExplanation(await explain(model, text, asked, signal));
  else showItems(await kind.answer(model, text, signal));
}

// Returns how a sample is drawn; nothing where none is wanted.
function chosenDrawing() {
  if (part("drawing").hidden || !part("sample").checked) return {};
  const filled = ["temperature", "top_k", "top_p", "seed"].filter((name) => part(name).value !== "");
  return { sample: true, ...Object.fromEntries(filled.map((name) => [name, Number(part(name).value)])) };
}

function setBusy(isBusy) {
  translation.setAttribute("aria-busy", isBusy);
  details.classList.toggle("stale", isBusy);
}

// Lists the sentences where there are several; the translation is made of the hypothesis that is
// chosen for each.
function showExplanation({ sentences: found, gaps }) {
  const chosen = found.map((sentence) => sentence.hypotheses[0]);
  const isWhole = found.length < 2;
  const show = (place) => {
    showHypotheses(found[place], found[place].hypotheses.indexOf(chosen[place]), (hypothesis) => {
      chosen[place] = hypothesis;
      translation.textContent = gaps
        .map((gap, number) => gap + (chosen[number]?.translation ?? ""))
        .join("");
    });
  };
  several.hidden = isWhole;
  sentences.replaceChildren(...(isWhole ? [] : choices(found.map(sentenceButton), show)));
  details.hidden = false;
  show(0);
}

function showHypotheses({ source_pieces: pieces, hypotheses: found }, first, tell) {
  const show = (place) => {
    tell(found[place]);
    matrix.draw(pieces, found[place].target_pieces, found[place].attention);
  };
  hypotheses.replaceChildren(...choices(found.map(hypothesisButton), show, first));
  choice.hidden = found.length < 2;
  heading.textContent = found.length < 2 ? "Best hypothesis" : "Best hypotheses";
  show(first);
}

// Returns buttons as items of a list, one of them pressed; `show` gets the place of a new one.
function choices(buttons, show, first = 0) {
  const press = (chosen) =>
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", place === chosen));
  buttons.forEach((button, place) =>
    button.addEventListener("click", () => {
      press(place);
      show(place);
    }),
  );
  press(first);
  return buttons.map((button) => element("li", "", button));
}

function sentenceButton({ source: text, hypotheses: [best] }) {
  return choiceButton(text, doubt(best));
}

function hypothesisButton(hypothesis) {
  const { translation: text, score, log_probability: logProbability } = hypothesis;
  const probability = element("span", "", `probability ${percent(Math.exp(logProbability))}`);
  return choiceButton(text, `score ${minus(score.toFixed(3))}`, probability, doubt(hypothesis));
}

function doubt(hypothesis) {
  return hypothesis.low_confidence ? element("strong", "doubt", "low confidence") : "";
}

function choiceButton(text, ...figures) {
  const words = element("span", "words", text);
  words.dir = "auto";
  const button = element("button", "", words, element("span", "figures", ...figures));
  button.type = "button";
  return button;
}

// Lists what a model that does not translate has found.
function showItems({ text, items }) {
  translation.textContent = text;
  hypotheses.replaceChildren(
    ...items.map(({ words, figures }) => {
      const shown = element("span", "words", words);
      shown.dir = "auto";
      const spans = figures.map((figure) => element("span", "", figure));
      return element("li", "item", shown, element("span", "figures", ...spans));
    }),
  );
  details.hidden = items.length === 0;
}

// Gives the page the words of the chosen model's kind.
async function showKind() {
  const model = chosenModel();
  try {
    const found = kindOf(await signatureNames(model));
    if (model !== chosenModel()) return;
    part("drawing").hidden = found.answer !== undefined && !found.streams;
    if (found === kind) return;
    kind = found;
  } catch (error) {
    showError(error);
    return;
  }
  const isOther = kind.answer !== undefined;
  part("joining").hidden = isOther;
  offerFiles(!isOther);
  if (isOther) joining.checked = false;
  part("source-label").textContent = kind.source;
  part("result-label").textContent = kind.result;
  part("send").textContent = kind.button;
  part("verb").textContent = kind.verb;
  source.placeholder = kind.placeholder;
  attention.hidden = isOther;
  choice.hidden = isOther;
  if (isOther) several.hidden = true;
  heading.textContent = kind.heading ?? "Best hypotheses";
  note.textContent = kind.note ?? "A score is the log-probability over the length penalty.";
  details.hidden = true;
}

// Offers the languages of the chosen model.
async function showChoice() {
  const model = chosenModel();
  try {
    await showLanguages(model, () => model === chosenModel());
  } catch (error) {
    showError(error);
  }
}

function showError(error) {
  if (!(error instanceof ServerError)) throw error;
  notice.replaceChildren(error.message);
  if (error.detail) notice.append(element("span", "detail", error.detail));
}

async function showVersion(signal) {
  const model = chosenModel();
  try {
    const newest = await availableVersion(model, signal);
    // An answer about a model that is no longer chosen comes too late.
    if (model === chosenModel()) version.textContent = `version ${newest}`;
  } catch (error) {
    showError(error);
  }
}

// Children that are strings become text: nothing here is ever read as HTML.
function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}
