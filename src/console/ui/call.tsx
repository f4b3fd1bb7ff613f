import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { EventOf, Methods, ParamsOf, ResultOf } from "../../client/index.ts";
import { untilReachable } from "../connection.ts";
import { useSession } from "../session/session.ts";
import { confirm, type Question } from "./dialog.tsx";
import { Skeleton } from "./page.tsx";
import { Problem } from "./problem.tsx";
import { toast } from "./toasts.tsx";

type BucketEvent = EventOf<"static-bucket_watch">;

export interface LoadState<T> {
  readonly value: T | undefined;
  readonly error: unknown;
  readonly loading: boolean;
  readonly reload: () => void;
}

interface LoadOptions {
  /** Loads again when this number grows. */
  readonly changes?: number;
  /** Loads again after this time, in milliseconds, while the tab is visible. */
  readonly every?: number;
}

/**
 * Loads a value, again whenever `inputs` change. Results of earlier loads are dropped. While the server is unreachable it stays in
 * the state `loading`, and continues when the server is back.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  { every, changes = 0 }: LoadOptions = {},
): LoadState<T> {
  const [round, setRound] = useState(0);
  const [outcome, setOutcome] = useState<{ value?: T; error?: unknown; loading: boolean }>({ loading: true });
  useEffect(() => {
    const abort = new AbortController();
    setOutcome((before) => ({ ...before, loading: true }));
    untilReachable(() => load(abort.signal), abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setOutcome({ value, loading: false });
      },
      (error) => {
        if (!abort.signal.aborted) setOutcome({ error, loading: false });
      },
    );
    return () => abort.abort();
  }, [...inputs, round, changes]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  usePolling(reload, every);
  return { value: outcome.value, error: outcome.error, loading: outcome.loading, reload };
}

/**
 * Loads the result of a method, again whenever its params change. The value stays undefined if the token may not call the method, for
 * the bucket `name` if the params have one.
 */
export function useCall<M extends keyof Methods>(
  method: M,
  params: ParamsOf<M>,
  options: LoadOptions = {},
): LoadState<ResultOf<M> | undefined> {
  const { client, rights } = useSession();
  const { name } = params as { readonly name?: unknown };
  const isAllowed = rights.may(method, typeof name === "string" ? name : undefined);
  return useLoad(
    async (signal) =>
      isAllowed ? ((await client.callAny(method, params, { signal })) as ResultOf<M>) : undefined,
    [client, isAllowed, method, JSON.stringify(params)],
    options,
  );
}

/** Calls `reload` regularly while the tab is visible, and at once when it becomes visible again after a longer time. */
function usePolling(reload: () => void, every: number | undefined): void {
  useEffect(() => {
    if (every === undefined) return;
    let lastAt = performance.now();
    const reloadIfDue = () => {
      // Timers fire a little early at times.
      if (document.hidden || performance.now() - lastAt < every * 0.9) return;
      lastAt = performance.now();
      reload();
    };
    const timer = setInterval(reloadIfDue, every);
    document.addEventListener("visibilitychange", reloadIfDue);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", reloadIfDue);
    };
  }, [reload, every]);
}

/** The interval for lists that others change without a change of files: deploys that are begun, links that are made. */
export const othersMs = 15_000;

/** Changes of others within this time are shown together. */
const togetherMs = 700;

/**
 * Follows a bucket while the tab is visible, and returns a number that grows when files have changed, or may have: whatever depends on it
 * is to be loaded again. With `path`, changes elsewhere do not count.
 */
export function useFollow(name: string, path = ""): number {
  const { client, rights } = useSession();
  const isAllowed = rights.may("static-bucket_watch", name);
  const [round, setRound] = useState(0);
  const wanted = useRef(path);
  wanted.current = path;
  useEffect(() => {
    if (!isAllowed) return;
    let following: AbortController | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const note = ({ event, path: at = "", from = "" }: BucketEvent) => {
      const concerns = (one: string) => one.startsWith(wanted.current) || wanted.current.startsWith(one);
      const isWhole = event === "reset" || event === "published";
      if (!isWhole && !concerns(at) && !(from !== "" && concerns(from))) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        setRound((count) => count + 1);
      }, togetherMs);
    };
    const follow = async (signal: AbortSignal) => {
      try {
        for await (const event of client.watchBucket(name, { signal })) note(event);
      } catch {
        // The list stays as it is, and says itself what is wrong when it is loaded.
      }
    };
    const showOrHide = () => {
      if (document.hidden) {
        following?.abort();
        following = undefined;
      } else if (following === undefined) {
        following = new AbortController();
        void follow(following.signal);
      }
    };
    showOrHide();
    document.addEventListener("visibilitychange", showOrHide);
    return () => {
      document.removeEventListener("visibilitychange", showOrHide);
      following?.abort();
      clearTimeout(timer);
    };
  }, [client, isAllowed, name]);
  return round;
}

interface WhenLoadedProps<T> {
  readonly of: LoadState<T | undefined>;
  /** Grey bars shown before the first value. */
  readonly rows?: number;
  readonly children: (value: T) => ComponentChildren;
}

/** What a load has brought: the value, its error with a retry button, or grey bars while there is neither. */
export function WhenLoaded<T>({ of: { value, error, reload }, rows = 6, children }: WhenLoadedProps<T>) {
  if (value !== undefined) return <>{children(value)}</>;
  return error === undefined ? <Skeleton rows={rows} /> : <Problem error={error} retry={reload} />;
}

interface Act<T> {
  /** Asked first; nothing happens unless the person agrees. */
  readonly ask?: Question;
  readonly run: () => Promise<T>;
  /** Told when it is done. */
  readonly done?: string | ((result: T) => string);
  /** Called at the end, for example to load a list again. */
  readonly after?: (result: T) => void;
}

/** Asks, runs, tells and goes on. Resolves to whether it was run. Errors are left to the button or the menu. */
export async function act<T>({ ask, run, done, after }: Act<T>): Promise<boolean> {
  if (ask !== undefined && !(await confirm(ask))) return false;
  const result = await run();
  if (done !== undefined) toast(typeof done === "string" ? done : done(result));
  after?.(result);
  return true;
}

/** Current time, which moves on while the tab is visible: for "5 minutes ago". */
export function useNow(everyMs = 30_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
