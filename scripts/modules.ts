import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

/** Which modules each module may import. `docs/decisions/0001-modules.md` says why. */
const modules: Readonly<Record<string, readonly string[]>> = {
  base: [],
  build: [],
  sites: ["base"],
  metrics: ["base"],
  bundle: [],
  log: ["base"],
  blobs: ["base", "log"],
  config: ["base", "log", "blobs"],
  db: ["base", "log", "build"],
  auth: ["base", "log", "db"],
  agents: ["base", "log", "db", "auth"],
  buckets: ["base", "log", "blobs", "db", "sites"],
  cluster: ["base", "log", "db"],
  certs: ["base", "log", "db"],
  update: ["base", "log"],
  hooks: ["base", "log", "db"],
  links: ["base", "log", "db", "auth", "buckets"],
  backup: ["base", "log", "blobs", "db", "buckets", "build"],
  rpc: ["base", "log", "db", "auth"],
  services: [
    "base",
    "log",
    "metrics",
    "config",
    "db",
    "auth",
    "agents",
    "buckets",
    "hooks",
    "links",
    "certs",
    "cluster",
    "update",
  ],
  methods: [
    "base",
    "hooks",
    "log",
    "metrics",
    "auth",
    "agents",
    "buckets",
    "links",
    "update",
    "rpc",
    "services",
    "build",
  ],
  http: ["base", "log", "blobs", "metrics", "auth", "buckets", "links", "rpc", "services", "sites", "bundle"],
  monitor: ["base", "log", "metrics", "http", "services", "build"],
  settings: [
    "backup",
    "base",
    "buckets",
    "certs",
    "cluster",
    "config",
    "db",
    "hooks",
    "log",
    "update",
    "http",
  ],
  backend: [
    "backup",
    "hooks",
    "settings",
    "base",
    "log",
    "config",
    "db",
    "auth",
    "agents",
    "buckets",
    "links",
    "rpc",
    "services",
  ],
  preflight: ["base", "blobs", "buckets", "certs", "config", "http", "settings"],
  "process-group": ["base", "log", "metrics", "config"],
  "node-options": ["auth", "base", "bundle", "process-group", "rpc", "services", "update"],
  node: [
    "certs",
    "hooks",
    "cluster",
    "node-options",
    "backup",
    "preflight",
    "process-group",
    "settings",
    "backend",
    "metrics",
    "monitor",
    "base",
    "log",
    "config",
    "db",
    "auth",
    "agents",
    "buckets",
    "update",
    "rpc",
    "services",
    "methods",
    "http",
    "build",
    "bundle",
  ],
  host: [
    "auth",
    "base",
    "build",
    "config",
    "db",
    "log",
    "metrics",
    "node",
    "preflight",
    "process-group",
    "update",
  ],
  client: [],
  console: ["client"],
  cli: [
    "host",
    "backup",
    "client",
    "http",
    "base",
    "log",
    "blobs",
    "config",
    "db",
    "auth",
    "buckets",
    "update",
    "preflight",
    "process-group",
    "settings",
    "build",
    "rpc",
    "methods",
    "sites",
  ],
  main: ["cli"],
};

/**
 * Folders that only their own module may import. Who uses the files of a bucket sees `buckets/ports.ts`,
 * never a disk.
 */
const privateFolders = ["buckets/trees/disk/", "buckets/history/disk/"];

/** Folders of which everybody outside imports one file alone. */
const doors: Readonly<Record<string, string>> = {
  "buckets/history/disk/": "disk-history.ts",
  "client/": "index.ts",
};

/** An import or re-export with its path; imports of types count, because a module that knows another's types knows the other. */
const imports = /^(?:import|export)\b[^;]*?from "([^"]+)"|\bimport\("([^"]+)"\)/gm;

/** importedFiles returns the files of `src/` that each file of `src/` imports. */
export async function importedFiles(): Promise<Map<string, readonly string[]>> {
  const graph = new Map<string, readonly string[]>();
  for await (const file of new Glob("**/*.{ts,tsx}").scan("src")) {
    const text = await Bun.file(join("src", file)).text();
    const imported = [...text.matchAll(imports)]
      .map(([, path, lazyPath]) => path ?? lazyPath ?? "")
      // The documentation, which the console shows, is not a module.
      .filter((path) => path.startsWith(".") && !path.endsWith(".md"))
      .map((path) => relative("src", join("src", dirname(file), path)));
    graph.set(file, imported);
  }
  return graph;
}

/** forbiddenImports lists every import in `src/` that the table does not allow, and every circle of files. */
export async function forbiddenImports(): Promise<string[]> {
  const problems: string[] = [];
  const graph = await importedFiles();
  for (const [file, imported] of graph) {
    const module = moduleOf(file);
    const allowed = modules[module];
    if (allowed === undefined)
      problems.push(`src/${file}: the module \`${module}\` is not in the table of scripts/modules.ts`);
    for (const other of imported.map(moduleOf))
      if (other !== module && !allowed?.includes(other))
        problems.push(`src/${file}: ${module} may not import ${other}`);
    for (const folder of privateFolders)
      if (!file.startsWith(`${moduleOf(folder)}/`) && imported.some((path) => path.startsWith(folder)))
        problems.push(`src/${file}: ${folder} is private to ${moduleOf(folder)}`);
    for (const [folder, door] of Object.entries(doors))
      if (
        !file.startsWith(folder) &&
        imported.some((path) => path.startsWith(folder) && path !== folder + door)
      )
        problems.push(`src/${file}: of ${folder}, import ${door} alone`);
  }
  return [...problems, ...circlesIn(graph)];
}

/** Each circle once, found by a depth-first walk. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) circles.push(`a circle of imports: ${[...path.slice(at), file].join(" → ")}`);
    if (at >= 0 || done.has(file)) return;
    for (const other of graph.get(file) ?? []) visit(other, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}

/** moduleOf returns the module of a file: its top folder in `src/`, or its own name. */
export function moduleOf(file: string): string {
  return (file.split("/", 1)[0] ?? file).replace(/\.tsx?$/, "");
}
