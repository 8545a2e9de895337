// The page: what is chosen, lists and tables, the detail of one case, themes and keys.

// ------------------------------------------------------------------------------------------------
// What the cases say, worked out once

function labelRuns() {
  const names = data.runs.map((run) => `${run.engine} ${run.version}`);
  data.runs.forEach((run, i) => {
    const twice = names.filter((name) => name === names[i]).length > 1;
    const file = (run.source || "").split("/").pop();
    run.label = twice ? `${names[i]} (${file || i + 1})` : names[i];
  });
}

function prepare() {
  labelRuns();
  data.cases.forEach((entry, i) => {
    entry.order = i;
    entry.area = entry.clauses.length ? areaOf(entry.clauses[0]) : "";
    entry.results.length = data.runs.length;
    entry.odd = entry.results.some((r) => r && r.odd);
    entry.flaky = entry.results.some((r) => r && (r.flaky || r.was_flaky));
  });
  data.cases.sort((a, b) => (b.odd - a.odd) || (b.flaky - a.flaky) || (a.order - b.order));
  data.position = new Map(data.cases.map((entry, i) => [entry.id, i]));
  data.runs.forEach((run, i) => {
    run.counts = {};
    run.odd = run.expected = run.flaky = 0;
    run.changes = {};
    for (const entry of data.cases) {
      const r = entry.results[i];
      if (!r) continue;
      run.counts[r.v] = (run.counts[r.v] || 0) + 1;
      if (r.odd) run.odd++;
      else if (isFailing(r.v)) run.expected++;
      if (r.flaky) run.flaky++;
      if (r.change) run.changes[r.change] = (run.changes[r.change] || 0) + 1;
    }
  });
}

// The text that a search looks through.
function haystack(entry) {
  if (!entry.haystack) {
    const parts = [entry.id, entry.title, ...entry.clauses];
    for (const r of entry.results) {
      if (!r) continue;
      for (const f of r.findings || []) parts.push(f.clause, f.where, f.expected, f.observed);
      parts.push(r.detail || "", r.note || "", ...(r.missing_features || []));
    }
    entry.haystack = parts.join("\n").toLowerCase();
  }
  return entry.haystack;
}

// ------------------------------------------------------------------------------------------------
// State: what is chosen; it lives in the address, so that a link leads to the same place

const state = {text: "", verdicts: new Set(), area: "", clause: "", feature: "", run: -1, change: "", id: "", tab: -1};
let shown = [];

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  state.text = address.get("text") || "";
  state.verdicts = new Set((address.get("verdict") || "").split(",").filter(Boolean));
  for (const name of ["area", "clause", "feature", "change"]) state[name] = address.get(name) || "";
  state.run = address.has("engine") ? Number(address.get("engine")) : -1;
  if (!data.runs[state.run]) state.run = -1;
  state.id = address.get("case") || "";
  state.tab = address.has("tab") ? Number(address.get("tab")) : -1;
}

function writeAddress() {
  const address = new URLSearchParams();
  const put = (name, value) => value && address.set(name, value);
  put("text", state.text);
  put("verdict", [...state.verdicts].join(","));
  for (const name of ["area", "clause", "feature", "change"]) put(name, state[name]);
  if (state.run >= 0) address.set("engine", state.run);
  put("case", state.id);
  if (state.id && data.runs.length > 1) address.set("tab", state.tab);
  history.replaceState(null, "", "#" + address.toString());
}

function resultsInView(entry) {
  return (state.run >= 0 ? [entry.results[state.run]] : entry.results).filter(Boolean);
}

function hasVerdict(result, wanted) {
  if (wanted === "odd") return result.odd;
  if (wanted === "flaky") return result.flaky || result.was_flaky;
  return result.v === wanted;
}

