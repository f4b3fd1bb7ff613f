import { existsSync } from "node:fs";

/**
 * `formerPath` is a free name beside `path` for what a restore replaces: `<path>.before-restore-<time>`. `endings` are those of files
 * that are kept with it, and must be free as well.
 */
export function formerPath(path: string, endings: readonly string[] = []): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const first = `${path}.before-restore-${time}`;
  for (let number = 1; ; number += 1) {
    const former = number === 1 ? first : `${first}-${number}`;
    if (!["", ...endings].some((ending) => existsSync(former + ending))) return former;
  }
}
