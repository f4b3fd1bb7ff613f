import { expect } from "bun:test";
import { createHmac } from "node:crypto";

/** webhookSecret signs what a receiver gets. */
export const webhookSecret = "a-secret-of-the-story-that-is-long-enough";

interface Delivery {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** webhookReceiver is a program that gets events: it answers with `status`, or not at all while that is 0. */
export function webhookReceiver() {
  const deliveries: Delivery[] = [];
  const requests: Request[] = [];
  const state = { status: 200 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      requests.push(request);
      const body = await request.text();
      const { status } = state;
      if (status === 0) await new Promise(() => {});
      if (status < 300) {
        const [id, at] = [request.headers.get("webhook-id"), request.headers.get("webhook-timestamp")];
        const signature = createHmac("sha256", webhookSecret).update(`${id}.${at}.${body}`).digest("base64");
        expect(request.headers.get("webhook-signature")).toBe(`v1,${signature}`);
        deliveries.push(JSON.parse(body) as Delivery);
      }
      const headers = status === 302 ? { location: "/elsewhere" } : {};
      return new Response("", { status, headers });
    },
  });
  const url = `http://127.0.0.1:${server.port}/hook/path-that-is-secret`;
  return {
    url,
    state,
    deliveries,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** hookTable is what a configuration needs at its end, so that a receiver gets events. */
export function hookTable(url: string, events: readonly string[] = ["*"]): string {
  return `\n[[hooks]]\nurl = "${url}"\nsecret = "${webhookSecret}"\nevents = ${JSON.stringify(events)}\n`;
}
