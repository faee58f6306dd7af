// The part of the page that has to respond at once: the windows of the list, the current prompt, keys.
// Values of the data come as text, or as HTML from the server's own writer, which escapes all of them.
"use strict";

globalThis.promptpress = (() => {
  const state = { view: null, api: null, line: 0, compare: false, whole: false, spaces: false, last: null, total: -1 };
  const beginnings = new Map(); // what the rows of a window begin with, by the window's number
  const WINDOW = 100; // rows that the grid asks for at once
  const NO_ANSWER = "no answer from promptpress view: it may have ended; start it again, and open the address that it prints";
  const narrow = matchMedia("(max-width: 800px)");
  const byId = (id) => document.getElementById(id);

  async function ask(path, parameters, signal) {
    const address = new URL(path, document.baseURI);
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, String(value));
    const response = await fetch(address, { signal, cache: "no-store" });
    if (!response.headers.get("content-type")?.startsWith("application/json")) {
      return { error: `${response.status}: ${await response.text()}` };
    }
    return response.json();
  }

  // The list.

  function rows(view) {
    state.view = view;
    return {
      getRows: async (window) => {
        let answer;
        try {
          answer = await ask("lines", { view, start: window.startRow, stop: window.endRow });
        } catch {
          answer = { error: NO_ANSWER };
        }
        if (answer.error !== undefined) {
          window.successCallback([{ row: "", size: "", text: answer.error }], window.startRow + 1);
          return;
        }
        state.total = answer.total;
        beginnings.set(window.startRow / WINDOW, { text: answer.shared ?? "", size: answer.sharedSize });
        window.successCallback(answer.lines, answer.total ?? -1);
      },
    };
  }

  function ready(api) {
    state.api = api;
    state.fit = () => {
      api.setColumnsVisible(["size"], !state.compare);
      const widths = narrow.matches ? [64, 72] : [84, 98];
      api.setColumnWidths(["row", "size"].map((key, index) => ({ key, newWidth: widths[index] })));
    };
    narrow.addEventListener("change", state.fit);
    state.fit();
    if (state.line) go(state.line);
    else show(0);
  }

  const order = () => {
    const column = state.api.getColumnState().find((one) => one.colId === "size");
    return { desc: "longest", asc: "shortest" }[column.sort] ?? "";
  };

  function refresh(keep) {
    if (!state.api) return;
    if (!keep) state.line = 0;
    beginnings.clear();
    state.api.purgeInfiniteCache();
    if (!keep) state.api.ensureIndexVisible(0, "top");
    show(state.line);
  }

  function recount() {
    state.api?.refreshInfiniteCache();
  }

  // Above the list: what the rows in sight begin with, which they leave out.
  function shared() {
    const first = state.api?.getFirstDisplayedRowIndex() ?? -1;
    const { text, size } = beginnings.get(Math.floor(first / WINDOW)) ?? { text: "" };
    const place = byId("pp-shared");
    place.hidden = !text;
    if (!text) return;
    byId("pp-shared-size").textContent = `… is what all these rows begin with: ${size} characters`;
    if (byId("pp-shared-text").textContent !== text) byId("pp-shared-text").textContent = text;
  }

  function focused(event) {
    if (event.rowIndex !== null && event.rowIndex !== undefined && event.rowIndex !== state.line) show(event.rowIndex);
  }

  function go(line) {
    const api = state.api;
    state.line = line; // for a list that isn't there yet
    open(true);
    if (!api) return;
    if (line >= api.getDisplayedRowCount()) api.setRowCount(line + 1, false);
    api.ensureIndexVisible(line, "middle");
    api.setFocusedCell(line, "text");
    show(line);
  }

  function move(by) {
    const line = Math.max(0, state.line + by);
    if (state.total === null || state.total < 0 || line < state.total) {
      state.api?.ensureIndexVisible(line);
      state.api?.setFocusedCell(line, "text");
      show(line);
    }
  }

  // The prompt. On a phone it takes the place of the list.

  function open(on) {
    document.body.classList.toggle("pp-reading", on && narrow.matches);
    if (on) scroll();
  }

  // Scroll to what differs: from the other side, or from other rows.
  function scroll() {
    const place = byId("pp-place");
    const differs = place.querySelector(".pp-added, .pp-removed") ?? place.querySelector(".pp-column") ?? [...place.querySelectorAll(".pp-user")].at(-1);
    const bottom = differs?.getBoundingClientRect().top + 40;
    if (differs && bottom > place.getBoundingClientRect().bottom) differs.scrollIntoView({ block: "center" });
  }

  // The next difference within the prompt, else that of the next row.
  function next() {
    const place = byId("pp-place");
    const marks = [...place.querySelectorAll(".pp-added, .pp-removed")];
    const at = marks.indexOf(place.querySelector(".pp-at"));
    const below = marks.findIndex((mark, index) => index > at && (at < 0 || mark.offsetTop > marks[at].offsetTop));
    if (below < 0) return move(1);
    marks[at]?.classList.remove("pp-at");
    marks[below].classList.add("pp-at");
    marks[below].scrollIntoView({ block: "center" });
  }

  let pending = null;
  const current = new CSSStyleSheet(); // marks the current line wherever the grid draws it
  document.adoptedStyleSheets.push(current);

  async function show(line, whole = false) {
    state.line = line;
    state.whole = whole;
    current.replaceSync(`.pp-grid .ag-row[row-index="${line}"] { background: var(--pp-current); }`);
    pending?.abort();
    pending = new AbortController();
    const { signal } = pending;
    let answer;
    try {
      answer = await ask("prompt", { view: state.view, line, whole, compare: state.compare, whitespace: state.spaces }, signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      answer = { error: NO_ANSWER };
    }
    if (signal.aborted) return;
    state.last = answer;
    draw(answer);
  }

  function draw(answer) {
    const place = byId("pp-place");
    byId("pp-origin").textContent = "";
    if (answer.error !== undefined) {
      place.replaceChildren(Object.assign(document.createElement("p"), { className: "pp-wrong", textContent: answer.error }));
    } else {
      place.innerHTML = answer.html; // all values are escaped, and the policy of the page would run no script in it
      if (answer.cut) place.append(showAll(answer.cut));
    }
    byId("pp-colours").innerHTML = answer.legend ?? "";
    byId("pp-values").innerHTML = answer.columns ?? "";
    byId("pp-columns").hidden = !answer.columns;
    for (const piece of place.querySelectorAll(".pp-piece[title]")) piece.tabIndex = 0;
    place.scrollTop = 0;
    if (state.compare || document.body.classList.contains("pp-reading")) scroll();
    mark(answer.wanted ?? "", answer.ignoreCase);
  }

  function showAll(text) {
    const button = Object.assign(document.createElement("button"), { className: "pp-show-all", textContent: text });
    button.addEventListener("click", () => show(state.line, true));
    return button;
  }

  // Matches of a search are marked without changing the text, because a match may cross pieces.
  function mark(wanted, ignoreCase) {
    if (!globalThis.Highlight) return;
    CSS.highlights.delete("pp-found");
    if (!wanted) return;
    const nodes = [];
    let text = "";
    for (const element of byId("pp-place").querySelectorAll(".pp-role, .pp-text")) {
      const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        nodes.push([text.length, walk.currentNode]);
        text += walk.currentNode.data;
      }
      text += "\0"; // separates texts, so that no match crosses them: no visible text has it
    }
    const nodeAt = (index) => {
      let low = 0;
      for (let high = nodes.length; high - low > 1; ) {
        const middle = (low + high) >> 1;
        if (nodes[middle][0] <= index) low = middle;
        else high = middle;
      }
      return [nodes[low][1], index - nodes[low][0]];
    };
    // The length stays: the dotted capital I alone would become two characters.
    const lowercase = (string) => string.replaceAll("\u0130", "\ufdd0").toLowerCase();
    const within = ignoreCase ? lowercase(text) : text;
    const sought = ignoreCase ? lowercase(wanted) : wanted;
    const ranges = [];
    for (let index = within.indexOf(sought); index >= 0 && ranges.length < 1000; index = within.indexOf(sought, index + sought.length)) {
      const range = document.createRange();
      range.setStart(...nodeAt(index));
      const [end, offset] = nodeAt(index + sought.length - 1);
      range.setEnd(end, Math.min(offset + 1, end.length));
      ranges.push(range);
    }
    CSS.highlights.set("pp-found", new Highlight(...ranges));
    ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
  }

  function showOrigin(event) {
    const piece = event.target.closest?.("#pp-place .pp-piece[title]");
    byId("pp-origin").textContent = piece ? `from: ${piece.title}` : "";
  }

  function compare(on) {
    if (state.compare === on) return;
    state.compare = on;
    document.body.classList.toggle("pp-comparing", on);
    state.fit?.();
  }

  // Dark and light.

  function turn() {
    const dark = !document.body.classList.contains("body--dark");
    Quasar.Dark.set(dark);
    return dark;
  }

  function spaces() {
    state.spaces = !state.spaces;
    show(state.line, state.whole);
  }

  // Keys.

  const focusOn = (selector) => document.querySelector(selector)?.focus();
  const click = (selector) => {
    const button = document.querySelector(selector);
    if (button?.offsetParent) button.click(); // hidden buttons do nothing
  };
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    g: () => focusOn(".pp-goto input"),
    "/": () => focusOn(".pp-search input"),
    "?": () => click(".pp-help"),
    d: () => click(".pp-theme"),
    w: spaces,
    n: () => click(".pp-next"),
    c: () => click(".pp-copy"),
    Escape: () => click(".pp-all"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector(".q-dialog")) return;
    const field = event.target.closest?.("input, textarea, select, [role=combobox], [role=listbox]");
    if (field) {
      if (event.key === "Escape") field.blur();
      return;
    }
    const within = event.target.closest?.(".ag-root, .pp-place");
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const act = keys[event.key] ?? (arrow && !within ? () => move(arrow) : undefined);
    if (act) {
      event.preventDefault();
      act();
    }
  });
  for (const name of ["mouseover", "focusin"]) document.addEventListener(name, showOrigin);

  const reload = () => show(state.line);
  return { rows, ready, refresh, recount, shared, reload, focused, go, move, open, next, order, compare, turn, spaces };
})();