function isShown(entry) {
  const results = resultsInView(entry);
  if (results.length === 0) return false;
  if (state.area && !entry.clauses.some((clause) => areaOf(clause) === state.area)) return false;
  if (state.clause && !entry.clauses.includes(state.clause) &&
      !results.some((r) => (r.findings || []).some((f) => f.clause === state.clause))) return false;
  if (state.feature && !(entry.features || []).includes(state.feature)) return false;
  if (state.change && !results.some((r) => r.change === state.change)) return false;
  const wanted = [...state.verdicts];
  if (wanted.length && !results.some((r) => wanted.some((verdict) => hasVerdict(r, verdict)))) return false;
  return state.text.toLowerCase().split(/\s+/).every((word) => haystack(entry).includes(word));
}

// ------------------------------------------------------------------------------------------------
// The top: verdict of it all, runs, areas

function showHeadline() {
  const odd = data.runs.reduce((sum, run) => sum + run.odd, 0);
  const broken = data.runs.some((run) => run.problems || run.interrupted || run.cut_short);
  const executed = data.runs.every((run) => verdicts.some((v) => v !== "unsupported" && run.counts[v]));
  const engines = data.runs.length === 1 ? data.runs[0].label : counted(data.runs.length, "run");
  let text = `${engines}: ${counted(data.cases.length, "case")}, all as expected`;
  if (odd) text = `${engines}: ${counted(odd, "result")} of ${counted(data.cases.length, "case")} not as expected`;
  else if (broken) text = `${engines}: the run is not complete, or had problems`;
  else if (!executed) text = `${engines}: nothing was executed`;
  byId("headline").textContent = text;
  byId("headline").className = odd || broken || !executed ? "bad" : "good";
  document.title = `${odd ? `✗ ${odd}` : "✓"} gradcts report`;
}

function bar(counts) {
  const total = verdicts.reduce((sum, verdict) => sum + (counts[verdict] || 0), 0);
  return h("div", {class: "bar", "aria-hidden": "true"}, verdicts.filter((v) => counts[v]).map(
      (v) => h("i", {class: `v-${v}`, style: `flex: ${counts[v] / total} 0 0`})));
}

function countsOf(counts) {
  return verdicts.filter((v) => counts[v]).map(
      (v) => h("span", {class: `t-${v}`}, h("b", {}, counts[v].toLocaleString("en")), ` ${v}`));
}

function runFacts(run) {
  const facts = [`dialect ${run.dialect}`];
  if (run.started) facts.push(run.started.replace("T", " ").replace("Z", " UTC"));
  if (run.seconds !== undefined) facts.push(`took ${seconds(run.seconds)}`);
  if (run.shard) facts.push(`shard ${run.shard}`);
  if (run.repeat > 1) facts.push(`${run.repeat} runs of each case`);
  if (run.expected) facts.push(counted(run.expected, "expected failure"));
  return facts.join(" · ");
}

function comparison(run, i) {
  if (!run.earlier) return null;
  const link = (change, words, tone) => run.changes[change]
      ? h("button", {type: "button", class: `tag ${tone}`, onclick: () => choose({run: i, change})},
          `${run.changes[change]} ${words}`) : null;
  const parts = [link("new", run.changes.new === 1 ? "new failure" : "new failures", "hot"),
                 link("fixed", "fixed", "good"), link("still", "still failing", "warm"),
                 link("added", "new cases that pass", ""),
                 run.gone && h("span", {class: "tag"}, `${run.gone.length} gone`)].filter(Boolean);
  const against = `against ${run.earlier.version} ${(run.earlier.started || "").slice(0, 10)}`.trim();
  return h("p", {class: "facts"}, `${against}: `, parts.length ? parts : "no change", " ");
}

