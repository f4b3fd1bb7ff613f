import { existsSync } from "node:fs";
import { apache, apacheModules, caddy, lighttpd, nginx, rclone, type Setup } from "./peer-configs.ts";
import { searchPath } from "./program.ts";

/** Peer is another server that can do some of the jobs. */
export interface Peer {
  /** Its column in the table. */
  readonly name: string;
  readonly program: string;
  readonly package: string;
  /** Further files that it needs. */
  readonly modules?: readonly string[];
  /** Whether it serves plain files. */
  readonly files: boolean;
  /** The WebDAV methods that it has. */
  readonly dav: readonly string[];
  /** Whether it refuses to run as root, and its folders must belong to `unprivileged`. */
  readonly dropsRoot?: boolean;
  /** Writes the configuration and returns the command that runs the server in the foreground. */
  command(setup: Setup): Promise<string[]>;
}

const everyDavMethod = ["GET", "PUT", "PROPFIND"];
const lighttpdModules = ["/usr/lib/lighttpd/mod_webdav.so", "/usr/lib/lighttpd/mod_authn_file.so"];

export const peers: readonly Peer[] = [
  {
    name: "nginx, file cache",
    program: "nginx",
    package: "nginx-light",
    files: true,
    dav: ["GET", "PUT"],
    command: (setup) =>
      nginx(
        setup,
        "open_file_cache max=200000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;",
      ),
  },
  {
    name: "nginx",
    program: "nginx",
    package: "nginx-light",
    files: true,
    dav: ["GET", "PUT"],
    command: (setup) => nginx(setup, ""),
  },
  {
    name: "Caddy",
    program: "caddy",
    package: "caddy",
    files: true,
    dav: [],
    command: caddy,
  },
  {
    name: "Apache",
    program: "apache2",
    package: "apache2",
    modules: [`${apacheModules}/mod_dav_fs.so`],
    files: true,
    dav: everyDavMethod,
    dropsRoot: true,
    command: apache,
  },
  {
    name: "lighttpd",
    program: "lighttpd",
    package: "lighttpd lighttpd-mod-webdav",
    modules: lighttpdModules,
    files: true,
    dav: everyDavMethod,
    command: lighttpd,
  },
  {
    name: "rclone",
    program: "rclone",
    package: "rclone",
    files: true,
    dav: [],
    command: async ({ folder, root, port }) => [...rclone(folder, "http", port), root],
  },
  {
    name: "rclone",
    program: "rclone",
    package: "rclone",
    files: false,
    dav: everyDavMethod,
    command: async ({ folder, root, port, user, password }) => [
      ...rclone(folder, "webdav", port),
      ...["--user", user, "--pass", password, root],
    ],
  },
];

/** Whether a peer can be started here. */
export function isInstalled({ program, modules = [] }: Peer): boolean {
  return Bun.which(program, { PATH: searchPath }) !== null && modules.every((path) => existsSync(path));
}
