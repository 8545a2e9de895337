// Draws a graph, from where gradients enter down to the leaves, as SVG: chains and fans made short, layers,
// an order in each layer, places. No library, and no Graphviz.

const mostDrawn = 160;

function drawGraph(drawing, evidence) {
  if (!drawing.nodes) return h("p", {class: "soft"}, "This graph is too large to be drawn.");
  if (!drawing.nodes.length) return h("p", {class: "soft"}, "This scenario has no graph.");
  const graph = collapseFans(collapseChains(makeGraph(drawing, evidence)));
  const all = graph.vertices.length;
  const part = all > mostDrawn ? nearest(graph) : graph;
  const picture = layOut(part);
  const bad = part.vertices.filter((v) => v.bad).map((v) => v.name);
  const label = `Graph of ${counted(drawing.nodes.length, "node")}, from where gradients enter down to the leaves.` +
                (bad.length ? ` Findings are about ${bad.join(", ")}.` : "");
  const frame = h("div", {class: "drawing", tabindex: 0, role: "group", "aria-label": "Graph"},
                  graphSvg(part, picture, label));
  requestAnimationFrame(() => showMiddle(frame, part, picture));
  return [frame,
          graphLegend(part),
          all > mostDrawn ? h("p", {class: "soft"}, `${mostDrawn} of ${all} are drawn, those nearest to ` +
                              (bad.length ? "what failed." : "the roots.")) : null];
}

// A picture that is larger than its frame begins with what failed, else with the roots.
function showMiddle(frame, graph, picture) {
  const points = picture.points.slice(0, graph.vertices.length);
  const wanted = points.filter((p, i) => graph.vertices[i].bad);
  const target = (wanted.length ? wanted : points.filter((p) => p.layer === 0))[0];
  if (!target) return;
  frame.scrollLeft = target.x - frame.clientWidth / 2;
  frame.scrollTop = wanted.length ? target.y - frame.clientHeight / 2 : 0;
}

function makeGraph(drawing, evidence) {
  const devices = [...new Set(drawing.nodes.map((n) => n.device).filter(Boolean))].sort();
  const vertices = drawing.nodes.map((node, i) => {
    const mark = (evidence && evidence.nodes[i]) || {};
    const flags = new Set(node.flags || []);
    const lines = [];
    if (node.device && !node.text.includes(node.device)) lines.push(node.device);
    for (const hook of node.hooks || []) lines.push(hook);
    return {key: i, name: node.name, text: node.text, kind: node.kind, flags, lines, bad: mark.bad,
            why: countsDiffer(mark) ? `ran ${mark.runs}×, expected ${range(mark)}×` : mark.bad ? "not as expected" : "",
            device: node.device ? 1 + devices.indexOf(node.device) % 4 : 0, deviceName: node.device};
  });
  return {vertices, edges: drawing.edges.map(([from, to, label]) => ({from, to, label}))};
}

const countsDiffer = (mark) => mark.runs !== undefined && (mark.runs < mark.least || mark.runs > mark.most);
const range = (mark) => mark.least === mark.most ? `${mark.least}` : `${mark.least} to ${mark.most}`;

function neighbours(graph) {
  const below = graph.vertices.map(() => []), above = graph.vertices.map(() => []);
  for (const edge of graph.edges) {
    below[edge.from].push(edge.to);
    above[edge.to].push(edge.from);
  }
  return {below, above};
}

