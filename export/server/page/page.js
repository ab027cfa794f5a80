// The page itself: what happens when a sentence is sent, and what the answers fill.

import { Matrix } from "./matrix.js";
import { availableVersion, explain, ServerError, streamTranslation } from "./server.js";

const model = document.documentElement.dataset.model;
const part = (id) => document.getElementById(id);
const [form, source, translation, notice] = ["form", "source", "translation", "notice"].map(part);
const [details, hypotheses, version] = ["details", "hypotheses", "version"].map(part);
const [heading, choice] = ["best-heading", "choice"].map(part);
const matrix = new Matrix(part("matrix"), part("readout"), part("most"));

// The request under way; a newer one ends it.
let running = null;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  translate(source.value);
});

source.addEventListener("keydown", (event) => {
  // Input methods confirm a word with Enter.
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

showVersion();

async function translate(text) {
  running?.abort();
  running = null;
  notice.replaceChildren();
  translation.textContent = "";
  if (!text.trim()) {
    setBusy(false);
    details.hidden = true;
    return;
  }
  const own = (running = new AbortController());
  setBusy(true);
  try {
    for await (const event of streamTranslation(model, text, own.signal)) {
      if (event.piece !== undefined) translation.textContent += event.piece;
      else translation.textContent = event.translation;
    }
    const explained = await explain(model, text, own.signal);
    showHypotheses(explained);
    await showVersion(own.signal);
  } catch (error) {
    if (own.signal.aborted) return;
    details.hidden = true;
    showError(error);
  } finally {
    if (running === own) setBusy(false);
  }
}

function setBusy(isBusy) {
  translation.setAttribute("aria-busy", isBusy);
  details.classList.toggle("stale", isBusy);
}

function showHypotheses({ source_pieces: pieces, hypotheses: found }) {
  const buttons = found.map((hypothesis) => hypothesisButton(hypothesis));
  const choose = (chosen) => {
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", place === chosen));
    translation.textContent = found[chosen].translation;
    matrix.draw(pieces, found[chosen].target_pieces, found[chosen].attention);
  };
  buttons.forEach((button, place) => button.addEventListener("click", () => choose(place)));
  hypotheses.replaceChildren(...buttons.map((button) => element("li", "", button)));
  details.hidden = found.length === 0;
  choice.hidden = found.length < 2;
  heading.textContent = found.length < 2 ? "Best hypothesis" : "Best hypotheses";
  if (found.length) choose(0);
}

function hypothesisButton(hypothesis) {
  const { translation: text, score, log_probability: logProbability } = hypothesis;
  const words = element("span", "words", text);
  words.dir = "auto";
  const figures = element(
    "span",
    "figures",
    `score ${minus(score.toFixed(3))}`,
    element("span", "", `probability ${percent(Math.exp(logProbability))}`),
  );
  if (hypothesis.low_confidence) figures.append(element("strong", "doubt", "low confidence"));
  const button = element("button", "", words, figures);
  button.type = "button";
  return button;
}

function showError(error) {
  if (!(error instanceof ServerError)) throw error;
  notice.replaceChildren(error.message);
  if (error.detail) notice.append(element("span", "detail", error.detail));
}

async function showVersion(signal) {
  try {
    version.textContent = `version ${await availableVersion(model, signal)}`;
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

function minus(figure) {
  return figure.replace("-", "−");
}

function percent(share) {
  if (share < 0.001) return "below 0.1 %";
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
