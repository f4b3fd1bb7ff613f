import { type Context, PipeClosed } from "../context.ts";

/** Exit codes as shells report signals: 128 and the number of the signal. */
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Runs `work` until it is done or a signal ends it in order; then `notice` is printed. A second signal does not wait for `work`: the
 * exit code is returned at once, and the program ends.
 */
export async function interruptible<T>(
  ctx: Context,
  notice: string | (() => string),
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | number> {
  const stop = new AbortController();
  const again = Promise.withResolvers<number>();
  let code: number | undefined;
  const unhook = ctx.onSignals(["SIGINT", "SIGTERM"], (name) => {
    if (code !== undefined) return again.resolve(code);
    code = codes[name];
    stop.abort(new DOMException(`ended by ${name}`, "AbortError"));
  });
  try {
    return await Promise.race([work(stop.signal), again.promise]);
  } catch (error) {
    if (code === undefined) throw error;
    ctx.say(typeof notice === "string" ? notice : notice());
    return code;
  } finally {
    unhook();
  }
}

/** Runs `work` until Ctrl+C, SIGTERM or a closed pipe, which is how following a stream normally ends. */
export async function untilStopped(
  ctx: Context,
  work: (stop: AbortController) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const unhook = ctx.onSignals(["SIGINT", "SIGTERM", "SIGHUP"], () => stop.abort());
  try {
    await work(stop);
  } catch (error) {
    if (!stop.signal.aborted && !(error instanceof PipeClosed)) throw error;
  } finally {
    unhook();
  }
}