function showRuns() {
  byId("runs").replaceChildren(...data.runs.map((run, i) => h("div", {class: "run"},
      h("h2", {}, run.label, h("small", {}, runFacts(run))),
      bar(run.counts),
      h("div", {class: "counts"}, countsOf(run.counts),
        run.flaky ? h("span", {class: "t-hang"}, h("b", {}, run.flaky), " flaky") : null),
      comparison(run, i),
      run.cut_short && h("p", {class: "alert"}, "This run was cut short: it has no end."),
      run.interrupted && h("p", {class: "alert"}, "This run was interrupted: it is not complete."),
      run.problems && h("p", {class: "alert"}, `${counted(run.problems.length, "problem")} of the run: ` +
                                               cut(run.problems[0].text.split("\n")[0], 120)))));
}

function areaCounts() {
  const counts = new Map();  // area to one object for each run
  for (const entry of data.cases) {
    if (!counts.has(entry.area)) counts.set(entry.area, data.runs.map(() => ({})));
    entry.results.forEach((r, i) => {
      if (!r) return;
      const cell = counts.get(entry.area)[i];
      cell[r.v] = (cell[r.v] || 0) + 1;
      cell.odd = (cell.odd || 0) + (r.odd ? 1 : 0);
    });
  }
  return counts;
}

function areaCell(cell) {
  const failing = verdicts.filter(isFailing).reduce((sum, v) => sum + (cell[v] || 0), 0);
  const text = verdicts.filter((v) => cell[v]).map((v) => `${cell[v]} ${v}`).join(", ") || "none";
  return h("td", {}, h("div", {class: "cell", title: text}, bar(cell),
      h("span", {}, cell.pass || 0, failing
          ? h("b", {class: cell.odd ? "t-fail" : "t-hang"}, ` ${glyphs.fail} ${failing}`) : null,
        h("span", {class: "sr"}, ` pass; ${text}`))));
}

function showAreas() {
  const counts = areaCounts();
  const known = data.areas.filter((area) => counts.has(area.id));
  for (const id of counts.keys()) {
    if (!known.some((area) => area.id === id)) known.push({id, title: ""});
  }
  const head = h("tr", {}, h("th", {scope: "col"}, "area"),
                 data.runs.map((run) => h("th", {scope: "col", title: run.label},
                                          cut(run.label, data.runs.length > 1 ? 16 : 24))));
  byId("area-table").className = data.runs.length > 1 ? "several" : "";
  byId("area-table").replaceChildren(h("thead", {}, head), h("tbody", {}, known.map((area) => h("tr", {},
      h("th", {scope: "row"}, h("button", {type: "button", "data-area": area.id, title: area.title,
          "aria-pressed": String(state.area === area.id),
          onclick: () => choose({area: state.area === area.id ? "" : area.id})},
        h("span", {class: "code"}, area.id), h("span", {class: "soft"}, cut(area.title, 30)))),
      counts.get(area.id).map(areaCell)))));
}

// ------------------------------------------------------------------------------------------------
// Filters

function option(value, text, chosen) {
  return h("option", {value, selected: value === chosen}, text);
}

function showFilters() {
  const focused = document.activeElement;
  const again = focused && focused.dataset.verdict;  // the buttons are made anew: the focus stays
  if (focused !== byId("text")) byId("text").value = state.text;
  const results = data.cases.flatMap(resultsInView);
  const chips = [["odd", "not as expected"], ...verdicts.map((v) => [v, v]), ["flaky", "flaky"]];
  byId("verdicts").replaceChildren(...chips.map(([verdict, words]) => {
    const count = results.filter((r) => hasVerdict(r, verdict)).length;
    if (!count && !state.verdicts.has(verdict)) return "";
    return h("button", {type: "button", "data-verdict": verdict, "aria-pressed": String(state.verdicts.has(verdict)),
                        onclick: () => toggleVerdict(verdict)},
             glyphs[verdict] ? h("span", {class: `t-${verdict}`, "aria-hidden": "true"}, glyphs[verdict] + " ") : null,
             words, " ", h("b", {}, count.toLocaleString("en")));
  }));
  if (again) byId("verdicts").querySelector(`[data-verdict="${again}"]`)?.focus();
  showClauseFilter();
  const features = [...new Set(data.cases.flatMap((entry) => entry.features || []))].sort();
  byId("feature").replaceChildren(option("", "any feature", state.feature),
                                  ...features.map((name) => option(name, name, state.feature)));
  byId("run").hidden = data.runs.length < 2;
  byId("run").replaceChildren(option("-1", "any engine", String(state.run)),
                              ...data.runs.map((run, i) => option(String(i), run.label, String(state.run))));
  byId("change").hidden = !data.runs.some((run) => run.earlier);
  const changes = [["", "any change"], ["new", "new failures"], ["fixed", "fixed"], ["still", "still failing"],
                   ["added", "new cases"]];
  byId("change").replaceChildren(...changes.map(([value, text]) => option(value, text, state.change)));
}

