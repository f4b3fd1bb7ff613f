/** What of the library pg is used here; it brings no types along. */
declare module "pg" {
  import type { EventEmitter } from "node:events";
  import type { Socket } from "node:net";

  type Tls = false | { readonly rejectUnauthorized: boolean };

  export class Connection extends EventEmitter {
    readonly stream: Socket;
    constructor(options: { readonly ssl: Tls });
    connect(port: number | string, host?: string): void;
    requestSsl(): void;
    cancel(processId: number, secretKey: number): void;
    parse(statement: { readonly name: string; readonly text: string }): void;
    describe(what: { readonly type: "S"; readonly name: string }): void;
    bind(portal: { readonly statement: string; readonly values: ReadonlyArray<string | null> }): void;
    execute(portal: { readonly rows: number }): void;
    flush(): void;
    sync(): void;
    sendCopyFail(message: string): void;
    end(): void;
  }

  export class Client extends EventEmitter {
    readonly connection: Connection;
    readonly processID: number;
    readonly secretKey: number;
    constructor(options: {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly database: string;
      readonly password: () => string;
      readonly ssl: Tls;
    });
    connect(): Promise<unknown>;
    query(submittable: { submit(): void }): void;
    query(text: string): Promise<unknown>;
    query(options: {
      readonly text: string;
      readonly rowMode: "array";
      readonly types: { getTypeParser(): (value: string) => string };
    }): Promise<{ readonly rows: ReadonlyArray<ReadonlyArray<string | null>> }>;
    getTransactionStatus(): string | null;
  }
}
