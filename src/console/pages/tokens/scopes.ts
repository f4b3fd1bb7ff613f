import type { Scope } from "../../../client/index.ts";
import { onlyMember } from "./permissions.ts";

export type ScopeKind = "global" | "static_bucket" | "agent_uuid" | "kv_namespace" | "js_worker" | "db";

interface KindView {
  readonly title: string;
  /** What its name is called. */
  readonly name: string;
  readonly hint?: string;
  /** Before the name in a sentence. */
  readonly words: string;
}

const pattern = "One name, or a beginning and a * for all that begin so.";

export const scopeKinds: Readonly<Record<ScopeKind, KindView>> = {
  global: { title: "Everywhere", name: "", words: "everywhere" },
  static_bucket: { title: "Bucket", name: "Name of the bucket", hint: pattern, words: "in bucket" },
  agent_uuid: { title: "Agent", name: "UUID of the agent", words: "for agent" },
  kv_namespace: { title: "KV namespace", name: "Namespace", words: "in KV namespace" },
  js_worker: { title: "JS worker", name: "Name of the worker", words: "for JS worker" },
  db: { title: "Database", name: "Name of the database", hint: pattern, words: "in database" },
};

/** A scope as the form shows it. */
export interface ScopeView {
  readonly kind: ScopeKind;
  readonly name: string;
}

export function toScope({ kind, name }: ScopeView): Scope {
  return kind === "global" ? "global" : ({ [kind]: name } as Scope);
}

/** Undefined for what is no scope. */
export function scopeView(json: unknown): ScopeView | undefined {
  if (json === "global") return { kind: "global", name: "" };
  const [kind, name] = onlyMember(json);
  if (kind === "global") return name === null ? { kind, name: "" } : undefined;
  if (typeof name !== "string") return undefined;
  // An older word for the same.
  if (kind === "global_static_bucket") return { kind: "static_bucket", name };
  return kind !== undefined && Object.hasOwn(scopeKinds, kind)
    ? { kind: kind as ScopeKind, name }
    : undefined;
}

/** Whether a `*` stands where it means nothing: only one, at the end of a bucket's or a database's name, stands for any ending. */
export function hasStrayStar({ kind, name }: ScopeView): boolean {
  return (kind === "static_bucket" || kind === "db") && /\*./.test(name);
}

/** `in bucket site`, `in every bucket that begins with img-`. */
export function scopeWords({ kind, name }: ScopeView): string {
  const { words } = scopeKinds[kind];
  if (kind === "global") return words;
  if (name === "*") return `${words.split(" ", 1)[0]} every ${words.split(" ").slice(1).join(" ")}`;
  const isPattern = (kind === "static_bucket" || kind === "db") && name.endsWith("*");
  return isPattern ? `in every ${words.slice(3)} that begins with ${name.slice(0, -1)}` : `${words} ${name}`;
}