function showClauseFilter() {
  const counts = new Map();
  for (const entry of data.cases) for (const id of entry.clauses) counts.set(id, (counts.get(id) || 0) + 1);
  const groups = new Map();
  for (const id of [...Object.keys(data.clauses), ...counts.keys()]) {
    if (!counts.has(id)) continue;
    if (!groups.has(areaOf(id))) groups.set(areaOf(id), new Set());
    groups.get(areaOf(id)).add(id);
  }
  byId("clause").replaceChildren(option("", "any clause", state.clause), ...[...groups].map(
      ([area, ids]) => h("optgroup", {label: area},
                         [...ids].map((id) => option(id, `${id}  (${counts.get(id)})`, state.clause)))));
}

function toggleVerdict(verdict) {
  if (!state.verdicts.delete(verdict)) state.verdicts.add(verdict);
  choose({});
}

function choose(change) {
  Object.assign(state, change);
  showFilters();
  markAreas();
  showList(true);
  writeAddress();
}

function markAreas() {
  for (const button of byId("area-table").querySelectorAll("button"))
    button.setAttribute("aria-pressed", String(button.dataset.area === state.area));
}

// ------------------------------------------------------------------------------------------------
// The list: only the rows in sight exist

function badge(result, label) {
  const say = (kind, words, glyph) =>
      h("span", {class: `badge ${kind}`, role: "img", "aria-label": words, title: words}, glyph);
  if (!result) return say("v-none", `${label}: not run`);
  const expected = isFailing(result.v) && !result.odd;
  const words = `${label}: ${result.v}${expected ? ", as expected" : ""}${result.flaky ? ", flaky" : ""}`;
  return say(`v-${result.v}${expected ? " expected" : ""}`, words, glyphs[result.v]);
}

const changeTags = {new: ["new failure", "hot"], fixed: ["fixed", "good"], added: ["new case", ""]};

function tags(entry) {
  const list = [];
  const changes = new Set(entry.results.filter(Boolean).map((r) => r.change));
  for (const [change, [words, tone]] of Object.entries(changeTags))
    if (changes.has(change)) list.push(h("span", {class: `tag ${tone}`}, words));
  if (entry.flaky) list.push(h("span", {class: "tag warm"}, "flaky"));
  return list;
}

function row(i) {
  const entry = shown[i];
  return h("div", {class: "row", role: "option", id: `row-${i}`, "aria-selected": String(entry.id === state.id),
                   "aria-setsize": shown.length, "aria-posinset": i + 1, style: `top: ${i * rowHeight}px`,
                   onclick: () => open(i, true)},
    h("div", {class: "badges"}, entry.results.map((r, k) => badge(r, data.runs[k].label))),
    h("div", {class: "words"}, h("div", {class: "id", title: entry.id}, entry.id),
      h("div", {class: "title", title: entry.title}, entry.title)),
    tags(entry));
}

