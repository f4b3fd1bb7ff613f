import { type Signal, signal } from "@preact/signals";
import type { NodeServerClient } from "../../../client/index.ts";
import { perSession, signedIn } from "../../session.ts";
import { registerUnsavedWork } from "../../unsaved-work.ts";
import { consoleAt, listenerIn, toListener } from "./listener.ts";
import { type Reload, writeConfig } from "./reload.ts";

export type Saved =
  | Reload
  /** The server does not answer here any more; `address` is where the console is now, if that can be known. */
  | { readonly kind: "gone"; readonly address: string | undefined };

/** A draft of the configuration: it outlives the page, not the session, and is stored nowhere else. */
export class Desk {
  /** The file as it was last read; undefined before. */
  readonly file: Signal<string | undefined> = signal(undefined);
  /** As the editor reported it last. */
  readonly text = signal("");
  /** Counts the texts that came from the file and replace what is in the editor. */
  readonly revision = signal(0);
  readonly saved: Signal<Saved | undefined> = signal(undefined);

  constructor(private readonly client: NodeServerClient) {}

  get isChanged(): boolean {
    return this.file.value !== undefined && this.file.value !== this.text.value;
  }

  read(signal?: AbortSignal): Promise<string> {
    return this.client.call("node-server_read_config", {}, { signal });
  }

  /** Begins anew from what the file holds. */
  take(file: string): void {
    this.file.value = file;
    this.text.value = file;
    this.revision.value += 1;
  }

  async write(): Promise<void> {
    const text = this.text.value;
    const before = this.file.value ?? "";
    this.saved.value = undefined;
    const reload = await writeConfig(this.client, text);
    this.file.value = text;
    const moves = JSON.stringify(listenerIn(before)) !== JSON.stringify(listenerIn(text));
    const mayBeGone = reload.kind === "unheard" || (moves && reload.kind === "applied");
    if (!mayBeGone || (await this.#stays())) this.saved.value = reload;
    else this.saved.value = { kind: "gone", address: newAddress(text, reload) };
  }

  /** A listener that was left answers for a moment still, so it is asked more than once. */
  async #stays(): Promise<boolean> {
    try {
      for (let times = 0; times < 4; times += 1) {
        await this.client.call("node-server_hello", {}, { timeoutMs: 3000 });
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      return true;
    } catch {
      // Whatever the reason, the server cannot be used from here.
      return false;
    }
  }
}

/** What the server said in its log, else what the text says. */
function newAddress(text: string, { listening }: Reload): string | undefined {
  const listener = listening === undefined ? listenerIn(text) : toListener(listening);
  return listener === undefined ? undefined : consoleAt(listener, location.hostname);
}

export const deskOf = perSession(({ client }) => new Desk(client));

registerUnsavedWork(() => {
  const now = signedIn.value;
  return now.state === "signed-in" && deskOf(now.session).isChanged
    ? "the changed configuration is not saved"
    : undefined;
});
