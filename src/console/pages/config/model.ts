import { RpcError } from "../../../client/index.ts";
import type { Mark } from "../../editor/props.ts";

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Limit for comparing lines. Above it the page would freeze, so everything between counts as replaced. */
const maxPairs = 4_000_000;

/** Minimal line diff of two texts. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const old = before.split("\n");
  const next = after.split("\n");
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let end = 0;
  const maxEnd = Math.min(old.length, next.length) - start;
  while (end < maxEnd && old.at(-1 - end) === next.at(-1 - end)) end += 1;
  return [
    ...lines("same", old.slice(0, start)),
    ...middle(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...lines("same", old.slice(old.length - end)),
  ];
}

/** Diff of the part between the common start and end. */
function middle(old: readonly string[], next: readonly string[]): DiffLine[] {
  const width = next.length + 1;
  if (old.length * next.length > maxPairs) return [...lines("removed", old), ...lines("added", next)];
  // common[i, j]: length of the longest common subsequence of old[i…] and next[j…].
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = next.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const found: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < next.length) {
    const [a = "", b = ""] = [old[i], next[j]];
    if (a === b) {
      found.push({ kind: "same", text: a });
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      found.push({ kind: "removed", text: a });
      i += 1;
    } else {
      found.push({ kind: "added", text: b });
      j += 1;
    }
  }
  return [...found, ...lines("removed", old.slice(i)), ...lines("added", next.slice(j))];
}

function lines(kind: DiffLine["kind"], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** Changes with a few lines of context. A number is the count of unchanged lines left out. */
export function withContext(all: readonly DiffLine[], around = 3): readonly (DiffLine | number)[] {
  const shown = new Set<number>();
  for (const [at, { kind }] of all.entries())
    if (kind !== "same") for (let near = at - around; near <= at + around; near += 1) shown.add(near);
  const found: (DiffLine | number)[] = [];
  for (const [at, line] of all.entries()) {
    const last = found.at(-1);
    if (shown.has(at)) found.push(line);
    else if (typeof last === "number") found[found.length - 1] = last + 1;
    else found.push(1);
  }
  return found;
}

/** Password in an address such as `postgres://user:password@host/name`, or after `?password=`. Rather matches too much. */
export const secrets = /(?<=:\/\/[^\s:@/"']*:)[^\s"']+(?=@)|(?<=[?&]password=)[^&\s"']+/g;

export function hideSecrets(text: string): string {
  return text.replace(secrets, "••••••");
}

export function hasSecrets(text: string): boolean {
  return text.search(secrets) !== -1;
}

/** Address that a configuration makes the server listen on. */
interface Listener {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

export function parseListener(toml: string): Listener | undefined {
  // Both keys are above the first table, and `auto` is in one of its own.
  const [top = ""] = toml.split(/^\s*\[/m);
  const value = (key: string) => new RegExp(`^\\s*${key}\\s*=\\s*["']([^"'\\n]*)["']`, "m").exec(top)?.[1];
  const isAuto = /^\s*\[tls\](?:\n[^[\n]*)*?\n\s*auto\s*=\s*true/m.test(toml);
  const [, host, port] = /^(.+):(\d+)$/.exec(value("ws_listener") ?? "") ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host, port: Number(port), secure: value("tls_cert") !== undefined || isAuto };
}

/** Listener from the address in the server's log. */
export function listenerFromUrl(url: string): Listener {
  const { hostname, port, protocol } = new URL(url);
  const secure = protocol === "https:";
  return { host: hostname, port: Number(port || (secure ? 443 : 80)), secure };
}

const wildcardHosts = new Set(["0.0.0.0", "[::]"]);

/** Address of the console at a listener. `host` replaces wildcard addresses. Undefined when the port is chosen by the system (0). */
export function consoleUrl(listener: Listener, host: string): string | undefined {
  const { port, secure } = listener;
  if (port === 0) return undefined;
  const name = wildcardHosts.has(listener.host) ? host : listener.host;
  return `${secure ? "https" : "http"}://${name}:${port}/node/console/`;
}

/** One thing that the server says about a configuration; the position is missing where it concerns no single place. */
export interface Finding {
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

/** Reads a list of `{ field, why, line, column }`, of which only `why` is always there. */
export function findingsIn(list: unknown): readonly Finding[] {
  return Array.isArray(list) ? list.flatMap(toFinding) : [];
}

function toFinding(item: unknown): Finding[] {
  const { field, why, line, column } = (item ?? {}) as Record<string, unknown>;
  if (typeof why !== "string") return [];
  const message = typeof field === "string" && field !== "" ? `${field}: ${why}` : why;
  return [typeof line === "number" && typeof column === "number" ? { message, line, column } : { message }];
}

/** The findings that can be marked in the text. */
export function marksOf(findings: readonly Finding[], severity: Mark["severity"]): readonly Mark[] {
  return findings.flatMap(({ message, line, column }) =>
    line === undefined || column === undefined ? [] : [{ message, line, column, severity }],
  );
}

/** Everything that the server finds wrong with a text; undefined when the error is about something else. */
export function problemsOf(error: unknown): readonly Finding[] | undefined {
  if (!(error instanceof RpcError) || error.kind !== "ParseError") return undefined;
  const found = findingsIn(error.data.problems);
  return found.length > 0 ? found : undefined;
}
