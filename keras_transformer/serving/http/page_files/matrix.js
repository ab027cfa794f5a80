// Attention as a matrix: a row for each target piece, a column for each source piece. The cell under
// the pointer or the keyboard's focus lights its row, its column and both pieces, and is read out.

// Beyond this a browser gets slow, and nobody can see so many.
const MOST_CELLS = 10000;
const STEPS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

export class Matrix {
  // A matrix in a table; a paragraph that reads out a cell; an element for the largest value.
  constructor(table, readout, most) {
    Object.assign(this, { table, readout, most });
    table.addEventListener("pointerover", (event) => this.#at(event, this.#pick));
    table.addEventListener("focusin", (event) => this.#at(event, this.#pick));
    table.addEventListener("click", (event) => this.#at(event, this.#focus));
    table.addEventListener("keydown", (event) => this.#move(event));
    this.scroll = table.parentElement;
    this.scroll.addEventListener("scroll", () => this.#tellMore());
    new ResizeObserver(() => this.#tellMore()).observe(this.scroll);
    new ResizeObserver(() => this.#tellMore()).observe(table);
  }

  // Shows whether columns are out of sight on the right.
  #tellMore() {
    const { scrollLeft, clientWidth, scrollWidth } = this.scroll;
    this.scroll.classList.toggle("more", scrollLeft + clientWidth < scrollWidth - 1);
  }

  // Draws attention[target][source], numbers from 0 to 1.
  draw(sourcePieces, targetPieces, attention) {
    this.table.replaceChildren();
    this.picked = null;
    const count = sourcePieces.length * targetPieces.length;
    if (count > MOST_CELLS) {
      this.readout.replaceChildren(`${count} cells are too many to draw.`);
      return;
    }
    this.readout.replaceChildren("Point at a cell, or move with the arrow keys.");
    const largest = Math.max(...attention.flat());
    this.most.textContent = largest.toFixed(2);
    Object.assign(this, { sourcePieces, targetPieces, attention });
    this.columnHeads = sourcePieces.map((piece) => head(piece, "col"));
    this.rowHeads = targetPieces.map((piece) => head(piece, "row"));
    this.cells = attention.map((row, target) =>
      row.map((value, source) =>
        cell(value, largest, `${targetPieces[target]}, ${sourcePieces[source]}`),
      ),
    );
    const corner = document.createElement("td");
    const rows = this.rowHeads.map((head, target) => line(head, ...this.cells[target]));
    this.table.createTHead().append(line(corner, ...this.columnHeads));
    this.table.createTBody().append(...rows);
    // Of all cells one is reached by the tab key; the arrow keys lead on from there.
    this.cells[0][0].tabIndex = 0;
  }

  #pick(target, source) {
    if (this.picked) this.#light(...this.picked, false);
    this.picked = [target, source];
    this.#light(target, source, true);
    this.readout.replaceChildren(
      strong(this.targetPieces[target]),
      " looks at ",
      strong(this.sourcePieces[source]),
      ": ",
      strong(this.attention[target][source].toFixed(3)),
    );
  }

  #light(target, source, isLit) {
    const lit = [
      ...this.cells[target],
      ...this.cells.map((row) => row[source]),
      this.rowHeads[target],
      this.columnHeads[source],
    ];
    for (const one of lit) one.classList.toggle("lit", isLit);
    this.cells[target][source].classList.toggle("picked", isLit);
  }

  #focus(target, source) {
    this.table.querySelector("td[tabindex='0']").tabIndex = -1;
    this.cells[target][source].tabIndex = 0;
    this.cells[target][source].focus();
  }

  #move(event) {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    this.#at(event, (target, source) =>
      this.#focus(
        clamp(target + step[0], this.targetPieces.length),
        clamp(source + step[1], this.sourcePieces.length),
      ),
    );
  }

  // Calls a method with the place of the cell that an event is about, if it is about one.
  #at(event, method) {
    const found = event.target.closest("td[role=gridcell]");
    if (found) method.call(this, found.parentNode.rowIndex - 1, found.cellIndex - 1);
  }
}

function line(...children) {
  const made = document.createElement("tr");
  made.append(...children);
  return made;
}

function head(piece, scope) {
  const made = document.createElement("th");
  made.scope = scope;
  made.append(pieceOf("span", piece));
  return made;
}

function cell(value, largest, name) {
  const made = document.createElement("td");
  made.setAttribute("role", "gridcell");
  made.setAttribute("aria-label", `${name}: ${value.toFixed(3)}`);
  made.tabIndex = -1;
  made.style.setProperty("--share", (value / largest).toFixed(3));
  return made;
}

function strong(text) {
  return pieceOf("strong", text);
}

// The sign with which SentencePiece begins a word stands back behind the letters.
function pieceOf(name, text) {
  const made = document.createElement(name);
  const sign = text.startsWith("▁") ? "▁" : "";
  const begins = document.createElement("span");
  begins.className = "begins";
  begins.textContent = sign;
  made.append(...(sign ? [begins] : []), text.slice(sign.length));
  return made;
}

function clamp(place, count) {
  return Math.min(Math.max(place, 0), count - 1);
}
