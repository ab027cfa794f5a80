// Files, and HTML that is pasted: sent whole, and shown with what should be looked at.

import { translateFile } from "./server.js";

const part = (id) => document.getElementById(id);
const [picker, asHtml] = ["file", "as_html"].map(part);
const [found, summary, download, doubts] = ["found", "summary", "download", "doubts"].map(part);

// What is shown asks for nothing, neither here nor elsewhere.
const NOTHING_ELSE = `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'">`;
const FETCHING = "script, link, meta, base, iframe, object, embed";
const SOURCES = ["src", "srcset", "imagesrcset", "background", "poster"];

// Calls a function with each file that is chosen or dropped on an element.
export function onFile(target, send) {
  picker.addEventListener("change", () => {
    if (picker.files.length) send(picker.files[0]);
    // The same file may be chosen again.
    picker.value = "";
  });
  target.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    target.classList.add("over");
  });
  target.addEventListener("dragleave", () => target.classList.remove("over"));
  target.addEventListener("drop", (event) => {
    target.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    send(event.dataTransfer.files[0]);
  });
}

// Calls a function when HTML is to be read as such, or no longer.
export function onHtml(changed) {
  asHtml.addEventListener("change", changed);
}

export const readsHtml = () => asHtml.checked && !part("filing").hidden;

// Offers files and HTML, or not.
export function offerFiles(isOffered) {
  part("filing").hidden = !isOffered;
}

export function hideFile() {
  found.hidden = part("rendered").hidden = true;
}

// Translates a file and offers it; returns what it was made of.
export async function sendFile(model, file, options, signal) {
  const answer = await translateFile(model, file, options, signal);
  showFile(file.name, answer);
  return answer;
}

// Returns the translation of HTML, which is shown as a page that runs nothing.
export async function sendHtml(model, text, options, signal) {
  const file = new File([text], "translation.html");
  const { content } = await sendFile(model, file, { ...options, format: "html" }, signal);
  const html = await content.text();
  // The frame has no rights (`sandbox=""`): no script, no form, no link that leads out of it.
  // It is a new one each time, as Chromium shows nothing in one that loads something already.
  const frame = part("rendered").cloneNode();
  frame.srcdoc = NOTHING_ELSE + inert(html);
  frame.hidden = false;
  part("rendered").replaceWith(frame);
  return html;
}

// Returns HTML without what a browser would fetch: it looks for that before it has read what forbids it.
function inert(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  page.querySelectorAll(FETCHING).forEach((element) => element.remove());
  for (const name of SOURCES) {
    page.querySelectorAll(`[${name}]`).forEach((element) => element.removeAttribute(name));
  }
  return page.documentElement.outerHTML;
}

function showFile(name, { content, translated, left, low_confidence: low, warnings }) {
  URL.revokeObjectURL(download.href);
  download.href = URL.createObjectURL(content);
  download.download = name;
  download.textContent = `Save ${name}`;
  const kept = left ? `, ${left} left unchanged` : "";
  summary.textContent = `${translated} ${translated === 1 ? "text" : "texts"} translated${kept}.`;
  part("look").hidden = !low.length && !warnings.length;
  doubts.replaceChildren(
    ...low.map(({ line, text, translation }) => item(text, translation, `line ${line}`, "low confidence")),
    ...warnings.map((warning) => item("", "", warning)),
  );
  found.hidden = false;
}

// Texts become text: nothing here is ever read as HTML.
function item(text, translation, ...figures) {
  const made = document.createElement("li");
  made.className = "item";
  const lines = [text, translation].filter(Boolean).map((said) => {
    const words = document.createElement("span");
    words.className = "words";
    words.dir = "auto";
    words.textContent = said;
    return words;
  });
  const shown = document.createElement("span");
  shown.className = "figures";
  shown.textContent = figures.join(" · ");
  made.append(...lines, shown);
  return made;
}
