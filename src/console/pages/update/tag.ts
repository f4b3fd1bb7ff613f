import { t } from "../../text/text.ts";
/** Problem with the tag of a release; undefined when it is valid. */
export function tagProblem(text: string): string | undefined {
  return /^v\d{1,9}\.\d{1,9}\.\d{1,9}$/.test(text) ? undefined : t.update.badTag;
}
