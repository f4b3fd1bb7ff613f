import { round, svgDocument, svgText } from "../bench/report/svg.ts";
import { importedFiles, moduleOf } from "./modules.ts";

/** Every box of the picture, with its task in a few words. */
const tasks: Readonly<Record<string, string>> = {
  agents: "who sees which agent",
  auth: "tokens, limits, audit",
  backup: "backups, moving data",
  base: "faults, clock, queues, files of the system",
  blobs: "content: folder, S3, cache",
  buckets: "files, trees, history",
  cli: "commands",
  client: "npm package",
  certs: "certificates by ACME",
  cluster: "nodes of a database",
  config: "keys, reload",
  console: "pages in the browser",
  db: "SQLite, PostgreSQL",
  hooks: "webhooks",
  host: "process, supervisor, systemd",
  http: "routes, protocols",
  links: "signed links",
  log: "hub, events, filters, sinks",
  methods: "every RPC method",
  metrics: "counters",
  monitor: "measures the node",
  node: "opens, reloads, closes",
  rpc: "runs calls",
  services: "what methods use",
  sites: "_headers, _redirects",
  update: "replaces the binary",
};

/** Files beside the folders of `src/`, and the box that shows each. The build fills in the last two, which are not shown. */
const drawnIn: Readonly<Record<string, string | undefined>> = {
  main: "cli",
  "node-options": "node",
  "process-group": "node",
  backend: "node",
  preflight: "node",
  settings: "node",
  build: undefined,
  bundle: undefined,
};

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** architecturePicture draws which modules import which, from the imports in `src/`. */
export async function architecturePicture(): Promise<string> {
  const all = await boxGraph();
  const shared = sharedBy(all);
  const graph = withoutShortcuts(without(all, shared));
  return draw(orderRows(graph), graph, shared);
}

async function boxGraph(): Promise<Graph> {
  const graph = new Map<string, Set<string>>();
  for (const [file, imported] of await importedFiles()) {
    const box = boxOf(file);
    if (box === undefined) continue;
    const uses = graph.get(box) ?? new Set();
    graph.set(box, uses);
    for (const other of imported.map(boxOf)) if (other !== undefined && other !== box) uses.add(other);
  }
  const [stranger] = new Set(Object.keys(tasks)).symmetricDifference(new Set(graph.keys()));
  if (stranger !== undefined)
    throw new Error(`scripts/architecture.ts and src/ do not agree on the module ${stranger}`);
  return graph;
}

function boxOf(file: string): string | undefined {
  const module = moduleOf(file);
  return module in drawnIn ? drawnIn[module] : module;
}

/** sharedBy returns the boxes that most others import. They become bars, because their lines would hide all others. */
function sharedBy(graph: Graph): string[] {
  const users = (box: string) => [...graph.values()].filter((uses) => uses.has(box)).length;
  return [...graph.keys()].filter((box) => users(box) > graph.size / 2).sort((a, b) => users(a) - users(b));
}

function without(graph: Graph, removed: readonly string[]): Graph {
  const rest = [...graph].filter(([box]) => !removed.includes(box));
  return new Map(
    rest.map(([box, uses]) => [box, new Set([...uses].filter((use) => !removed.includes(use)))]),
  );
}

/** withoutShortcuts leaves out a line from A to C where there are lines from A to B and from B to C. */
function withoutShortcuts(graph: Graph): Graph {
  const below = (box: string): Set<string> =>
    new Set([...(graph.get(box) ?? [])].flatMap((use) => [use, ...below(use)]));
  return new Map(
    [...graph].map(([box, uses]) => {
      const indirect = new Set([...uses].flatMap((use) => [...below(use)]));
      return [box, new Set([...uses].filter((use) => !indirect.has(use)))];
    }),
  );
}

/** Something in a row: a box, or the point where a line passes the row on its way down. */
interface Item {
  readonly box: string | undefined;
  /** Items of the next row to which a line leads. */
  readonly next: Item[];
  x: number;
}

/** orderRows puts every box below all that import it, and orders the rows so that few lines cross. */
function orderRows(graph: Graph): Item[][] {
  const rankOf = (box: string): number =>
    Math.max(-1, ...[...graph].filter(([, uses]) => uses.has(box)).map(([user]) => rankOf(user))) + 1;
  const boxes = [...graph.keys()].sort();
  const items = new Map(boxes.map((box): [string, Item] => [box, { box, next: [], x: 0 }]));
  const rows: Item[][] = Array.from({ length: Math.max(...boxes.map(rankOf)) + 1 }, () => []);
  for (const [box, item] of items) rows[rankOf(box)]?.push(item);
  for (const [user, uses] of graph)
    for (const use of [...uses].sort()) {
      let [from, to] = [items.get(user), items.get(use)];
      for (let rank = rankOf(user) + 1; from !== undefined && rank < rankOf(use); rank++) {
        const point: Item = { box: undefined, next: [], x: 0 };
        rows[rank]?.push(point);
        from.next.push(point);
        from = point;
      }
      if (from !== undefined && to !== undefined) from.next.push(to);
    }
  return fewestCrossings(rows);
}

