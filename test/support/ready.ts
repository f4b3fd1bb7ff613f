import { until } from "./until.ts";

interface Reached {
  readonly url: string;
}

/** What `/node/ready` answers: the status, the missing parts, and when to ask again. */
export async function readyOf({ url }: Reached) {
  const response = await fetch(`${url}/node/ready`);
  const { missing = [] } = (await response.json()) as { missing?: string[] };
  return { status: response.status, missing, retryAfter: response.headers.get("retry-after") };
}

/** Waits until exactly these parts are missing, none if the server is ready. */
export async function untilMissing(node: Reached, ...missing: string[]): Promise<void> {
  const expected = {
    status: missing.length > 0 ? 503 : 200,
    missing,
    retryAfter: missing.length > 0 ? "5" : null,
  };
  await until(`/node/ready names ${missing.join(", ") || "nothing"}`, async () =>
    Bun.deepEquals(await readyOf(node), expected),
  );
}
