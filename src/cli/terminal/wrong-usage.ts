import { Fault } from "../../base/fault.ts";

/** The command was written wrongly: nothing was asked of any server. */
export class WrongUsage extends Fault {
  constructor(detail: string) {
    super("InvalidInput", detail);
  }
}