const sweeps = 24;

/** fewestCrossings sorts each row by the middle of its neighbours, down and up in turn, and returns the best order that it met. */
function fewestCrossings(rows: Item[][]): Item[][] {
  let best = rows.map((row) => [...row]);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isDown = sweep % 2 === 0;
    const order = rows.keys().toArray();
    for (const at of isDown ? order.slice(1) : order.reverse().slice(1)) {
      const [row = [], fixed = []] = [rows[at], rows[isDown ? at - 1 : at + 1]];
      const middle = new Map(row.map((item) => [item, meanPlace(item, fixed, isDown)]));
      row.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
    }
    if (crossings(rows) < crossings(best)) best = rows.map((row) => [...row]);
  }
  return best;
}

/** meanPlace is the mean place of an item's neighbours in the row above or below, from 0 to 1. */
function meanPlace(item: Item, fixed: readonly Item[], isAbove: boolean): number {
  const places = fixed.flatMap((other, at) =>
    (isAbove ? other.next.includes(item) : item.next.includes(other)) ? [(at + 0.5) / fixed.length] : [],
  );
  return places.length === 0 ? 0.5 : places.reduce((sum, place) => sum + place, 0) / places.length;
}

function crossings(rows: readonly Item[][]): number {
  let found = 0;
  for (const [at, row] of rows.entries()) {
    const lines = row.flatMap((item, from) => item.next.map((to) => [from, rows[at + 1]?.indexOf(to) ?? 0]));
    for (const [from = 0, to = 0] of lines)
      found += lines.filter(([otherFrom = 0, otherTo = 0]) => otherFrom < from && otherTo > to).length;
  }
  return found;
}

const width = 1000;
const box = { width: 140, height: 40, gap: 10 };
const pointWidth = 16;
const rowHeight = 74;
const margin = 16;

function draw(rows: readonly Item[][], graph: Graph, bars: readonly string[]): string {
  for (const row of rows) spread(row);
  const parts: string[] = [];
  for (const [rank, row] of rows.entries())
    for (const item of row) {
      const top = margin + rank * rowHeight;
      for (const next of item.next) parts.push(line(item, next, top));
      if (item.box === undefined) parts.push(pass(item, top));
    }
  for (const [rank, row] of rows.entries())
    for (const { box: name, x } of row)
      if (name !== undefined) parts.push(boxAt(name, x, margin + rank * rowHeight));
  const bottom = margin + rows.length * rowHeight - 8;
  for (const [at, name] of bars.entries()) parts.push(bar(name, bottom + at * (box.height + box.gap)));
  return svgDocument({
    width,
    height: bottom + bars.length * (box.height + box.gap) + margin - box.gap,
    title: `Modules of node-server and their imports: ${[...graph].map(([name, uses]) => `${name} uses ${[...uses].sort().join(", ") || "none of these"}`).join("; ")}; almost all use ${bars.join(" and ")}`,
    body: parts.join("\n"),
  });
}

/** spread puts the items of a row side by side, in the middle of the picture. */
function spread(row: readonly Item[]): void {
  const widthOf = ({ box: name }: Item) => (name === undefined ? pointWidth : box.width);
  const total = row.reduce((sum, item) => sum + widthOf(item) + box.gap, -box.gap);
  const gap = box.gap + Math.max(0, Math.min(70, (width - 2 * margin - total) / (row.length + 1)));
  let left = (width - total - (gap - box.gap) * (row.length - 1)) / 2;
  for (const item of row) {
    item.x = left + widthOf(item) / 2;
    left += widthOf(item) + gap;
  }
}

function line(from: Item, to: Item, top: number): string {
  const [start, end] = [top + box.height, top + rowHeight];
  const middle = (start + end) / 2;
  const curve = `M${round(from.x)} ${start}C${round(from.x)} ${middle} ${round(to.x)} ${middle} ${round(to.x)} ${end}`;
  const arrow = to.box === undefined ? "" : `<path class="soft" d="M${round(to.x)} ${end}l-4 -7h8z"/>`;
  return `<path class="axis" fill="none" d="${curve}"/>${arrow}`;
}

function pass({ x }: Item, top: number): string {
  return `<path class="axis" fill="none" d="M${round(x)} ${top}v${box.height}"/>`;
}

function boxAt(name: string, x: number, top: number): string {
  return frame({ name, x, top, width: box.width });
}

function bar(name: string, top: number): string {
  return frame({ name, x: width / 2, top, width: width - 2 * margin });
}

interface Frame {
  readonly name: string;
  readonly x: number;
  readonly top: number;
  readonly width: number;
}

function frame({ name, x, top, width: ownWidth }: Frame): string {
  const left = round(x - ownWidth / 2);
  return [
    `<rect class="page axis" x="${left}" y="${top}" width="${ownWidth}" height="${box.height}" rx="5"/>`,
    svgText({ x, y: top + 17, text: name, anchor: "middle", size: 13, className: "c0" }),
    svgText({ x, y: top + 32, text: tasks[name] ?? "", anchor: "middle", size: 11, className: "soft" }),
  ].join("");
}
