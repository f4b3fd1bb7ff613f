import { expect } from "bun:test";
import { OrderFailure } from "../../src/certs/failure.ts";
import type { StoredCertificate } from "../../src/certs/pem.ts";
import { afterAnswer, afterFailure, dueNames } from "../../src/certs/schedule.ts";
import type { NameValue } from "../../src/db/rows/certificate-rows.ts";
import { test } from "../support/test.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const yearMs = 365 * dayMs;
const now = 1_794_000_000_000;
const name = "shop.example.com";
const certificate: StoredCertificate = {
  ...{ cert: "", key: "", serial: "01", issuer: "an authority" },
  ...{ from: now - 10 * dayMs, until: now + 80 * dayMs },
};

/** What is due for one name with a certificate. */
const dueOf = (row: NameValue, at = now) =>
  dueNames(
    {
      names: new Set([name]),
      rows: new Map([[name, row]]),
      loaded: new Map([[name, certificate]]),
      unstored: new Set(),
    },
    at,
  ).map(({ what }) => what);

const kept: NameValue = {
  orders: [],
  certificate,
  renew_at: now + dayMs,
  ask_at: now + dayMs,
};

/** The pauses in minutes after failures that follow one another. */
function pausesOf(attempts: ReadonlyArray<{ readonly isHeard: boolean; readonly failure: OrderFailure }>) {
  let row: NameValue = { orders: [] };
  return attempts.map(({ isHeard, failure }) => {
    row = afterFailure(row, failure, { isAsked: false, isHeard, now });
    return ((row.problem?.retry_at ?? 0) - now) / minuteMs;
  });
}

const here = { isHeard: false, failure: new OrderFailure("dns_missing", "not found here") };
const there = { isHeard: true, failure: new OrderFailure("dns_missing", "not found by the authority") };

test("pauses grow by the failures of the server and by those of the authority, each by its own", () => {
  expect(pausesOf([here, here, here, here, here, here, here])).toEqual([1, 2, 3, 4, 5, 5, 5]);
  expect(pausesOf([there, there, there, there, there, there])).toEqual([2, 10, 30, 120, 360, 360]);
  expect(pausesOf([here, here, here, there, here, there])).toEqual([1, 2, 3, 2, 1, 10]);
});

test("an authority that asks for a long pause is asked again after a day", () => {
  const limited = (seconds: number) => ({
    isHeard: true,
    failure: new OrderFailure("rate_limited", "too many", seconds * 1000),
  });
  expect(pausesOf([limited(3600), limited(10 ** 9)])).toEqual([60, 24 * 60]);
});

test("what was noted while the clock was wrong delays nothing once it is right", () => {
  expect(dueOf(kept)).toEqual([]);
  const problem = { reason: "ca_away", detail: "", failures: 1, at: now, retry_at: now + minuteMs };
  const renewing = { ...kept, renew_at: now - 1 };
  expect(dueOf({ ...renewing, problem })).toEqual([]);
  const later = { ...problem, at: now + yearMs, retry_at: now + yearMs + minuteMs };
  expect(dueOf({ ...renewing, problem: later })).toEqual(["order"]);
  expect(dueOf({ ...kept, ask_at: now + yearMs })).toEqual(["ask"]);
  expect(dueOf({ ...renewing, orders: [1, 2, 3, 4].map((order) => now + order) })).toEqual(["order"]);
  expect(dueOf({ ...renewing, orders: [1, 2, 3, 4].map((order) => now - order) })).toEqual([]);
});

test("a time of renewal that would let the certificate end is not believed", () => {
  const renewalFor = (start: number, end: number) =>
    afterAnswer(kept, { certificate, window: { start, end, askAfterMs: 0 } }, now).renew_at ?? 0;
  const { until } = certificate;
  expect(renewalFor(now + 20 * dayMs, now + 21 * dayMs)).toBeWithin(now + 20 * dayMs, now + 21 * dayMs + 1);
  expect(renewalFor(until + dayMs, until + 2 * dayMs)).toBe(now + dayMs);
  for (let turn = 0; turn < 20; turn += 1)
    expect(renewalFor(until - 2 * dayMs, until + 1000 * dayMs)).toBeWithin(
      until - 2 * dayMs,
      until - dayMs + 1,
    );
  expect(renewalFor(now - dayMs, now - dayMs)).toBe(now - dayMs);
  expect(renewalFor(0, 1)).toBe(certificate.from + dayMs);
});
