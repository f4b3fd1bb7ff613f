import { Fault } from "../../base/fault.ts";

/** WrongUsage is a mistake in the command line, found before anything was sent. Exit code 2. */
export class WrongUsage extends Fault {
  constructor(detail: string) {
    super("InvalidInput", detail);
  }
}
