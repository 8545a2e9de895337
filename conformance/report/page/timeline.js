// Draws what happened as SVG: a lane for each thread and stream, bars that nest, arrows for waits.

const kinds = {node_enter: "node", node_exit: "node", pass_begin: "pass", pass_end: "pass", observe: "other", pack: "other",
               unpack: "other", callback: "other", destroyed: "other"};
const kindOf = (event) => kinds[event] || "hook";

function drawTimeline(evidence) {
  if (!evidence.bars.length) return h("p", {class: "soft"}, "No event was reported.");
  const unit = evidence.shown > 150 ? 16 : evidence.shown > 50 ? 26 : 40;
  const barHeight = 21, pad = 7, head = 20;
  const depths = (lane) => evidence.bars.filter((b) => b[0] === lane).map((b) => b[3]);
  const rows = evidence.lanes.map((_, lane) => 1 + Math.max(0, ...depths(lane)));
  const tops = [];
  let y = head;
  rows.forEach((n) => { tops.push(y); y += n * barHeight + 2 * pad; });
  const width = evidence.shown * unit + 12;
  const x = (time) => 4 + time * unit;
  const rowAt = (lane, time, begins) => {
    const own = evidence.bars.filter((b) => b[0] === lane && b[1] <= time && time <= b[2]);
    const exact = own.find((b) => b[begins ? 1 : 2] === time) || own.find((b) => b[1] < time && time < b[2]);
    return tops[lane] + pad + (exact ? exact[3] : 0) * barHeight + 9;
  };
  const names = svg("svg", {class: "names", width: 126, height: y + 4, "aria-hidden": "true"},
    evidence.lanes.map(([, name], i) => [svg("path", {class: "lane", d: `M0 ${tops[i]}H126`}),
        svg("text", {x: 8, y: tops[i] + pad + 15}, cut(name, 20), svg("title", {}, name))]));
  const label = `Timeline of ${counted(evidence.events, "event")} on ${counted(evidence.lanes.length, "lane")}`;
  const picture = svg("svg", {width, height: y + 4, role: "img", "aria-label": label},
    svg("defs", {}, svg("marker", {id: "wait", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
                                   orient: "auto"}, svg("path", {d: "M0 0L8 4L0 8z", class: "arrow-head"}))),
    ticks(evidence.shown, x, head, y), tops.map((top) => svg("path", {class: "lane", d: `M0 ${top}H${width}`})),
    evidence.bars.map((item) => barSvg(item, x, tops[item[0]] + pad + item[3] * barHeight, barHeight - 3)),
    evidence.arrows.map((arrow) => arrowSvg(arrow, x, rowAt)));
  return [h("div", {class: "timeline", tabindex: 0, role: "group", "aria-label": "Timeline"}, names, picture),
          timelineLegend(evidence), eventList(evidence)];
}

function ticks(length, x, top, bottom) {
  const step = length > 150 ? 20 : length > 50 ? 10 : 5;
  const marks = [];
  for (let i = 0; i <= length; i += step) {
    marks.push(svg("path", {class: "lane", d: `M${x(i)} ${top - 4}V${bottom}`, "stroke-dasharray": "2 4"}),
               svg("text", {class: "small", x: x(i) + 2, y: 12}, i));
  }
  return marks;
}

function barSvg([, begin, end, , kind, name, detail, bad], x, y, height) {
  const width = x(end) - x(begin) - 2;
  const room = Math.floor((width - 6) / 6.4);
  const unended = /never reported/.test(detail);
  const words = [`${kind.replace(/_/g, " ")}: ${name}`, detail, bad ? "a finding is about this" : ""];
  return svg("g", {class: `item k-${kindOf(kind)}${bad ? " bad" : ""}${unended ? " unended" : ""}`},
    svg("title", {}, words.filter(Boolean).join("\n")),
    svg("rect", {x: x(begin), y, width, height, rx: 3}),
    room >= 1 ? svg("text", {x: x(begin) + 4, y: y + 13}, cut(name, room)) : null);
}

function arrowSvg([fromLane, fromTime, toLane, toTime, reason], x, rowAt) {
  const [x1, y1, x2, y2] = [x(fromTime) - 3, rowAt(fromLane, fromTime, false), x(toTime), rowAt(toLane, toTime, true)];
  const near = x2 - x1 < 30;  // almost straight down: from below into the side
  const bend = near ? 0 : (x2 - x1) / 2;
  const d = `M${x1} ${y1}C${x1 + bend} ${near ? (y1 + y2) / 2 : y1} ${x2 - Math.max(bend, 12)} ${y2} ${x2} ${y2}`;
  return svg("path", {class: "arrow", d, "marker-end": "url(#wait)"}, svg("title", {}, reason));
}

function timelineLegend(evidence) {
  const used = new Set(evidence.bars.map((b) => kindOf(b[4])));
  const words = {pass: "pass", node: "node", hook: "hook", other: "callback, observation, saved tensor"};
  return h("ul", {class: "legend"},
    Object.entries(words).filter(([kind]) => used.has(kind)).map(
        ([kind, text]) => h("li", {}, h("i", {class: `k-${kind}`}), text)),
    evidence.arrows.length ? h("li", {}, "→ waits for") : null,
    evidence.bars.some((b) => b[7]) ? h("li", {}, h("i", {class: "bad"}), "what a finding is about, or surplus") : null,
    evidence.lanes.some(([kind]) => kind === "stream")
        ? h("li", {}, "streams: as seen from inside, else as the scenario places the forward") : null,
    h("li", {}, "time is the order of events, not seconds"),
    evidence.events > evidence.shown
        ? h("li", {}, `the first ${evidence.shown} of ${evidence.events} events; replay --trace has all`) : null);
}

function eventList(evidence) {
  const lines = evidence.bars.filter((b) => evidence.lanes[b[0]][0] === "thread").map(
      ([lane, begin, end, depth, kind, name, detail, bad]) =>
        `${String(begin).padStart(4)}  ${evidence.lanes[lane][1].padEnd(12)} ${"  ".repeat(depth)}` +
        `${kind.replace(/_(enter|begin)$/, "")} ${name}` + (end - begin > 1 ? `  (to ${end - 1})` : "") +
        (detail ? `  ${detail}` : "") + (bad ? "  <- a finding is about this" : ""));
  const waits = evidence.arrows.map((a) => `${a[4]}  (${a[1]} to ${a[3]})`);
  return textAlternative("The events as text", lines.join("\n") + (waits.length ? "\n\nwaits\n" + waits.join("\n") : ""));
}
