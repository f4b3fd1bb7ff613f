import { signal } from "@preact/signals";
import { type NodeServerClient, RpcError, Unreachable } from "../../../client/index.ts";
import { replaceQuery, route } from "../../route.ts";
import { explain } from "../../ui/problem.tsx";
import { toast } from "../../ui/toasts.tsx";
import { comeBack } from "./come-back.ts";
import type { Progress } from "./progress.ts";
import { watchLog } from "./watch-log.ts";

export type Run =
  | { readonly step: "none" }
  | { readonly step: "replacing"; readonly tag: string; readonly progress: Progress | undefined }
  /** `awayMs`: for how long nobody has answered. */
  | { readonly step: "restarting"; readonly tag: string; readonly awayMs: number }
  | { readonly step: "updated"; readonly tag: string }
  | { readonly step: "same"; readonly tag: string }
  | { readonly step: "failed"; readonly tag: string; readonly why: string };

/** Outlives the page: an update goes on while another page is looked at. */
export const run = signal<Run>({ step: "none" });

export function isUnderWay({ step }: Run): boolean {
  return step === "replacing" || step === "restarting";
}

/** The whole way from the click to the new version. Never throws: what goes wrong is told in `run`. */
export async function update(client: NodeServerClient, tag: string): Promise<void> {
  run.value = { step: "replacing", tag, progress: undefined };
  try {
    const { cargo_version: from } = await client.call("node-server_version");
    await replace(client, tag);
    const wanted = tag.slice(1);
    if (wanted === from) {
      run.value = { step: "same", tag };
      return;
    }
    await restart(client, tag, from);
  } catch (error) {
    run.value = { step: "failed", tag, why: words(error) };
  }
}

async function replace(client: NodeServerClient, tag: string): Promise<void> {
  const log = await watchLog(client, tag, (progress) => {
    if (run.value.step === "replacing") run.value = { step: "replacing", tag, progress };
  });
  try {
    // A download takes as long as it takes.
    await client.call("node-server_self_update", { tag }, { timeoutMs: 0 });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    // A proxy has lost its patience, or the network is gone for a moment. The server goes on, and says so in its log.
    const end = await log.end;
    if (end === undefined)
      throw new Error(
        "The connection was lost, and the log cannot be followed from here. The server may go on by itself: look at its version in a while.",
        { cause: error },
      );
    if (end.stage === "failed") throw new Error(`The server says: ${end.why}`, { cause: error });
  } finally {
    log.stop();
  }
}

async function restart(client: NodeServerClient, tag: string, from: string): Promise<void> {
  run.value = { step: "restarting", tag, awayMs: 0 };
  const back = await comeBack(client, tag.slice(1), (awayMs) => {
    run.value = { step: "restarting", tag, awayMs };
  });
  if (back.kind === "taken back")
    throw new Error(
      `${tag} did not start, so version ${back.version} runs again. The server says: ${back.why}`,
    );
  if (back.kind === "not restarted")
    throw new Error(
      `The new binary is in place, but the server has not restarted: version ${back.version} still runs. Its log says more; a restart by hand brings the new version.`,
    );
  run.value = { step: "updated", tag };
  // The files of this console are those of the old version. Another page may hold work that a reload would end.
  if (route.value.page !== "update")
    toast(`The server runs ${tag} now. Reload this page to get its console.`);
  else {
    replaceQuery({ from });
    location.reload();
  }
}

/** The server's own words, without the kind of the error before them. */
function words(error: unknown): string {
  return error instanceof RpcError
    ? `The server says: ${error.message.replace(/^[A-Z][A-Za-z ]{0,30}: /, "")}`
    : explain(error);
}
