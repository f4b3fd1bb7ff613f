import { Fault } from "../base/fault.ts";
import { toValidationIssue } from "../base/validation-issue.ts";
import type { Method } from "./method.ts";

/** Named or positional, as the method's schema reads them; the first that it refuses is named. */
export function parseParams<S>(method: Method<S>, given: unknown): Record<string, unknown> {
  if (method.names.length === 0) return {};
  const named: unknown = Array.isArray(given)
    ? Object.fromEntries(method.names.map((name, at) => [name, given[at]]))
    : (given ?? {});
  const read = safely(() => method.accepts.safeParse(named));
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue === undefined) throw new Fault("InvalidParams", "params cannot be read");
  const { path, why, data } = toValidationIssue(issue, named);
  const field = path.join(".");
  throw new Fault("InvalidParams", `${field} ${why}`, { field, ...data });
}

/** A schema trips over values such as `{"length": {"valueOf": 1}}`; that is the caller's mistake, not a bug. */
function safely<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Fault || !(error instanceof TypeError)) throw error;
    throw new Fault("InvalidParams", "params cannot be read");
  }
}
