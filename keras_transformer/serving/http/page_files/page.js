// The page itself: what happens when a text is sent, and what the answers fill.

import { Matrix } from "./matrix.js";
import { availableVersion, explain, ServerError, streamTranslation } from "./server.js";

const part = (id) => document.getElementById(id);
// There only where the server has several models.
const chooser = part("model");
const chosenModel = () => chooser?.value ?? document.documentElement.dataset.model;
const [form, source, translation, notice] = ["form", "source", "translation", "notice"].map(part);
const [details, hypotheses, version] = ["details", "hypotheses", "version"].map(part);
const [heading, choice] = ["best-heading", "choice"].map(part);
const [several, sentences] = ["several", "sentences"].map(part);
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

chooser?.addEventListener("change", () => {
  translate(source.value);
  showVersion();
});

showVersion();

async function translate(text) {
  const model = chosenModel();
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
    showExplanation(await explain(model, text, own.signal));
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

function minus(figure) {
  return figure.replace("-", "−");
}

function percent(share) {
  if (share < 0.001) return "below 0.1 %";
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
