// A task's tests: read from their compact form, and shown as a table of which only the rows in sight exist.

// ---- one task: its tests from their compact form

function unpack(tests) {
  const rows = [];
  let id = "";
  for (let n = 0; n < tests.tails.length; n += 1) {
    id = id.slice(0, tests.shared[n]) + tests.tails[n];
    const cells = tests.runs.map((runs, column) => tests.columns[column].slice(n * runs, (n + 1) * runs));
    rows.push({ n, id, cells, list: tests.lists[n], marks: tests.marks[n] || [], before: "", after: "" });
  }
  for (let at = 0; at < tests.seen.length; at += 3) {
    const row = rows[tests.seen[at]];
    row.before = tests.causes[tests.seen[at + 1]];
    row.after = tests.causes[tests.seen[at + 2]];
  }
  for (const row of rows) {
    row.flaky = differ(row.cells[0] + row.cells[2]) || differ(row.cells[1] + row.cells[3]);
    row.text = `${row.id}\n${row.before}\n${row.after}`.toLowerCase();
  }
  return rows;
}

function differ(letters) {
  return new Set(letters.replaceAll(words.none, "")).size > 1;
}

const outcome = (letter) => words.outcomes[letter] || "no outcome";
const LISTS = { f: "F2P", p: "P2P", b: "F2P and P2P" };
const CONTROLS = ["empty", "oracle", "confirmation, empty", "confirmation, oracle"];

/** Outcomes of several runs in words, such as `passed 2/3, failed 1/3`. */
function spell(letters) {
  const seen = [...letters].filter((letter) => letter !== words.none);
  const counts = new Map();
  for (const letter of seen) counts.set(letter, (counts.get(letter) || 0) + 1);
  if (counts.size === 0) return "not run";
  if (counts.size === 1) return outcome(seen[0]);
  const rates = [...counts].sort((a, b) => b[1] - a[1] || (outcome(a[0]) < outcome(b[0]) ? -1 : 1));
  return rates.map(([letter, number]) => `${outcome(letter)} ${number}/${seen.length}`).join(", ");
}

// ---- the grid: a table of which only the rows in sight exist

const box = byId("grid-box");
const grid = byId("grid");
const AROUND = 12;
let opened = null; // the task that is shown: its findings, all rows, the rows that fit the filter, columns, active row
const live = new Map();

function openGrid(data) {
  const all = unpack(data.tests);
  const columns = data.tests.runs.flatMap((runs, column) => (runs ? [column] : []));
  opened = { findings: data.findings, groups: data.tests.groups, all, rows: all, columns, active: 0, height: 28 };
  const cols = [make("col", { class: "c-flag" }), make("col"), make("col", { class: "c-list" })];
  for (const column of columns) {
    const col = make("col", { class: "run" });
    col.style.setProperty("--runs", String(data.tests.runs[column]));
    cols.push(col);
  }
  grid.querySelector("colgroup").replaceChildren(...cols);
  grid.tHead.replaceChildren(...gridHead(columns));
  grid.setAttribute("aria-colcount", String(3 + columns.length));
  filterTests();
}

function gridHead(columns) {
  const second = columns.filter((column) => column > 1);
  const rows = second.length ? "2" : "1";
  const head = (text, more = {}) => make("th", { scope: "col", rowspan: rows, ...more }, text);
  const flag = head("", { class: "c-flag", "aria-label": "mark" });
  const first = [flag, head("test"), head("list", { class: "c-list" })];
  for (const column of columns.filter((number) => number < 2)) first.push(head(CONTROLS[column], { class: "run" }));
  if (!second.length) return [make("tr", {}, ...first)];
  first.push(make("th", { scope: "colgroup", colspan: String(second.length), class: "run" }, "confirmation"));
  const below = second.map((column) => make("th", { scope: "col", class: "run" }, CONTROLS[column - 2]));
  return [make("tr", {}, ...first), make("tr", {}, ...below)];
}

