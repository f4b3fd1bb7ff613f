import { Fault } from "../base/fault.ts";

/** storeIsMissing is the Fault while the folder of all buckets is missing. */
export function storeIsMissing(): Fault {
  return new Fault(
    "IoError",
    "the folder of the buckets is missing on the server; its operator has to put it back",
    { reason: "unavailable" },
  );
}

/** hasDeploys is the Fault for a path whose deploys another bucket would take over. */
export function hasDeploys(): Fault {
  return new Fault(
    "InvalidInput",
    "there are deploys of an earlier bucket at this path; choose another path, or have the Super Token do this",
    { field: "path", reason: "path_taken" },
  );
}

/** noBucket is the Fault for a name that no bucket has. */
export function noBucket(name: string): Fault {
  return new Fault("NotFound", `there is no bucket ${name.slice(0, 128)}`, { field: "name" });
}
