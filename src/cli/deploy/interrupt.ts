/** As a shell tells it: 128 and the number of the signal. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Runs until it is done or somebody presses Ctrl+C: then it comes to an orderly end. The second time does not wait. */
export async function interruptible(
  work: (signal: AbortSignal) => Promise<number>,
  words: string,
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
    process.stderr.write(`${words}\n`);
    return code;
  } finally {
    for (const remove of listeners) remove();
  }
}
