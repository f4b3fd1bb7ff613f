import { visible } from "../../base/visible-text.ts";
import {
  ClientError,
  type DenialReason,
  FileError,
  MethodNotFound,
  NodeServerClient,
  NotNodeServer,
  PermissionDenied,
  RpcError,
  toUnreachable,
  Unreachable,
  type UnreachableReason,
} from "../../client/index.ts";
import type { Need } from "../command.ts";
import { isUnixAddress, whyNoUnixAnswer } from "./addresses.ts";
import type { Target } from "./remote.ts";

/** A certificate may contain hundreds of names; a message shows the first ones. */
const maxNames = 10;

/** ServedCertificate is what a message says about a certificate. */
interface ServedCertificate {
  /** The hosts that it is for. */
  readonly names: readonly string[];
  /** When it ends, in ISO 8601. */
  readonly expires: string | undefined;
  /** Whether a server shows it until it has the first one from an authority. */
  readonly isPlaceholder: boolean;
}

const unknown: ServedCertificate = { names: [], expires: undefined, isPlaceholder: false };

/**
 * servedCertificate reads the certificate at an address, as far as that can be done. It sends nothing but the handshake, and does not
 * check the certificate: for messages only.
 */
async function servedCertificate(url: string, timeoutMs: number): Promise<ServedCertificate> {
  // It takes longer to load than most commands run.
  const { connect } = await import("node:tls");
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const { promise, resolve } = Promise.withResolvers<ServedCertificate>();
  const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false }, () => {
    const { subjectaltname = "", valid_to = "", subject } = socket.getPeerCertificate();
    const end = Date.parse(valid_to);
    resolve({
      names: subjectaltname.split(", ").flatMap(toHost).slice(0, maxNames),
      expires: Number.isNaN(end) ? undefined : new Date(end).toISOString(),
      isPlaceholder: subject?.O === "node-server: waiting for a certificate",
    });
  });
  socket.on("error", () => resolve(unknown));
  socket.setTimeout(timeoutMs, () => resolve(unknown));
  return promise.finally(() => socket.destroy());
}

/** Reads one entry: `DNS:node.example` or `IP Address:127.0.0.1`; others, such as e-mail addresses, are no hosts. */
function toHost(entry: string): string[] {
  const [, host] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? [];
  return host === undefined ? [] : [host];
}

/** The timeout of a probe. The command has failed already, and its user waits for the reason. */
const probeTimeoutMs = 3000;

const rejections: Readonly<Partial<Record<DenialReason, string>>> = {
  invalid_credentials: "the token is not valid: it was mistyped, rolled or deleted",
  expired: "the token is not valid: it has expired",
  not_yet_valid: "the token is not valid yet",
};

/** Files are changed by WebDAV, which requires all four. */
const fourActions =
  "commands that change files need a token with all four actions on the files of the bucket (read, write, list, delete): `node-server tokens create --webdav BUCKET` makes one, `node-server status` shows what this one may do";

/** Explains why a command failed and what the user can do about it. */
export async function explain(
  error: Error,
  target: Pick<Target, "url" | "fetch"> | undefined,
  needs: readonly Need[] = [],
): Promise<string> {
  if (error instanceof RpcError && !(error instanceof PermissionDenied) && !(error instanceof MethodNotFound))
    return error.detail;
  if (target === undefined) return error.message;
  if (error instanceof PermissionDenied) {
    const rejection = error.reason && rejections[error.reason];
    if (rejection !== undefined) return `${rejection}; log in again with \`node-server login ${target.url}\``;
    if (needs.length === 1 && needs[0] === "files") return `${error.message}; ${fourActions}`;
    // The server names what the first refused call lacks; a command of several calls may need more.
    const { needText } = await import("../tokens/permissions.ts");
    const all = needs.length > 1 ? `; this command needs ${needText(needs)}` : "";
    return `${error.message}${all}; \`node-server status\` shows what this token may do`;
  }
  if (error instanceof FileError && error.status === 403) return `${error.message}; ${fourActions}`;
  if (error instanceof MethodNotFound)
    return `the server at ${target.url} is too old for this command; update it`;
  if (isUnixAddress(target.url))
    return error instanceof Unreachable
      ? `${target.url} cannot be reached: ${whyNoUnixAnswer(target.url)}`
      : error.message;
  if (error instanceof NotNodeServer) {
    const { origin } = new URL(target.url);
    const isBelow = target.url !== origin && (await isNodeServer(origin, target.fetch));
    return isBelow ? `${error.message}; use ${origin}, without a path` : error.message;
  }
  if (!(error instanceof Unreachable)) return error.message;
  const hint = await hintFor(error, target);
  return hint === undefined ? error.message : `${error.message}; ${hint}`;
}

async function hintFor(
  { reason }: Unreachable,
  { url, fetch }: Pick<Target, "url" | "fetch">,
): Promise<string | undefined> {
  if (url.startsWith("https:")) {
    const why = reason ?? (await probe(url, fetch));
    if (why === "certificate_name") return nameHint(await servedCertificate(url, probeTimeoutMs));
    if (why === "certificate_expired") return expiryHint(await servedCertificate(url, probeTimeoutMs));
    const { isPlaceholder } = why === "certificate" ? await servedCertificate(url, probeTimeoutMs) : unknown;
    if (isPlaceholder)
      return "the server waits for its first certificate, which takes about a minute: try again then. If it takes longer, the log on its machine says why (`journalctl -u node-server`)";
    if (why === "certificate")
      return "if it is the server's own certificate or one of a private authority, name its file with --ca FILE or NODE_EXTRA_CA_CERTS";
    return why === "not_https" ? `if it has no certificate, use http${url.slice("https".length)}` : undefined;
  }
  if (reason === "refused" || reason === "unknown_host") return undefined;
  const secure = `https${url.slice("http".length)}`;
  const why = await probe(secure, fetch);
  return why === undefined || why.startsWith("certificate")
    ? `the server at ${new URL(url).host} speaks https; use ${secure}`
    : undefined;
}

function expiryHint({ expires }: ServedCertificate): string {
  const when = expires === undefined ? "" : `it expired on ${expires}; `;
  return `${when}its operator must renew it`;
}

function nameHint({ names }: ServedCertificate): string {
  return names.length === 0
    ? "use a name that it contains in the address"
    : `use one that it contains in the address: ${names.map(visible).join(", ")}`;
}

/** `isNodeServer` returns whether a node-server answers at this address. No token is sent. */
async function isNodeServer(url: string, fetch: Target["fetch"]): Promise<boolean> {
  try {
    await new NodeServerClient(url, { fetch, timeoutMs: probeTimeoutMs }).call("node-server_version");
    return true;
  } catch (error) {
    if (error instanceof ClientError) return false;
    throw error;
  }
}

/** Returns why an address does not answer; undefined when it does. Sends only a HEAD without a token. */
async function probe(url: string, fetch: Target["fetch"]): Promise<UnreachableReason | "other" | undefined> {
  try {
    await fetch(url, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(probeTimeoutMs) });
    return undefined;
  } catch (error) {
    return toUnreachable(url, error).reason ?? "other";
  }
}
