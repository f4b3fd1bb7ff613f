/** `isLoopback` returns whether a host name of a URL leads to the machine of the caller. A wildcard address does so, too. */
export function isLoopback(hostname: string): boolean {
  return (
    /^(.+\.)?localhost\.?$/.test(hostname) ||
    /^(127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[::ffff:(7f[0-9a-f]{2}:[0-9a-f]+|0:0)\])$/.test(hostname)
  );
}
