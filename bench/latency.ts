import { call, hello, type Running } from "./servers.ts";

/** How long single hello calls take, one after another: the given quantile of `count` of them, in milliseconds. */
export async function helloQuantile({ url }: Running, count: number, quantile: number): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const begin = performance.now();
    await call(url, hello);
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * quantile))] ?? Number.NaN;
}
