// Shared words and makers, long lists, and the task table: its order and filter.
// What comes from records reaches the page as text nodes only.

const byId = (id) => document.getElementById(id);
const words = JSON.parse(byId("words").textContent);
const title = document.title;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const state = (word) => make("span", { class: `state ${word.replace(" ", "-")}` }, word);
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// ---- long lists, whole in print

function fold(list) {
  const limit = Number(list.dataset.limit);
  const hidden = list.children.length - limit;
  if (hidden < 2) return;
  for (const item of Array.from(list.children).slice(limit)) item.classList.add("more");
  const label = (open) => (open ? `fewer ${list.dataset.what}` : `${hidden.toLocaleString("en")} ${list.dataset.what} more`);
  const button = make("button", { type: "button", class: "quiet", "aria-expanded": "false" }, label(false));
  button.addEventListener("click", () => {
    const open = list.classList.toggle("whole");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = label(open);
  });
  list.after(button);
}

for (const list of document.querySelectorAll("[data-limit]")) fold(list);

// ---- the task table

const table = byId("task-table");
const body = table.tBodies[0];
const tasks = Array.from(body.rows, (row, place) => ({
  row,
  place,
  name: row.dataset.name,
  state: row.dataset.state,
  text: `${row.dataset.name}\n${row.cells[6].textContent}`.toLowerCase(),
}));
const byName = new Map(tasks.map((task) => [task.name, task]));
const collator = new Intl.Collator("en", { numeric: true });

function order(header, column) {
  const numbers = header.dataset.kind === "number";
  const before = header.getAttribute("aria-sort");
  const down = before ? before === "ascending" : numbers && column !== 1;
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  for (const task of tasks) {
    const cell = task.row.cells[column];
    task.key = numbers ? Number(cell.dataset.value) : cell.textContent;
  }
  const compare = numbers ? (a, b) => a.key - b.key : (a, b) => collator.compare(a.key, b.key);
  const sorted = [...tasks].sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a.place - b.place);
  body.append(...sorted.map((task) => task.row));
}

Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
  const button = make("button", { type: "button" }, header.textContent);
  button.addEventListener("click", () => order(header, column));
  header.replaceChildren(button);
});

function filterTasks() {
  const text = byId("task-text").value.trim().toLowerCase();
  const states = new Set(Array.from(document.querySelectorAll("[name=state]:checked"), (box) => box.value));
  let shown = 0;
  for (const task of tasks) {
    const fits = task.text.includes(text) && (states.size === 0 || states.has(task.state));
    task.row.hidden = !fits;
    shown += fits;
  }
  byId("task-count").textContent =
    shown === tasks.length ? count(shown, "task") : `${shown.toLocaleString("en")} of ${count(tasks.length, "task")}`;
}

byId("task-filters").addEventListener("input", filterTasks);
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
