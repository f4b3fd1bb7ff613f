import { signal } from "@preact/signals";
import {
  FileDenied,
  InvalidInput,
  NodeServerClient,
  ParseError,
  PermissionDenied,
  type Token,
  Unreachable,
} from "../../client/index.ts";
import { consoleFetch, serverUrl, whenReachable } from "../connection.ts";
import { t } from "../text/text.ts";
import { Rights } from "./rights.ts";

/** `integers: "number"`: the console marks rounded numbers, and its JSON export cannot write a bigint. */
const clientOptions = { timeoutMs: 60_000, integers: "number", fetch: consoleFetch } as const;

/**
 * Session of one signed-in person. The object stays the same when the token ends and the person signs in again in the dialog, so
 * that drafts, which belong to a session, survive.
 */
export class Session {
  readonly client: NodeServerClient;
  /** Sentence that says why the server refuses the token; undefined while it accepts it. */
  readonly ended = signal<string | undefined>(undefined);
  /** Whether the person signed out in another tab while this one held unsaved work. The work stays hidden until they sign in again. */
  readonly isLocked = signal(false);
  readonly #identity;
  #renewal: PromiseWithResolvers<void> | undefined;
  #checking: Promise<void> | undefined;

  constructor(identity: Identity) {
    this.#identity = signal(identity);
    this.client = new NodeServerClient(serverUrl, {
      ...clientOptions,
      // No request is sent with the old token while the person is asked for another one.
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

  /** The user name, if the person has signed in with one and a password; undefined for a token, and while the session is locked. */
  get username(): string | undefined {
    const { token, me } = this.#identity.value;
    return isSession(token) ? (me.username ?? undefined) : undefined;
  }

  /** Ends the session on the server, if there is one. Without an answer it ends by itself later. */
  async end(): Promise<void> {
    const { token } = this.#identity.peek();
    if (!isSession(token)) return;
    const [id] = token.slice(1).split(":", 1);
    const client = new NodeServerClient(serverUrl, { ...clientOptions, token });
    await client.call("session_end", { id: id ?? "" }).catch(() => {});
  }

  get rights(): Rights {
    return this.#identity.value.rights;
  }

  /**
   * Handles a failed request; resolves to whether to send it again. A refusal may mean that the token has ended. Then this waits
   * until the person has signed in again, or throws an `AbortError` when they sign out instead.
   */
  async recover(error: unknown): Promise<boolean> {
    if (error instanceof Unreachable) void whenReachable();
    if (!mayMeanTokenEnded(error)) return false;
    const before = this.#identity.peek();
    await this.check();
    await this.#renewal?.promise;
    return this.#identity.peek() !== before;
  }

  /** Checks whether the server still accepts the token. Without an answer it is taken as accepted. */
  check(): Promise<void> {
    if (this.#renewal !== undefined) return Promise.resolve();
    this.#checking ??= this.#refusal()
      .then((refusal) => refusal && this.#end(endReason(refusal)))
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  async isAccepted(): Promise<boolean> {
    return (await this.#refusal()) === undefined;
  }

  /** Forgets the token and hides the page until `renew`. */
  lock(why: string): void {
    this.#end(why);
    this.isLocked.value = true;
    this.#identity.value = { ...this.#identity.peek(), token: "" };
  }

  /** Continues with another token; requests that waited are sent with it. */
  renew(identity: Identity): void {
    this.#identity.value = identity;
    this.isLocked.value = false;
    this.ended.value = undefined;
    this.#renewal?.resolve();
    this.#renewal = undefined;
  }

  /** Rejects everything that waits for another token, because none will come. */
  close(): void {
    this.#renewal?.reject(new DOMException("signed out", "AbortError"));
  }

  async #refusal(): Promise<PermissionDenied | undefined> {
    const before = this.#identity.peek();
    try {
      await new NodeServerClient(serverUrl, { ...clientOptions, token: before.token }).call("token_get");
    } catch (error) {
      if (error instanceof Unreachable) void whenReachable();
      if (error instanceof PermissionDenied && this.#identity.peek() === before) return error;
    }
    return undefined;
  }

  #end(why: string): void {
    this.#renewal ??= Promise.withResolvers<void>();
    // Without this a rejection that nobody awaits would be reported as unhandled.
    this.#renewal.promise.catch(() => {});
    this.ended.value = why;
  }
}

/** Identity behind a token. Throws the server's error when it refuses the token. */
export function identifyToken(token: string): Promise<Identity> {
  return identify(new NodeServerClient(serverUrl, { ...clientOptions, token }), token);
}

function isSession(token: string): boolean {
  return token.startsWith("~");
}

/** Credentials to keep: for a user name and a password a new session, else the token itself. */
export async function credentialsFor(token: string, persistent: boolean, code?: string): Promise<string> {
  if (!token.includes("|")) return token;
  const client = new NodeServerClient(serverUrl, { ...clientOptions, token });
  return (await client.call("session_create", { persistent, device: deviceName(), code })).session;
}

/** The browser and its system, as far as a person would name them. */
function deviceName(): string {
  const { userAgent } = navigator;
  const first = (pattern: RegExp, other: string) =>
    pattern.exec(userAgent)?.[0].replace("Edg", "Edge") ?? other;
  const browser = first(/Edg|Firefox|Chrome|Safari/, "Browser");
  return `${browser} · ${first(/Android|iPhone|iPad|Windows|Mac OS|Linux/, "?")}`;
}

/** Whether the error means that the server refuses the token, as opposed to an outage. */
export function isTokenRefused(error: unknown): boolean {
  return error instanceof PermissionDenied || error instanceof ParseError || error instanceof InvalidInput;
}

/**
 * Whether an error may mean that the token has ended. The reason in the error cannot decide: methods for the Super Token refuse
 * all others alike.
 */
function mayMeanTokenEnded(error: unknown): boolean {
  return error instanceof PermissionDenied || (error instanceof FileDenied && error.status === 401);
}

/** A token that the server accepts, with its record and rights. */
interface Identity {
  readonly token: string;
  readonly me: Token;
  readonly rights: Rights;
}

/** `client` must send `token`. Throws the server's error when it refuses the token. */
async function identify(client: NodeServerClient, token: string): Promise<Identity> {
  const me = await client.call("token_get");
  return { token, me, rights: new Rights(me) };
}

/** Sentence that says why a token ended. */
export function endReason(error: PermissionDenied): string {
  return error.reason === "expired" ? t.frame.tokenExpired : t.frame.tokenRefused;
}
