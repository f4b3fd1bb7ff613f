import type { Caller } from "../../auth/caller.ts";

const notes = Symbol("notes");

/** RequestNotes are facts about a request that only its handler learns, for the access log. */
export interface RequestNotes {
  /** Who made the request, once its credentials are proven. */
  readonly caller?: Caller | undefined;
  /** The methods that a JSON-RPC request calls. */
  readonly rpcMethods?: readonly string[] | undefined;
}

interface NotedRequest extends Request {
  [notes]?: RequestNotes;
}

/** noteOn attaches notes to a request. They are read when it has ended, so they may be filled until then. */
export function noteOn(request: NotedRequest, about: RequestNotes): void {
  request[notes] = about;
}

export function notesOf(request: NotedRequest): RequestNotes {
  return request[notes] ?? none;
}

const none: RequestNotes = {};
