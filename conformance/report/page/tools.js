"use strict";
// The page draws itself from two blocks of data: #data, all that lists and tables show, and #views, one
// line of JSON for each drawing or piece of evidence, parsed when its case is opened. Whatever text an
// engine wrote is only ever set as text, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const views = document.getElementById("views").textContent.split("\n");
const verdicts = ["fail", "crash", "hang", "error", "unsupported", "pass"];
const glyphs = {pass: "✓", fail: "✗", crash: "!", hang: "∞", error: "?", unsupported: "–"};
const rowHeight = 46;

// ------------------------------------------------------------------------------------------------
// Small tools

const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}
const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const cut = (text, length) => text.length > length ? text.slice(0, Math.max(length - 1, 1)) + "…" : text;
const areaOf = (clause) => (data.clauses[clause] || {}).area || clause.split("-")[0];
const isFailing = (verdict) => ["fail", "crash", "hang", "error"].includes(verdict);
const view = (line) => line === undefined ? null : JSON.parse(views[line]);

function seconds(value) {
  if (value === undefined) return "";
  if (value < 0.001) return "under 1 ms";
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`;
}
