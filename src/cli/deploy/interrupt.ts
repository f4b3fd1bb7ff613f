/** Exit codes as shells report signals: 128 and the number of the signal. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Runs `work` until it is done or a signal ends it in order; then `notice` is printed. A second signal exits at once. */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<number>,
  notice: string | (() => string),
): Promise<number> {
  const stop = new AbortController();
  let code: number | undefined;
  const listeners = (["SIGINT", "SIGTERM"] as const).map((name) => {
    const listener = () => {
      if (code !== undefined) process.exit(code);
      code = codes[name];
      stop.abort(new DOMException(`ended by ${name}`, "AbortError"));
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  try {
    return await work(stop.signal);
  } catch (error) {
    if (code === undefined) throw error;
    process.stderr.write(`${typeof notice === "string" ? notice : notice()}\n`);
    return code;
  } finally {
    for (const remove of listeners) remove();
  }
}