// Long runs of nodes with one way in and one way out say no more than their number.
function collapseChains(graph) {
  const {below, above} = neighbours(graph);
  const plain = (i) => graph.vertices[i].kind === "node" && !graph.vertices[i].bad && !graph.vertices[i].flags.size &&
      graph.vertices[i].lines.length === 0 && below[i].length === 1 && above[i].length === 1;
  const replaced = new Map();
  const extra = [];
  graph.vertices.forEach((_, i) => {
    if (!plain(i) || plain(above[i][0])) return;
    const chain = [i];
    while (plain(below[chain[chain.length - 1]][0])) chain.push(below[chain[chain.length - 1]][0]);
    if (chain.length < 7) return;
    const at = graph.vertices.length + extra.length;
    extra.push({kind: "chain", name: `⋮ ${chain.length} nodes`, flags: new Set(), lines: [], device: 0, why: "",
                text: `${graph.vertices[chain[0]].name} to ${graph.vertices[chain.at(-1)].name}`});
    for (const link of chain) replaced.set(link, at);
  });
  if (!extra.length) return graph;
  const target = (i) => replaced.has(i) ? replaced.get(i) : i;
  const all = [...graph.vertices, ...extra];
  const edges = graph.edges.map((e) => ({...e, from: target(e.from), to: target(e.to)})).filter((e) => e.from !== e.to);
  return subgraph({vertices: all, edges}, all.map((_, i) => i).filter((i) => !replaced.has(i)));
}

// Many nodes between the same neighbours: some of them stand for all.
function collapseFans(graph) {
  const {below, above} = neighbours(graph);
  const groups = new Map();
  graph.vertices.forEach((v, i) => {
    const own = !v.bad && v.lines.length === 0 && v.kind !== "chain" && above[i].length > 0;
    if (!own) return;
    const key = JSON.stringify([v.kind, [...v.flags].sort(), v.device, above[i], below[i]]);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(i);
  });
  const vertices = [...graph.vertices];
  const gone = new Set();
  for (const group of groups.values()) {
    if (group.length <= 8) continue;
    const left = group.slice(2, -1);
    left.slice(1).forEach((i) => gone.add(i));
    vertices[left[0]] = {...vertices[left[0]], kind: "chain", name: `${left.length} more`,
                         text: `${vertices[left[0]].name} to ${vertices[left.at(-1)].name}`};
  }
  if (!gone.size) return graph;
  return subgraph({vertices, edges: graph.edges}, vertices.map((_, i) => i).filter((i) => !gone.has(i)));
}

function subgraph(graph, kept) {
  const place = new Map(kept.map((old, i) => [old, i]));
  return {vertices: kept.map((i) => graph.vertices[i]),
          edges: graph.edges.filter((e) => place.has(e.from) && place.has(e.to))
                     .map((e) => ({...e, from: place.get(e.from), to: place.get(e.to)}))};
}

function nearest(graph) {
  const {below, above} = neighbours(graph);
  const seen = new Set();
  const queue = graph.vertices.map((v, i) => i).filter((i) => graph.vertices[i].bad);
  if (!queue.length) queue.push(...graph.vertices.map((v, i) => i).filter((i) => !above[i].length).slice(0, 20));
  for (let k = 0; k < queue.length && seen.size < mostDrawn; k++) {
    if (seen.has(queue[k])) continue;
    seen.add(queue[k]);
    queue.push(...below[queue[k]], ...above[queue[k]]);
  }
  return subgraph(graph, [...seen].sort((a, b) => a - b));
}

// Layers from the roots down, points in between for long edges, a few sweeps to order each layer by its
// neighbours, then places that are as near to the neighbours' middle as the widths allow.
function layOut(graph) {
  const count = graph.vertices.length;
  const layer = longestPaths(graph);
  const points = graph.vertices.map((v, i) => ({layer: layer[i], ...size(v), up: [], down: [], vertex: i}));
  const routes = graph.edges.map((edge) => {
    const route = [edge.from];
    for (let at = layer[edge.from] + 1; at < layer[edge.to]; at++) {
      points.push({layer: at, width: 14, height: 10, up: [], down: []});
      route.push(points.length - 1);
    }
    route.push(edge.to);
    for (let i = 0; i + 1 < route.length; i++) {
      points[route[i]].down.push(route[i + 1]);
      points[route[i + 1]].up.push(route[i]);
    }
    return route;
  });
  const layers = [];
  points.forEach((point, i) => (layers[point.layer] = layers[point.layer] || []).push(i));
  order(points, layers);
  place(points, layers);
  let y = 26;
  for (const ids of layers) {
    const height = Math.max(...ids.map((i) => points[i].height));
    for (const i of ids) points[i].y = y + height / 2;
    y += height + 34;
  }
  const left = Math.min(...points.map((p) => p.x - p.width / 2)) - 16;
  for (const point of points) point.x -= left;
  return {points, routes, count, width: Math.max(...points.map((p) => p.x + p.width / 2)) + 16, height: y - 14};
}

