// The choices of languages, for models that have several.

import { languagesOf } from "./server.js";

// The names of the server's fields are those of the elements.
const selects = ["source_language", "target_language"].map((name) => document.getElementById(name));

// Calls a function whenever a language is chosen.
export function onChoice(changed) {
  selects.forEach((select) => select.addEventListener("change", changed));
}

// Returns the languages that requests should name.
export function chosenLanguages() {
  const named = selects.filter((select) => !select.hidden && select.value);
  return Object.fromEntries(named.map((select) => [select.id, select.value]));
}

// Offers a model's languages, unless it is no longer wanted when they are known.
export async function showLanguages(model, isWanted) {
  const found = await languagesOf(model);
  if (!isWanted()) return;
  for (const select of selects) {
    const isAsked = select.id === "target_language" || found.names_source;
    const codes = isAsked ? found.languages : [];
    const preset = found[select.id];
    select.replaceChildren(...(preset === null ? [new Option("–", "")] : []), ...codes.map((code) => new Option(code)));
    if (preset !== null) select.value = preset;
    select.hidden = codes.length === 0;
  }
}
