/** The events that webhooks can be sent. `hook.test` is sent only on demand. */
export const hookEvents = [
  "file.created",
  "file.changed",
  "file.moved",
  "file.deleted",
  "deploy.published",
  "verdict.changed",
] as const;
export type HookEvent = (typeof hookEvents)[number] | "hook.test";

/** `isHookPattern` returns whether a text names events: one, a family such as `file.*`, or all by `*`. */
export function isHookPattern(pattern: string): boolean {
  return hookEvents.some((event) => matchesHook([pattern], event));
}

export function matchesHook(patterns: readonly string[], event: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === "*" ||
      pattern === event ||
      (pattern.endsWith(".*") && event.startsWith(pattern.slice(0, -1))),
  );
}