function longestPaths(graph) {
  const layer = graph.vertices.map(() => 0);
  const {below, above} = neighbours(graph);
  const waiting = above.map((list) => list.length);
  const ready = waiting.flatMap((n, i) => n === 0 ? [i] : []);
  while (ready.length) {
    const i = ready.pop();
    for (const to of below[i]) {
      layer[to] = Math.max(layer[to], layer[i] + 1);
      if (--waiting[to] === 0) ready.push(to);
    }
  }
  return layer;
}

function size(vertex) {
  const texts = [vertex.name, cut(vertex.text || "", 34), ...vertex.lines, vertex.why].filter(Boolean);
  const longest = Math.max(...texts.map((text) => cut(text, 38).length));
  const more = vertex.flags.has("captured") ? 10 : 0;
  return {width: Math.max(58, 7.0 * longest + 18 + more), height: 12 + 15 * texts.length + (more ? 4 : 0)};
}

function order(points, layers) {
  const rank = new Array(points.length).fill(0);
  const number = (ids) => ids.forEach((id, i) => { rank[id] = i; });
  layers.forEach(number);
  const middle = (ids, own) => ids.length ? ids.reduce((sum, id) => sum + rank[id], 0) / ids.length : own;
  for (let sweep = 0; sweep < 10; sweep++) {
    const down = sweep % 2 === 0;
    for (const ids of down ? layers : [...layers].reverse()) {
      const wish = new Map(ids.map((id) => [id, middle(down ? points[id].up : points[id].down, rank[id])]));
      ids.sort((a, b) => wish.get(a) - wish.get(b) || rank[a] - rank[b]);
      number(ids);
    }
  }
}

function place(points, layers) {
  const gap = 22;
  for (const ids of layers) {
    let x = 0;
    for (const id of ids) { points[id].x = x + points[id].width / 2; x += points[id].width + gap; }
    for (const id of ids) points[id].x -= x / 2;
  }
  const mean = (ids, own) => ids.length ? ids.reduce((sum, id) => sum + points[id].x, 0) / ids.length : own;
  for (let sweep = 0; sweep < 12; sweep++) {
    const down = sweep % 2 === 0;
    for (const ids of down ? layers : [...layers].reverse()) {
      const wishes = ids.map((id) => {
        const wanted = sweep < 10 ? (down ? points[id].up : points[id].down) : [...points[id].up, ...points[id].down];
        return mean(wanted, points[id].x);
      });
      settle(ids.map((id) => points[id]), wishes, gap);
    }
  }
}

// The places in the given order nearest to what each wishes, none overlapping: neighbours that would
// overlap join a block, which stands at the mean of its wishes.
function settle(row, wishes, gap) {
  const offsets = [];
  let at = 0;
  row.forEach((point, i) => {
    at += i ? (row[i - 1].width + point.width) / 2 + gap : 0;
    offsets.push(at);
  });
  const blocks = [];
  row.forEach((_, i) => {
    blocks.push({sum: wishes[i] - offsets[i], size: 1});
    while (blocks.length > 1 && mean(blocks.at(-2)) > mean(blocks.at(-1))) {
      const last = blocks.pop();
      blocks.at(-1).sum += last.sum;
      blocks.at(-1).size += last.size;
    }
  });
  function mean(block) { return block.sum / block.size; }
  let i = 0;
  for (const block of blocks) for (let k = 0; k < block.size; k++, i++) row[i].x = mean(block) + offsets[i];
}

