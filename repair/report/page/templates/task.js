// A task's page, made from its JSON when it is opened, and which page is shown.

// ---- one task's page

function findingLine(finding, number) {
  const ids = finding.count ? `${finding.count.toLocaleString("en")} ${finding.list || "ids"}` : "";
  const said = finding.cause ? make("code", {}, finding.cause) : make("b", {}, finding.words);
  const kind = make("span", { class: `kind ${finding.kind === "dropped" ? "d" : "r"}` }, finding.kind);
  const line = make("li", {}, make("p", {}, kind, " ", make("b", {}, ids), " ", said));
  if (finding.before) line.append(make("p", {}, "under empty: ", make("code", {}, finding.before)));
  const outcomes = finding.outcomes ? ` · ${finding.outcomes}` : "";
  const last = make("p", { class: "hint" }, `${finding.rule}${finding.cause ? `: ${finding.words}` : ""}${outcomes} `);
  line.append(last);
  if (finding.count) {
    const button = make("button", { type: "button", class: "quiet" }, "show in the grid");
    button.addEventListener("click", () => {
      byId("only-finding").value = String(number);
      filterTests();
      byId("tests-heading").scrollIntoView({ block: "start" });
      activate(0);
    });
    last.append(button);
  }
  return line;
}

/** Paper has no grid: it gets the marked tests as lists, made when somebody prints. */
function listMarked() {
  if (!opened || byId("marked").hasChildNodes()) return;
  const lists = opened.findings.map(() => make("ul"));
  for (const row of opened.all) {
    if (row.marks.length === 0) continue;
    const cells = opened.columns.map((column) => `${CONTROLS[column]} ${spell(row.cells[column])}`).join("; ");
    for (const mark of row.marks) lists[mark].append(make("li", {}, make("code", {}, row.id), ` ${cells}`));
  }
  opened.findings.forEach((finding, number) => {
    if (!finding.count) return;
    const heading = `${finding.kind} ${finding.list} ${finding.rule}${finding.cause ? `: ${finding.cause}` : ""}`;
    byId("marked").append(make("h3", {}, heading), lists[number]);
  });
}

const paper = window.matchMedia("print");
paper.addEventListener("change", () => paper.matches && listMarked());
window.addEventListener("beforeprint", listMarked);

function openTask(name) {
  const task = byName.get(name);
  const data = task ? JSON.parse(byId(`task-${task.row.dataset.task}`).textContent) : null;
  opened = null;
  live.clear();
  grid.tBodies[0].replaceChildren();
  for (const id of ["task-details", "findings-box", "logs", "facts", "marked", "test"]) byId(id).replaceChildren();
  byId("test-filters").reset();
  byId("task-name").textContent = name;
  byId("task-word").replaceChildren(...(data ? [state(data.word), ` ${words.states[data.word]}`] : ["No task of this report has that name."]));
  byId("facts-heading").parentNode.hidden = !data;
  const findings = data ? data.findings : [];
  const tests = data && data.tests && data.tests.tails.length > 0;
  byId("findings-section").hidden = findings.length === 0;
  byId("logs-section").hidden = !data || data.logs.length === 0;
  byId("tests-section").hidden = !tests;
  showTask();
  if (!data) return;
  byId("task-details").append(...data.details.map((line) => make("li", {}, line)));
  const list = make("ul", { id: "findings", "data-limit": "6", "data-what": "findings" }, ...findings.map(findingLine));
  byId("findings-box").replaceChildren(list);
  fold(list);
  byId("facts").append(...data.facts.flatMap(([label, text]) => [make("dt", {}, label), make("dd", {}, text)]));
  byId("logs").append(
    ...data.logs.map(([control, tail]) => make("details", { open: "" }, make("summary", {}, control), make("pre", { tabindex: "0", "aria-label": `${control}: end of its log` }, tail))),
  );
  if (!tests) return;
  const choices = findings.flatMap((finding, number) => (finding.count ? [make("option", { value: String(number) }, `${finding.count} × ${finding.cause || finding.words}`)] : []));
  byId("only-finding").replaceChildren(make("option", { value: "" }, "any cause"), ...choices);
  byId("only-finding-label").hidden = choices.length === 0;
  openGrid(data);
  byId("only-flaky").parentNode.hidden = !opened.all.some((row) => row.flaky);
  byId("only-marked").parentNode.hidden = !opened.all.some((row) => row.marks.length > 0);
  if (paper.matches) listMarked();
}

// ---- which of both is shown: the part of the address behind `#`

const overview = byId("overview");
let left = { scroll: 0, link: null };

function showTask() {
  if (!overview.hidden) left = { scroll: window.scrollY, link: document.activeElement };
  overview.hidden = true;
  byId("task").hidden = false;
  document.title = `${byId("task-name").textContent} · ${title}`;
  window.scrollTo(0, 0);
  byId("task-name").focus({ preventScroll: true });
}

function showOverview() {
  if (!overview.hidden) return;
  overview.hidden = false;
  byId("task").hidden = true;
  opened = null;
  document.title = title;
  window.scrollTo(0, left.scroll);
  if (left.link && overview.contains(left.link)) left.link.focus({ preventScroll: true });
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  const found = /^#task=(.*)$/s.exec(location.hash);
  if (found) openTask(decode(found[1]));
  else showOverview();
}

history.scrollRestoration = "manual";
window.addEventListener("hashchange", route);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", route);
else route();
filterTasks();
document.documentElement.dataset.ready = "";
