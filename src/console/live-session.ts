import { signal } from "@preact/signals";
import {
  FileDenied,
  fitsWebdav,
  InvalidInput,
  NodeServerClient,
  ParseError,
  PermissionDenied,
  type Token,
  Unreachable,
} from "../client/index.ts";
import { serverUrl, whenReachable } from "./connection.ts";
import { endOf, type Identity, identify } from "./identity.ts";
import type { Rights } from "./rights.ts";

/** Numbers as JSON.parse reads them: the console shows where one was rounded, and its JSON export cannot write a bigint. */
const clientOptions = { timeoutMs: 60_000, integers: "number" } as const;

/**
 * Who is signed in, and with what. The object stays the same when the token ends and the person signs in again above the page, so that
 * drafts, which are kept for each session, are still there.
 */
export class Session {
  readonly client: NodeServerClient;
  /** Why the server refuses the token, in a sentence; undefined while it accepts it. */
  readonly ended = signal<string | undefined>(undefined);
  /** Whether the person signed out in another tab while this one held unsaved work: nothing of it may be seen until they are back. */
  readonly isLocked = signal(false);
  readonly #identity;
  #renewal: PromiseWithResolvers<void> | undefined;
  #checking: Promise<void> | undefined;

  constructor(identity: Identity) {
    this.#identity = signal(identity);
    this.client = new NodeServerClient(serverUrl, {
      ...clientOptions,
      // While the person is asked for another token nothing is sent with the old one.
      token: async () => {
        await this.#renewal?.promise;
        return this.#identity.peek().token;
      },
      onError: (error) => this.recover(error),
    });
  }

  get me(): Token {
    return this.#identity.value.me;
  }

  /** Whether files can be reached with this token over WebDAV, as its permissions allow. */
  get fitsWebdav(): boolean {
    return fitsWebdav(this.#identity.value.token);
  }

  get rights(): Rights {
    return this.#identity.value.rights;
  }

  /**
   * What there is to do about a failed request; answers whether to send it again. A refusal may mean that the token has ended: then it
   * waits until the person has signed in again, and throws an `AbortError` when they sign out instead.
   */
  async recover(error: unknown): Promise<boolean> {
    if (error instanceof Unreachable) void whenReachable();
    if (!mayMeanEnd(error)) return false;
    const before = this.#identity.peek();
    await this.check();
    await this.#renewal?.promise;
    return this.#identity.peek() !== before;
  }

  /** Looks whether the server still accepts the token. A server that does not answer says nothing about it. */
  check(): Promise<void> {
    if (this.#renewal !== undefined) return Promise.resolve();
    this.#checking ??= this.#refusal()
      .then((refusal) => refusal && this.#end(endOf(refusal)))
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async isAccepted(): Promise<boolean> {
    return (await this.#refusal()) === undefined;
  }

  /** Forgets the token and keeps everything else, until `renew`. */
  lock(why: string): void {
    this.#end(why);
    this.isLocked.value = true;
    this.#identity.value = { ...this.#identity.peek(), token: "" };
  }

  /** Goes on with another token. */
  renew(identity: Identity): void {
    this.#identity.value = identity;
    this.isLocked.value = false;
    this.ended.value = undefined;
    this.#renewal?.resolve();
    this.#renewal = undefined;
  }

  /** Ends whatever waits for another token: none will come. */
  close(): void {
    this.#renewal?.reject(new DOMException("signed out", "AbortError"));
  }

  async #refusal(): Promise<PermissionDenied | undefined> {
    const asked = this.#identity.peek();
    try {
      await new NodeServerClient(serverUrl, { ...clientOptions, token: asked.token }).call("token_get");
    } catch (error) {
      if (error instanceof Unreachable) void whenReachable();
      if (error instanceof PermissionDenied && this.#identity.peek() === asked) return error;
    }
    return undefined;
  }

  #end(why: string): void {
    this.#renewal ??= Promise.withResolvers<void>();
    // Nothing may wait for it.
    this.#renewal.promise.catch(() => {});
    this.ended.value = why;
  }
}

/** Who a token belongs to; throws what the server says against it. */
export function lookUp(token: string): Promise<Identity> {
  return identify(new NodeServerClient(serverUrl, { ...clientOptions, token }), token);
}

/** The server says no to a token, and not that it cannot say anything now. */
export function isRefusal(error: unknown): boolean {
  return error instanceof PermissionDenied || error instanceof ParseError || error instanceof InvalidInput;
}

/** Whatever reason it gives: a method for the Super Token refuses all others alike, ended ones included. */
function mayMeanEnd(error: unknown): boolean {
  return error instanceof PermissionDenied || (error instanceof FileDenied && error.status === 401);
}
