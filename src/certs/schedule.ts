import type { NameValue } from "../db/rows/certificate-rows.ts";
import type { OrderFailure } from "./failure.ts";
import type { StoredCertificate } from "./pem.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Most orders of an hour: certificate authorities have limits of their own, and block who passes them. */
const maxOrdersPerHour = 30;
const maxOrdersPerNameAndHour = 4;
/** The pauses after attempts of which the certificate authority heard. The last one is repeated. */
const retryMs = [2 * minuteMs, 10 * minuteMs, 30 * minuteMs, 2 * hourMs, 6 * hourMs];
/** The longest pause after attempts of which it did not hear: the operator is at work on the DNS or the firewall. */
const maxLocalRetryMs = 5 * minuteMs;
/** No pause is longer, whatever an authority asks for. */
const maxRetryMs = dayMs;
/** How much earlier than after two thirds of its life a certificate is renewed, at most, as a share of its life. */
const jitter = 0.05;
const [firstAskMs, minAskMs, defaultAskMs, maxAskMs] = [minuteMs, hourMs, 6 * hourMs, dayMs];

/** DueName is a name for which something is due. */
export interface DueName {
  readonly name: string;
  readonly row: NameValue;
  /**
   * An order; a question when to renew; storing and noting a certificate that this node has; removing what is kept for a name that nobody
   * wants any more.
   */
  readonly what: "order" | "ask" | "adopt" | "forget";
}

interface Present {
  /** The names that need a certificate. */
  readonly names: ReadonlySet<string>;
  readonly rows: ReadonlyMap<string, NameValue>;
  /** The certificates in memory. */
  readonly loaded: ReadonlyMap<string, StoredCertificate>;
  /** Those of them that are not in the store yet. */
  readonly unstored: ReadonlySet<string>;
}

/** `dueNames` lists what is to be done now. */
export function dueNames({ names, rows, loaded, unstored }: Present, now: number): DueName[] {
  const isOver = ([name, { certificate, orders }]: [string, NameValue]) =>
    !names.has(name) && !((certificate?.until ?? 0) > now) && inLastHour(orders, now).length === 0;
  return [
    ...[...rows].filter(isOver).map(([name, row]): DueName => ({ name, row, what: "forget" })),
    ...[...names].flatMap((name): DueName[] => {
      const row = rows.get(name) ?? { orders: [] };
      const certificate = loaded.get(name);
      // It was stored by a node that was killed before it could say so, or the database is older than the files.
      if (certificate !== undefined && (unstored.has(name) || row.certificate?.serial !== certificate.serial))
        return [{ name, row, what: "adopt" }];
      const needs = certificate === undefined || row.asked === true || isDue(row.renew_at, now);
      const isLimited = isInForce(certificate, now) && limitOf(name, rows, now) !== undefined;
      if (needs && mayTry(row, now) && !isLimited) return [{ name, row, what: "order" }];
      return certificate !== undefined && isDue(row.ask_at, now, maxAskMs)
        ? [{ name, row, what: "ask" }]
        : [];
    }),
  ];
}

/** Whether a time has come. One that is later than it can be was noted while the clock was wrong. */
function isDue(at: number | undefined, now: number, longestMs = Number.POSITIVE_INFINITY): boolean {
  return at === undefined || at <= now || at > now + longestMs;
}

/** A problem of the future was noted while the clock was wrong. */
function mayTry({ asked, problem }: NameValue, now: number): boolean {
  return asked === true || problem === undefined || problem.retry_at <= now || problem.at > now;
}

/** A time in the future is from before the clock was set back. */
function inLastHour(orders: readonly number[], now: number): number[] {
  return orders.filter((at) => at > now - hourMs && at <= now);
}

/** `limitOf` returns why no order may be made for a name now, and until when; undefined if one may. */
export function limitOf(
  name: string,
  rows: ReadonlyMap<string, NameValue>,
  now: number,
): { readonly text: string; readonly until: number } | undefined {
  const own = inLastHour(rows.get(name)?.orders ?? [], now);
  if (own.length >= maxOrdersPerNameAndHour)
    return { text: `${own.length} orders for ${name} in the last hour`, until: Math.min(...own) + hourMs };
  const every = [...rows.values()].flatMap(({ orders }) => inLastHour(orders, now));
  if (every.length < maxOrdersPerHour) return undefined;
  return { text: `${every.length} orders in the last hour`, until: Math.min(...every) + hourMs };
}

