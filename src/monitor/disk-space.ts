import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Family } from "../metrics/family.ts";
import type { Services } from "../services.ts";

type DiskName = "database" | "static";

interface Space {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** DiskSpace knows the space of the disks that hold the database (of SQLite) and the buckets. */
export class DiskSpace {
  readonly #services: () => Services;
  #database: Space | undefined;

  constructor(services: () => Services) {
    this.#services = services;
  }

  async measure(): Promise<void> {
    const { file } = this.#services().database;
    if (file === undefined) {
      this.#database = undefined;
      return;
    }
    const { bavail, blocks, bsize } = await statfs(dirname(resolve(file)));
    this.#database = { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  }

  space(disk: DiskName): Space | undefined {
    return disk === "database" ? this.#database : this.#services().buckets.storage.health.space;
  }

  get families(): Family[] {
    const byDisk = (field: keyof Space) => () =>
      (["database", "static"] as const).flatMap((disk) => {
        const space = this.space(disk);
        return space === undefined ? [] : [{ labels: { disk }, value: space[field] }];
      });
    return [
      {
        name: "node_server_disk_free_bytes",
        help: "Free space on the disk of the SQLite database and of static_path.",
        type: "gauge",
        samples: byDisk("freeBytes"),
      },
      {
        name: "node_server_disk_size_bytes",
        help: "Size of the disk of the SQLite database and of static_path.",
        type: "gauge",
        samples: byDisk("totalBytes"),
      },
    ];
  }
}
