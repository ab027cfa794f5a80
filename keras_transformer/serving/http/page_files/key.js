// The API key that the server may ask for: typed once, and kept until the tab is closed.

const STORED = "keras-transformer-api-key";
const part = (id) => document.getElementById(id);
const [dialog, form, key] = ["key-dialog", "key-form", "key"].map(part);

// The question that is open; all requests wait for the same answer.
let asked = null;

// Returns the headers that a request needs.
export function keyHeaders() {
  const stored = sessionStorage.getItem(STORED);
  return stored === null ? {} : { Authorization: `Bearer ${stored}` };
}

// Asks for a key unless one was typed since `headers` were made; returns whether there is a new one.
export async function renewKey(headers) {
  if (keyHeaders().Authorization !== headers.Authorization) return true;
  asked ??= ask().finally(() => (asked = null));
  return asked;
}

function ask() {
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "typed"), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(STORED, key.value.trim());
  key.value = "";
  dialog.close("typed");
});