function filterTests() {
  const text = byId("test-text").value.trim().toLowerCase();
  const marked = byId("only-marked").checked;
  const flaky = byId("only-flaky").checked;
  const finding = byId("only-finding").value;
  opened.rows = opened.all.filter(
    (row) =>
      row.text.includes(text) &&
      (!marked || row.marks.length > 0) &&
      (!flaky || row.flaky) &&
      (finding === "" || row.marks.includes(Number(finding))),
  );
  opened.active = 0;
  const [shown, total] = [opened.rows.length, opened.all.length];
  byId("test-count").textContent =
    shown === total ? count(total, "test") : `${shown.toLocaleString("en")} of ${count(total, "test")}`;
  grid.setAttribute("aria-rowcount", String(shown + grid.tHead.rows.length));
  live.clear();
  grid.tBodies[0].replaceChildren();
  box.scrollTop = 0;
  draw();
  describe(opened.rows[0]);
}

function draw() {
  if (!opened) return;
  const { rows, height } = opened;
  const from = Math.max(0, Math.floor(box.scrollTop / height) - AROUND);
  const to = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + AROUND);
  const focused = live.get(opened.active)?.contains(document.activeElement);
  if (focused && (opened.active < from || opened.active >= to)) box.focus({ preventScroll: true });
  if (document.activeElement !== box && !focused && (opened.active < from || opened.active >= to)) {
    opened.active = Math.min(rows.length - 1, Math.ceil(box.scrollTop / height));
  }
  for (const [place, line] of live) {
    if (place < from || place >= to) {
      line.remove();
      live.delete(place);
    }
  }
  const lines = grid.tBodies[0];
  if (!lines.firstElementChild) lines.append(filler(), filler());
  let next = lines.firstElementChild.nextElementSibling;
  for (let place = from; place < to; place += 1) {
    let line = live.get(place);
    if (!line) {
      line = gridRow(rows[place], place);
      live.set(place, line);
      lines.insertBefore(line, next);
    } else {
      next = line;
    }
    line.tabIndex = place === opened.active ? 0 : -1;
    next = line.nextElementSibling;
  }
  lines.firstElementChild.style.height = `${from * height}px`;
  lines.lastElementChild.style.height = `${(rows.length - to) * height}px`;
  measure();
}

function filler() {
  return make("tr", { class: "filler", "aria-hidden": "true" });
}

/** Rows are as high as the reader's letters make them. */
function measure() {
  const line = live.values().next().value;
  const height = line ? line.getBoundingClientRect().height : 0;
  if (height > 0 && Math.abs(height - opened.height) > 0.01) {
    opened.height = height;
    draw();
  }
}

function gridRow(row, place) {
  const flag = make("td", { class: "c-flag" }, ...flags(row));
  const parts = idParts(row.id).map((part, number) => make("span", { class: ["file", "name", "variant"][number] }, part));
  const id = make("th", { scope: "row", class: "id", title: row.id }, make("span", { class: "parts" }, ...parts));
  const list = make("td", { class: "c-list" }, LISTS[row.list]);
  const cells = opened.columns.map((column) => {
    const letters = row.cells[column];
    const squares = [...letters].map((letter) =>
      letter === words.none
        ? make("span", { class: "cell none", "aria-hidden": "true" }, "·")
        : make("span", { class: `cell o-${outcome(letter)}${wanted(row, column, letter)}`, "aria-hidden": "true" }, letter),
    );
    const said = `${CONTROLS[column]}: ${spell(letters)}`;
    return make("td", { class: "run", title: said }, make("span", { class: "unseen" }, said), ...squares);
  });
  const number = String(place + 1 + grid.tHead.rows.length);
  const line = make("tr", { "aria-rowindex": number, "aria-describedby": "test-why" }, flag, id, list, ...cells);
  line.dataset.place = String(place);
  return line;
}

/** An id as what it is in, its name and its parameters: where there is no room, the first gives way first. */
function idParts(id) {
  const bracket = id.indexOf("[");
  const end = bracket < 0 ? id.length : bracket;
  const cut = id.lastIndexOf("::", end - 1);
  const start = cut < 0 ? 0 : cut + 2;
  return [id.slice(0, start), id.slice(start, end), id.slice(end)];
}

