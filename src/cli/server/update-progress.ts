import { eventOf, type NodeServerClient, type SubscribeOptions } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { openProgress } from "./progress.ts";

/**
 * `startProgress` shows the progress of an update until `signal` fires or the server restarts.
 * Resolves when the subscription has begun and throws when it is refused;
 * a later break ends the progress, not the update.
 */
export async function startProgress(
  ctx: Context,
  client: NodeServerClient,
  title: string,
  signal: AbortSignal,
): Promise<void> {
  const connected = Promise.withResolvers<void>();
  const options = { signal, reconnect: false, onConnect: () => connected.resolve() };
  await Promise.race([connected.promise, showProgress(ctx, client, title, options)]);
}

async function showProgress(
  ctx: Context,
  client: NodeServerClient,
  title: string,
  options: SubscribeOptions,
): Promise<void> {
  const shown = openProgress(ctx, title);
  const entries = client.subscribe("node-server_stream_log", { log_filter: "server=info" }, options);
  for await (const entry of entries) {
    const event = eventOf(entry);
    if (event?.event === "update.downloading" && event.bytes !== undefined) shown(event.bytes, event.total);
  }
}
