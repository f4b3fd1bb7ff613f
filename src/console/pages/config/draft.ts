import { type Signal, signal } from "@preact/signals";
import type { NodeServerClient } from "../../../client/index.ts";
import { sessionState } from "../../session/session-state.ts";
import { t } from "../../text/text.ts";
import { consoleUrl, listenerFromUrl, parseListener } from "./model.ts";
import { type Reload, writeConfig } from "./reload.ts";

export type SaveResult =
  | Reload
  /** The server no longer answers at this address; `address` is the console's new one, if known. */
  | { readonly kind: "gone"; readonly address: string | undefined };

/** Draft of the configuration. It outlives the page but not the session, and is never written to storage. */
export class ConfigDraft {
  readonly #client: NodeServerClient;
  /** File content as last read; undefined before the first read. */
  readonly file: Signal<string | undefined> = signal(undefined);
  /** Last text reported by the editor. */
  readonly text = signal("");
  /** Incremented when `text` must replace the editor's content. */
  readonly revision = signal(0);
  readonly saved: Signal<SaveResult | undefined> = signal(undefined);

  constructor(client: NodeServerClient) {
    this.#client = client;
  }

  get isChanged(): boolean {
    return this.file.value !== undefined && this.file.value !== this.text.value;
  }

  read(signal?: AbortSignal): Promise<string> {
    return this.#client.call("node-server_read_config", {}, { signal });
  }

  /** Replaces the draft with the content of the file. */
  reset(file: string): void {
    this.file.value = file;
    this.text.value = file;
    this.revision.value += 1;
  }

  async write(): Promise<void> {
    const text = this.text.value;
    const before = this.file.value ?? "";
    this.saved.value = undefined;
    const reload = await writeConfig(this.#client, text);
    this.file.value = text;
    const moves = JSON.stringify(parseListener(before)) !== JSON.stringify(parseListener(text));
    const mayBeGone = reload.kind === "unheard" || (moves && reload.kind === "applied");
    if (!mayBeGone || (await this.#stillAnswers())) this.saved.value = reload;
    else this.saved.value = { kind: "gone", address: newAddress(text, reload) };
  }

  /** Whether the server still answers at this address. A closed listener may answer for a moment, so this asks several times. */
  async #stillAnswers(): Promise<boolean> {
    try {
      for (let times = 0; times < 4; times += 1) {
        await this.#client.call("node-server_hello", {}, { timeoutMs: 3000 });
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      return true;
    } catch {
      // Whatever the reason, the console cannot use the server at this address.
      return false;
    }
  }
}

/** New address of the console: from the server's log, otherwise from the text. */
function newAddress(text: string, { listening }: Reload): string | undefined {
  const listener = listening === undefined ? parseListener(text) : listenerFromUrl(listening);
  return listener === undefined ? undefined : consoleUrl(listener, location.hostname);
}

export const { of: draftOf } = sessionState(({ client }) => new ConfigDraft(client), {
  unsaved: ({ isChanged }) => (isChanged ? t.config.unsaved : undefined),
});