/** An F2P is meant to fail with nothing applied: no reader need look there. */
function wanted(row, column, letter) {
  return row.list === "f" && column % 2 === 0 && (letter === "F" || letter === "E") ? " wanted" : "";
}

function flags(row) {
  const kinds = new Set(row.marks.map((mark) => opened.findings[mark].kind));
  const found = [];
  if (kinds.has("refused for")) found.push(["r", "R", "refuses the task"]);
  if (kinds.has("dropped")) found.push(["d", "D", "dropped"]);
  if (row.flaky) found.push(["f", "~", "flaky"]);
  return found.map(([name, letter, said]) =>
    make("span", { class: `flag ${name}`, title: said }, make("span", { class: "unseen" }, said), make("span", { "aria-hidden": "true" }, letter)),
  );
}

/** The panel beside the grid: all that is known of one test. */
function describe(row) {
  if (!row) return byId("test").replaceChildren(make("p", { class: "hint" }, "No test fits the filter."));
  const why = make("div", { id: "test-why" });
  for (const mark of row.marks) {
    const finding = opened.findings[mark];
    why.append(make("p", {}, make("b", {}, finding.kind), ` ${finding.list} ${finding.rule}: ${finding.words}`));
  }
  const same = row.before === row.after;
  if (row.after) why.append(make("p", {}, same ? "cause: " : "under oracle: ", make("code", {}, row.after)));
  if (row.before && !same) why.append(make("p", {}, "under empty: ", make("code", {}, row.before)));
  const runs = make("dl", {});
  for (const column of opened.columns) runs.append(make("dt", {}, CONTROLS[column]), make("dd", {}, spell(row.cells[column])));
  const parts = [make("p", { class: "id" }, row.id), make("p", { class: "hint" }, LISTS[row.list]), why, runs];
  const group = opened.groups[row.n];
  if (group) {
    const lines = group.members.map(([id, [empty, oracle]]) => make("li", {}, make("code", {}, id), ` empty ${spell(empty)}, oracle ${spell(oracle)}`));
    const more = group.count - group.members.length;
    if (more > 0) lines.push(make("li", {}, `and ${more.toLocaleString("en")} more`));
    parts.push(make("p", {}, `a group of ${count(group.count, "test")}, worst first:`), make("ul", {}, ...lines));
  }
  return byId("test").replaceChildren(...parts);
}

function activate(place) {
  const { rows, height } = opened;
  opened.active = Math.max(0, Math.min(rows.length - 1, place));
  const [top, head] = [opened.active * height, grid.tHead.offsetHeight];
  const room = box.clientHeight - head;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + room) box.scrollTop = top + height - room;
  draw();
  live.get(opened.active)?.focus({ preventScroll: true });
}

box.addEventListener("keydown", (event) => {
  if (!opened || !opened.rows.length || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Math.max(1, Math.floor((box.clientHeight - grid.tHead.offsetHeight) / opened.height) - 1);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (!(event.key in steps)) return;
  event.preventDefault();
  activate(opened.active + steps[event.key]);
});
const rowOf = (event) => {
  const line = event.target.closest("tr[data-place]");
  return line && opened ? Number(line.dataset.place) : null;
};
grid.tBodies[0].addEventListener("mouseover", (event) => {
  const place = rowOf(event);
  if (place !== null && !grid.tBodies[0].contains(document.activeElement)) describe(opened.rows[place]);
});
grid.tBodies[0].addEventListener("focusin", (event) => {
  const place = rowOf(event);
  if (place === null) return;
  live.get(opened.active)?.setAttribute("tabindex", "-1");
  opened.active = place;
  event.target.tabIndex = 0;
  describe(opened.rows[place]);
});
let waiting = false;
box.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
});
window.addEventListener("resize", () => draw());
byId("test-filters").addEventListener("input", filterTests);
