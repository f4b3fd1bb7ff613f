import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { ConsoleFile, ConsoleFiles } from "../../bundle.ts";
import type { Logger } from "../../log/hub.ts";
import { acceptedEncodings } from "../content/encoding.ts";
import { mediaTypeOf } from "../content/media-type.ts";
import { methodNotAllowed, notFound, plainText } from "../content/plain.ts";
import { respond } from "../content/respond.ts";
import { Handovers, isPrefetch, resumePath } from "./handover.ts";
import { consolePage } from "./page.ts";
import { changeRemembered, rememberMethods, rememberPath } from "./remember-cookie.ts";
import { chosenTheme } from "./theme.ts";

const consolePath = "/node/console/";
const assetsPath = `${consolePath}assets/`;
const reading = "GET, HEAD";

/** The web console: its files are made or read when they are first asked for, and stay in memory. */
export class Console {
  readonly handovers = new Handovers();
  #files: Promise<ConsoleFiles | undefined> | undefined;

  constructor(
    /** Whether it is served at all. */
    readonly isOn: () => boolean,
    private readonly load: () => Promise<ConsoleFiles>,
    private readonly log: Logger,
  ) {}

  /** Undefined when they cannot be had, which the log tells; whoever asks next tries again. */
  files(): Promise<ConsoleFiles | undefined> {
    this.#files ??= this.load().catch((error: unknown) => {
      this.#files = undefined;
      this.log.error("the web console cannot be served", { why: Bun.inspect(error) });
      return undefined;
    });
    return this.#files;
  }
}

export function isConsolePath(path: string): boolean {
  return path.startsWith(consolePath) || path === "/node/console";
}

/** Every address of the console. Names are looked up among those that there are; none is a path on the disk. */
export async function serveConsole(request: Request, path: string, console: Console): Promise<Response> {
  if (!console.isOn()) return notFound();
  if (path === rememberPath)
    return rememberMethods.includes(request.method)
      ? changeRemembered(request)
      : methodNotAllowed(rememberMethods.join(", "));
  if (path === resumePath)
    return request.method === "GET" ? console.handovers.redirect(request) : methodNotAllowed("GET");
  const asset = path.startsWith(assetsPath) ? decoded(path.slice(assetsPath.length)) : undefined;
  if (path !== consolePath && path !== "/node/console" && asset === undefined) return notFound();
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed(reading);
  if (path === "/node/console") return toConsole(request);
  const files = await console.files();
  if (files === undefined)
    return plainText(
      500,
      "500 Internal Server Error: the console cannot be served; the server's log says why.",
    );
  if (asset === undefined && isPrefetch(request)) return refusePrefetch();
  if (asset === undefined)
    return consolePage(files, { handover: console.handovers.forPage(request), theme: chosenTheme(request) });
  const file = files.files.get(asset);
  return file === undefined ? notFound() : sendFile(request, file);
}

/** Browsers throw away what a prefetch was refused, and ask again when their user comes. The page would keep the token, or the lack of it. */
function refusePrefetch(): Response {
  return plainText(503, "503 Service Unavailable: the console is not loaded in advance.", {
    "cache-control": "no-store",
  });
}

function toConsole({ url }: Request): Response {
  const query = url.indexOf("?");
  const search = query === -1 ? "" : url.slice(query);
  return new Response(null, { status: 301, headers: { location: consolePath + search } });
}

function decoded(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

async function sendFile(request: Request, file: ConsoleFile): Promise<Response> {
  const encoding = request.headers.has("range")
    ? undefined
    : acceptedEncodings(request.headers.get("accept-encoding")).find((one) => one === "br" || one === "gzip");
  const bytes = encoding === undefined ? await promisify(gunzip)(file.gzip) : file[encoding];
  const etag = `"${file.name}${encoding === undefined ? "" : `-${encoding}`}"`;
  const blob = new Blob([bytes]);
  return respond(request, {
    etag,
    // There is none, and no date is before or after it.
    modifiedMs: Number.NaN,
    size: blob.size,
    headers: {
      "content-type": mediaTypeOf(file.name).value,
      etag,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      ...(encoding === undefined ? {} : { "content-encoding": encoding }),
    },
    content: { blob },
  });
}
