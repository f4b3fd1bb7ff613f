import { FolderBlobs } from "../../src/blobs/folder.ts";
import { writeManifests } from "../../src/buckets/maintenance/manifest.ts";
import { sweep } from "../../src/buckets/maintenance/sweep.ts";
import { openDatabase } from "../../src/db/database.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "./database-settings.ts";

// A process that sweeps a store once and writes its manifests, to be killed meanwhile: `sweep-process.ts <database URL> <folder of
// blobs> [<age in milliseconds>]`. A blob without a name is deleted at that age; default: after a day.

const dayMs = 24 * 3600 * 1000;
const [url = "", folder = "", minAge] = process.argv.slice(2);
const settings = {
  ...settingsFor(url),
  max_connections: 2,
  timeout_ms: 20_000,
};
const database = await openDatabase(settings, new LogHub(), { create: false });
process.stdout.write("begin\n");
const { signal } = new AbortController();
const shared = { rows: database.removed, blobs: new FolderBlobs(folder, { sync: false }), signal };
const nowMs = minAge === undefined ? {} : { nowMs: Date.now() + dayMs - Number(minAge) };
await sweep({ ...shared, maxHeld: 20, ...nowMs });
await writeManifests(shared);
await database.close();