function graphSvg(graph, picture, label) {
  const pairs = new Map();
  const edges = graph.edges.map((edge, i) => {
    const pair = `${edge.from} ${edge.to}`;
    const twin = pairs.get(pair) || 0;
    pairs.set(pair, twin + 1);
    return edgeSvg(edge, picture.routes[i].map((p) => picture.points[p]), twin);
  });
  return svg("svg", {width: Math.ceil(picture.width), height: Math.ceil(picture.height), role: "img", "aria-label": label},
    svg("defs", {}, svg("marker", {id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
                                   orient: "auto"}, svg("path", {d: "M0 0L8 4L0 8z", class: "head"}))),
    edges, graph.vertices.map((vertex, i) => vertexSvg(vertex, picture.points[i])));
}

function edgeSvg(edge, route, twin) {
  const shift = twin * 12;
  const start = route[0], end = route[route.length - 1];
  let d = `M${start.x + shift} ${start.y + start.height / 2}`;
  let [x, y] = [start.x + shift, start.y + start.height / 2];
  for (const point of route.slice(1)) {
    const last = point === end;
    const [toX, toY] = [point.x + (last ? shift : 0), last ? point.y - point.height / 2 - 1 : point.y];
    const half = (toY - y) / 2;
    d += `C${x} ${y + half} ${toX} ${toY - half} ${toX} ${toY}`;
    [x, y] = [toX, toY];
  }
  const middle = route[Math.floor(route.length / 2)];
  return svg("g", {}, svg("path", {d, class: "edge", "marker-end": "url(#head)"}),
    edge.label ? svg("text", {x: (start.x + middle.x) / 2 + 5, class: "small",
                              y: (start.y + start.height / 2 + middle.y - middle.height / 2) / 2 + 3}, edge.label) : null);
}

function vertexSvg(vertex, at) {
  const classes = ["vertex", `d${vertex.device}`, ...vertex.flags, vertex.bad ? "bad" : ""].join(" ");
  const left = at.x - at.width / 2, top = at.y - at.height / 2;
  const round = vertex.kind === "leaf" ? at.height / 2 : vertex.kind === "value" ? 2 : 5;
  const lines = [["strong", vertex.name], ["mono", cut(vertex.text || "", 34)],
                 ...vertex.lines.map((line) => ["small", line]), ["why", vertex.why]].filter(([, text]) => text);
  const first = at.y - (lines.length - 1) * 7.5 + 4;
  return svg("g", {class: classes},
    svg("title", {}, [vertex.name, vertex.text, ...vertex.flags, ...vertex.lines, vertex.why].filter(Boolean).join("\n")),
    svg("rect", {class: "box", x: left, y: top, width: at.width, height: at.height, rx: Math.min(round, 18)}),
    vertex.flags.has("captured") ? svg("rect", {class: "inner", x: left + 4, y: top + 4, width: at.width - 8,
                                                height: at.height - 8, rx: Math.min(round, 15)}) : null,
    vertex.flags.has("root") ? svg("path", {class: "edge", d: `M${at.x} ${top - 18}V${top - 1}`,
                                            "marker-end": "url(#head)"}) : null,
    lines.map(([kind, text], i) =>
        svg("text", {class: kind, x: at.x, y: first + i * 15, "text-anchor": "middle"}, cut(text, 38))));
}

function graphLegend(graph) {
  const some = (test) => graph.vertices.some(test);
  const item = (kind, text) => h("li", {}, h("i", {class: kind}), text);
  const devices = new Map(graph.vertices.filter((v) => v.device).map((v) => [v.device, v.deviceName]));
  return h("ul", {class: "legend"},
    h("li", {}, "↓ gradients flow from the roots (arrow from above) to the leaves (round)"),
    devices.size ? item("d0", "cpu") : null,
    [...devices].sort().map(([number, name]) => item(`d${number}`, name)),
    some((v) => v.flags.has("captured")) ? item("captured", "captured: a pass asks for it") : null,
    some((v) => v.flags.has("still") || v.flags.has("no_grad"))
        ? item("still", "must not run: pruned, not reached, or without gradient") : null,
    some((v) => v.bad) ? item("bad", "what a finding is about") : null);
}