function showList(fresh) {
  const list = byId("list");
  if (fresh) {
    shown = data.cases.filter(isShown);
    byId("count").textContent = shown.length === data.cases.length ? counted(shown.length, "case")
        : `${shown.length.toLocaleString("en")} of ${counted(data.cases.length, "case")}`;
    const height = `height: ${shown.length * rowHeight}px`;
    list.replaceChildren(h("div", {class: "space", role: "presentation", style: height}));
    list.scrollTop = 0;
  }
  drawRows();
}

function drawRows() {
  const list = byId("list"), space = list.firstElementChild;
  if (!space) return;
  const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 5);
  const last = Math.min(shown.length, first + Math.ceil((list.clientHeight || 800) / rowHeight) + 10);
  const rows = [];
  for (let i = first; i < last; i++) rows.push(row(i));
  space.replaceChildren(...rows);
  const chosen = shown.findIndex((entry) => entry.id === state.id);
  if (chosen >= first && chosen < last) list.setAttribute("aria-activedescendant", `row-${chosen}`);
  else list.removeAttribute("aria-activedescendant");
}

function reveal(i) {
  const list = byId("list");
  const top = i * rowHeight;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + rowHeight - list.clientHeight;
}

function open(i, read) {
  const entry = shown[i];
  if (!entry) return;
  state.id = entry.id;
  state.tab = bestTab(entry);
  reveal(i);
  drawRows();
  showDetail();
  writeAddress();
  if (read) document.body.classList.add("reading");
}

// The run to look at first: the one asked for, else the first that is not as expected.
function bestTab(entry) {
  if (state.run >= 0 && entry.results[state.run]) return state.run;
  const odd = entry.results.findIndex((r) => r && r.odd);
  return odd >= 0 ? odd : Math.max(0, entry.results.findIndex(Boolean));
}

function listKey(event) {
  const at = shown.findIndex((entry) => entry.id === state.id);
  const page = Math.max(1, Math.floor(byId("list").clientHeight / rowHeight) - 1);
  const moves = {ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page};
  let to = at;
  if (event.key in moves) to = at < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, at + moves[event.key]));
  else if (event.key === "Home") to = 0;
  else if (event.key === "End") to = shown.length - 1;
  else if (event.key === "Enter" && at >= 0) {
    document.body.classList.add("reading");
    byId("detail").focus();
    event.preventDefault();
    return;
  } else return;
  event.preventDefault();
  open(to, false);
}

function anyKey(event) {
  const typing = /INPUT|SELECT|TEXTAREA/.test(event.target.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    byId("text").focus();
  } else if (event.key === "Escape") {
    back();
  }
}

function back() {
  document.body.classList.remove("reading");
  byId("list").focus();
}

// ------------------------------------------------------------------------------------------------
// The detail of one case

function clauseBlock(id) {
  const clause = data.clauses[id];
  return [h("button", {type: "button", class: "name", title: "All cases of this clause",
                       onclick: () => choose({clause: id})}, id),
          clause ? h("span", {class: "soft"}, ` ${clause.level}`) : null,
          h("p", {}, clause ? clause.text : "This clause is not among those that gradcts knows.")];
}

function compareTable(rows, first) {
  return h("table", {class: "compare"},
    h("thead", {}, h("tr", {}, h("th", {scope: "col"}, first), h("th", {scope: "col"}, "expected"),
                     h("th", {scope: "col"}, "observed"))),
    h("tbody", {}, rows.map(([where, expected, observed, bad]) => h("tr", {class: bad ? "bad" : ""},
      h("td", {class: "where", "data-label": ""}, where),
      h("td", {"data-label": "expected", class: bad ? "expected-value" : ""}, expected),
      h("td", {"data-label": "observed"}, observed)))));
}

function findings(result) {
  const groups = new Map();
  for (const f of result.findings || []) {
    if (!groups.has(f.clause)) groups.set(f.clause, []);
    groups.get(f.clause).push([f.where, f.expected, f.observed, true]);
  }
  return [...groups].map(([clause, rows]) =>
      h("div", {class: "clause"}, clauseBlock(clause), compareTable(rows, "where")));
}

