import { dirname, join, relative } from "node:path";
import { Glob } from "bun";

/** Which rooms each room may know. `docs/decisions/0001-rooms.md` says why. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  base: [],
  build: [],
  bundle: [],
  log: ["base"],
  config: ["base", "log"],
  db: ["base", "log", "build"],
  auth: ["base", "log", "db"],
  agents: ["base", "log", "db", "auth"],
  buckets: ["base", "log", "db"],
  update: ["base", "log"],
  rpc: ["base", "log", "auth"],
  services: ["log", "config", "db", "auth", "agents", "buckets", "update"],
  methods: ["base", "log", "auth", "agents", "buckets", "update", "rpc", "services", "build"],
  http: ["base", "log", "auth", "buckets", "rpc", "services", "bundle"],
  settings: ["base", "config", "db", "log", "update", "http"],
  backend: ["settings", "base", "log", "config", "db", "auth", "agents", "buckets", "rpc", "services"],
  preflight: ["base", "config", "http", "settings"],
  node: [
    "preflight",
    "settings",
    "backend",
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
  client: [],
  console: ["client"],
  cli: [
    "client",
    "base",
    "log",
    "config",
    "db",
    "auth",
    "update",
    "node",
    "preflight",
    "build",
    "rpc",
    "methods",
  ],
  main: ["base", "client", "cli"],
};

/** Every import in `src/` that goes through a wall. */
export async function brokenWalls(): Promise<string[]> {
  const broken: string[] = [];
  for await (const file of new Glob("**/*.{ts,tsx}").scan("src")) {
    const room = roomOf(file);
    const allowed = rooms[room];
    if (allowed === undefined)
      broken.push(`src/${file}: the room \`${room}\` is not on the plan in scripts/rooms.ts`);
    const text = await Bun.file(join("src", file)).text();
    // Imports of types count: a room that knows another's types knows the other.
    for (const [, path = ""] of text.matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)"/gm)) {
      if (!path.startsWith(".")) continue;
      const other = roomOf(relative("src", join("src", dirname(file), path)));
      if (other !== room && !allowed?.includes(other))
        broken.push(`src/${file}: ${room} may not know ${other} (${path})`);
    }
  }
  return broken;
}

function roomOf(file: string): string {
  return (file.split("/", 1)[0] ?? file).replace(/\.tsx?$/, "");
}