/** `isInForce` returns whether clients accept a certificate. */
export function isInForce(certificate: StoredCertificate | undefined, now: number): boolean {
  return certificate !== undefined && certificate.until > now;
}

/** `afterOrder` returns the row of a name for which an order begins. */
export function afterOrder(row: NameValue, now: number): NameValue {
  return { ...row, orders: [...inLastHour(row.orders, now), now], asked: false };
}

/** `afterIssue` returns the row of a name that has a certificate. */
export function afterIssue({ orders }: NameValue, certificate: StoredCertificate, now: number): NameValue {
  const { serial, issuer, from, until } = certificate;
  return {
    orders,
    certificate: { serial, issuer, from, until },
    renew_at: renewalOf(certificate, now),
    ask_at: now + firstAskMs,
  };
}

interface Attempt {
  /** Whether somebody asked for it by hand. */
  readonly isAsked: boolean;
  /** Whether the certificate authority has heard of it. */
  readonly isHeard: boolean;
}

/** `afterFailure` returns the row of a name after an attempt that failed. */
export function afterFailure(
  { issuing_since: _, ...row }: NameValue,
  { reason, message: detail, retryAfterMs }: OrderFailure,
  { isAsked, isHeard, now: at }: Attempt & { readonly now: number },
): NameValue {
  const { problem } = row;
  // What somebody tries by hand must not delay what the server does by itself.
  const planned = isAsked ? Math.max(problem?.retry_at ?? 0, row.renew_at ?? 0) : 0;
  const one = isAsked && problem !== undefined ? 0 : 1;
  // What was wrong here says nothing about the authority: each of the two pauses grows by its own failures.
  const failures = (problem?.failures ?? 0) + (isHeard ? one : 0);
  const waits = isHeard ? 0 : (problem?.waits ?? 0) + one;
  const pauseMs = isHeard
    ? (retryMs[Math.max(0, failures - 1)] ?? retryMs.at(-1) ?? hourMs)
    : Math.min(Math.max(1, waits) * minuteMs, maxLocalRetryMs);
  const next = at + Math.min(Math.max(pauseMs, retryAfterMs), maxRetryMs);
  const retry_at = planned > at ? Math.min(planned, next) : next;
  return { ...row, asked: false, problem: { reason, detail, failures, waits, at, retry_at } };
}

/** RenewalWindow is when a certificate authority suggests to renew, and after how many milliseconds it is asked again (RFC 9773). */
export interface RenewalWindow {
  readonly start: number;
  readonly end: number;
  readonly askAfterMs: number;
}

/** `afterAnswer` returns the row of a certificate whose authority was asked when to renew it; undefined if it suggests nothing. */
export function afterAnswer(
  row: NameValue,
  { certificate, window }: { certificate: StoredCertificate; window: RenewalWindow | undefined },
  now: number,
): NameValue {
  if (window === undefined) return { ...row, ask_at: now + defaultAskMs };
  const { start, end, askAfterMs } = window;
  const ask_at = now + Math.min(Math.max(askAfterMs, minAskMs), maxAskMs);
  const { renew_at } = row;
  const { from, until } = certificate;
  const [earliest, latest] = [from + restMs(until - from), until - restMs(until - from)];
  // A suggestion that would let the certificate end is not believed.
  if (start > latest || (renew_at !== undefined && renew_at >= start && renew_at <= Math.min(end, latest)))
    return { ...row, ask_at };
  const inside = Math.floor(start + Math.random() * (Math.min(end, latest) - start));
  return { ...row, ask_at, renew_at: Math.max(earliest, inside) };
}

/** After two thirds of its life, a little earlier by chance: servers that were set up together do not come back together. */
function renewalOf({ from, until }: StoredCertificate, nowMs: number): number {
  const life = until - from;
  const at = Math.floor(from + life * (2 / 3 - Math.random() * jitter));
  const earliest = nowMs + restMs(life);
  return earliest + restMs(life) < until ? Math.max(at, earliest) : at;
}

/** The least time before a certificate is replaced: a clock or an authority that is wrong must not lead to one order after the other. */
function restMs(life: number): number {
  return Math.min(dayMs, Math.floor(life / 3));
}