function verdictBanner(result) {
  const tone = result.odd ? "bad" : isFailing(result.v) ? "warn" : result.v === "pass" ? "pass" : "";
  const parts = [h("b", {}, result.flaky ? "flaky" : result.v)];
  const say = (text) => parts.push(h("span", {}, text));
  if (result.odd && result.v === "pass") say("It was expected to fail.");
  if (!result.odd && isFailing(result.v)) say("An expected failure.");
  if (result.note) say(result.note);
  if (result.missing_features) say(`The engine does not claim ${result.missing_features.join(", ")}.`);
  if (result.change === "new")
    say(result.was ? `New: it was ${result.was} in the earlier run.` : "New: it was not in the earlier run.");
  if (result.change === "fixed") say(`Fixed: it was ${result.was} in the earlier run.`);
  if (result.change === "still") say(`Still failing${result.was ? `: it was ${result.was}` : ""}.`);
  if (result.was_flaky) say("It was flaky in the earlier run.");
  if (result.was_hash) say("The scenario itself has changed since the earlier run.");
  return h("div", {class: `verdict ${tone}`}, parts);
}

function replay(result) {
  if (!result.replay) return null;
  const button = h("button", {type: "button", onclick: () => copy(result.replay, button)}, "Copy");
  return h("div", {class: "replay"}, h("code", {}, result.replay), button);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (refused) {
    const area = h("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function facts(entry, result) {
  const tag = (text, title) => h("span", {class: "tag", title}, text);
  const feature = (name) => tag(name, data.features[name] || "a feature that an engine needs for it");
  return h("div", {class: "facts-list"}, tag(seconds(result.s), "time"),
           tag(`hash ${entry.hash}`, "of what the scenario means"),
           (entry.reports || []).map((id) => tag(`report ${id}`, "a known bug")),
           (entry.features || []).map(feature));
}

function section(title, ...content) {
  const parts = content.flat(Infinity).filter(Boolean);
  return parts.length ? [h("h3", {}, title), parts] : [];
}

function textAlternative(title, text) {
  return text ? h("details", {class: "more"}, h("summary", {}, title), h("pre", {}, text)) : null;
}

function program(drawing, evidence) {
  const bad = new Set(evidence ? evidence.steps : []);
  return h("ol", {class: "program"}, drawing.program.map(([indent, step, text, expected]) =>
    h("li", {class: bad.has(step) ? "bad" : ""}, "  ".repeat(indent), step >= 0 ? `${step}. ` : "", text,
      expected ? h("span", {class: "soft"}, `   expect ${expected}`) : null,
      bad.has(step) ? h("span", {class: "sr"}, " (a finding is about this step)") : null)));
}

function tabs(entry) {
  if (data.runs.length < 2) return null;
  const look = (i) => {
    state.tab = i;
    showDetail();
    writeAddress();
    byId("detail").querySelector("[aria-selected=true]").focus();
  };
  const list = data.runs.map((run, i) => h("button", {type: "button", role: "tab", disabled: !entry.results[i],
      "aria-selected": String(i === state.tab), tabindex: i === state.tab ? 0 : -1, onclick: () => look(i)},
    badge(entry.results[i], run.label), run.label));
  return h("div", {class: "tabs", role: "tablist", "aria-label": "Engines", onkeydown: tabKey}, list);
}

function tabKey(event) {
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const all = [...event.currentTarget.children].filter((tab) => !tab.disabled);
  all[(all.indexOf(document.activeElement) + step + all.length) % all.length].click();
}

function showDetail() {
  const entry = data.cases[data.position.get(state.id)];
  const detail = byId("detail");
  detail.scrollTop = 0;
  detail.classList.toggle("overview", !entry);
  if (!entry) return detail.replaceChildren(...overview());
  if (!entry.results[state.tab]) state.tab = bestTab(entry);
  const result = entry.results[state.tab];
  const drawing = view(result.drawing === undefined ? entry.drawing : result.drawing), evidence = view(result.evidence);
  const broken = findings(result);
  detail.replaceChildren(...[
    h("button", {type: "button", class: "back", onclick: back}, "← Cases"),
    h("h2", {class: "id"}, entry.id), h("p", {class: "lead"}, entry.title),
    tabs(entry), verdictBanner(result), replay(result),
    broken.length ? section("What was broken", broken) : null,
    result.detail && isFailing(result.v) ? section("What happened", h("pre", {}, result.detail)) : null,
    drawing ? section("Graph", drawGraph(drawing, evidence), textAlternative("The graph as text", drawing.text)) : null,
    evidence ? section("Timeline", drawTimeline(evidence)) : null,
    evidence && evidence.missing.length ? section("Had to happen and did not",
        h("ul", {class: "plain"}, evidence.missing.map((line) => h("li", {class: "mono"}, line)))) : null,
    evidence && evidence.results.length ? section("Results", compareTable(evidence.results, "what")) : null,
    evidence && evidence.state.length ? section("State after the program",
        h("ul", {class: "plain"}, evidence.state.map((line) => h("li", {}, line)))) : null,
    drawing ? section("Program", program(drawing, evidence)) : null,
    broken.length ? null : section(entry.clauses.length === 1 ? "Clause" : "Clauses",
        entry.clauses.map((id) => h("div", {class: "clause"}, clauseBlock(id)))),
    missingParts(entry, result, drawing, evidence),
    section("Facts", facts(entry, result))].flat(Infinity).filter(Boolean));
}

function missingParts(entry, result, drawing, evidence) {
  const say = (text) => h("p", {class: "soft"}, text);
  if (result.no_evidence) return say(`No picture: ${result.no_evidence}`);
  if (isFailing(result.v) && !evidence && result.left_out)
    return say("The outcome is too large for a report. The replay command shows it, and --trace writes it to a file.");
  if (result.v === "fail" && !evidence)
    return say("The events of this case are left out to keep the page small. The replay command shows them.");
  if (result.v === "pass") {
    return say("Events are kept for cases that did not pass. To see those of this one, " +
               "add --trace FILE to the replay command.");
  }
  return drawing ? null : say("The scenario is not part of this report.");
}

// What stands in place of a case as long as none is chosen.
function overview() {
  const broken = new Map();
  for (const entry of data.cases) {
    entry.results.forEach((r, i) => {
      if (!r || !isFailing(r.v)) return;
      const ids = new Set((r.findings || []).map((f) => f.clause));
      for (const id of ids.size ? ids : new Set(entry.clauses.slice(0, 1))) {
        if (!broken.has(id)) broken.set(id, data.runs.map(() => 0));
        broken.get(id)[i]++;
      }
    });
  }
  const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const sorted = [...broken].sort((a, b) => total(b[1]) - total(a[1]));
  return [...brokenTable(sorted), ...unclaimed(), ...problems(), ...gone(), ...howTo()].filter(Boolean);
}

function brokenTable(sorted) {
  if (!sorted.length) return [h("h2", {}, "No clause was broken"),
                              h("p", {class: "lead"}, "Choose a case to see its graph, its program and what it asks.")];
  return [h("h2", {}, counted(sorted.length, "broken clause")),
    h("p", {class: "lead"}, "By the number of cases that show it. Choose a clause, or a case."),
    h("table", {class: "broken"}, h("thead", {}, h("tr", {}, h("th", {class: "sr"}, "clause"),
        data.runs.map((run) => h("th", {class: data.runs.length > 1 ? "soft" : "sr", scope: "col"}, run.engine)),
        h("th", {class: "sr"}, "text"))),
      h("tbody", {}, sorted.map(([id, numbers]) => h("tr", {},
        h("td", {}, h("button", {type: "button", class: "mono", onclick: () => showFailuresOf(id)}, id)),
        numbers.map((n) => h("td", {class: `number ${n ? "t-fail" : "soft"}`}, n || "none")),
        h("td", {}, (data.clauses[id] || {text: ""}).text)))))];
}

function showFailuresOf(clause) {
  const failing = verdicts.filter((v) => isFailing(v) && data.runs.some((run) => run.counts[v]));
  choose({clause, verdicts: new Set(failing)});
  open(0, false);
}

function unclaimed() {
  return data.runs.map((run, i) => {
    const counts = new Map();
    for (const entry of data.cases) {
      const r = entry.results[i];
      for (const name of (r && r.missing_features) || []) counts.set(name, (counts.get(name) || 0) + 1);
    }
    if (!counts.size) return [];
    return section(`Not checked: features that ${run.label} does not claim`, h("div", {class: "facts-list"},
      [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) =>
        h("span", {class: "tag", title: data.features[name] || ""}, `${name}  ${count}`))));
  }).flat(Infinity);
}

function problems() {
  return data.runs.map((run) => section(`Problems of the run: ${run.label}`, (run.problems || []).map(
      (problem) => h("pre", {}, problem.id ? `${problem.id}\n${problem.text}` : problem.text)))).flat(Infinity);
}

function gone() {
  return data.runs.map((run) => section(`In the earlier run of ${run.label} and no longer`, run.gone &&
      h("ul", {class: "plain"}, run.gone.slice(0, 200).map((id) => h("li", {class: "mono"}, id)),
        run.gone.length > 200 ? h("li", {}, `and ${run.gone.length - 200} more`) : null))).flat(Infinity);
}

function howTo() {
  return section("Keys", h("ul", {class: "plain"}, h("li", {}, "/ searches"),
    h("li", {}, "↑ ↓ Page Up, Page Down, Home, End choose a case in the list; Enter reads it; Escape goes back"),
    h("li", {}, "The address holds what is chosen: it can be kept as a link")));
}

// ------------------------------------------------------------------------------------------------
// Theme, and the start

function showTheme(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  for (const button of byId("theme").children)
    button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
}

function remembered(theme) {
  try {
    if (theme) localStorage.setItem("gradcts-theme", theme);
    return localStorage.getItem("gradcts-theme") || "auto";
  } catch (refused) {
    return theme || "auto";
  }
}

function listen() {
  for (const button of byId("theme").children)
    button.addEventListener("click", () => showTheme(remembered(button.dataset.theme)));
  byId("text").addEventListener("input", () => choose({text: byId("text").value.trim()}));
  byId("text").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    byId("list").focus();
    open(0, false);
  });
  for (const name of ["clause", "feature", "change"])
    byId(name).addEventListener("change", () => choose({[name]: byId(name).value}));
  byId("run").addEventListener("change", () => choose({run: Number(byId("run").value)}));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    byId("text").value = "";
    choose({text: "", verdicts: new Set(), area: "", clause: "", feature: "", run: -1, change: ""});
  });
  byId("list").addEventListener("scroll", drawRows);
  byId("list").addEventListener("keydown", listKey);
  document.addEventListener("keydown", anyKey);
  window.addEventListener("resize", drawRows);
  window.addEventListener("hashchange", start);
}

function start() {
  readAddress();
  showFilters();
  markAreas();
  showList(true);
  const at = shown.findIndex((entry) => entry.id === state.id);
  if (at >= 0) byId("list").scrollTop = (at + 0.5) * rowHeight - byId("list").clientHeight / 2;
  drawRows();
  showDetail();
  if (state.id) document.body.classList.add("reading");
}

showTheme(remembered());
prepare();
showHeadline();
showRuns();
showAreas();
if (matchMedia("(max-width: 1180px)").matches) byId("areas").querySelector("details").open = false;
listen();
start();
