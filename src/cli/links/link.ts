import { Fault } from "../../base/fault.ts";
import { exitCodes } from "../command.ts";
import { parseBucketPath } from "../files/location.ts";
import { connect, type RemoteOptions } from "../remote/remote.ts";
import { webAddress } from "../remote/unix.ts";
import { askSecret } from "../terminal/ask.ts";
import { print, say } from "../terminal/output.ts";
import { minuteText } from "../terminal/quantities.ts";

export interface LinkOptions extends RemoteOptions {
  readonly json?: boolean;
  /** Milliseconds from now. */
  readonly expires?: number;
  readonly maxDownloads?: number;
  readonly password?: boolean;
  readonly upload?: boolean;
  readonly zip?: boolean;
}

/** Makes a signed link to a file, or with `--upload` or `--zip` to a folder. */
export async function link(place: string, options: LinkOptions): Promise<number> {
  const { bucket: name, path } = parseBucketPath(place);
  const client = await connect(options);
  const made = await client.call("static-bucket-file_link", {
    name,
    path,
    expires_in: options.expires === undefined ? undefined : Math.floor(options.expires / 1000),
    max_downloads: options.maxDownloads,
    password: options.password ? await readPassword() : undefined,
    upload: options.upload,
    zip: options.zip,
  });
  const url = webAddress(client.url, made.address);
  if (options.json) await print(`${JSON.stringify({ ...made, url })}\n`);
  else {
    await print(`${url}\n`);
    const stored = made.id === undefined ? "" : `; \`node-server links ${name} --revoke ${made.id}\` ends it`;
    say(`It ends ${minuteText(made.expires)} UTC${stored}.`);
  }
  return exitCodes.done;
}

/** Never an option: other users of the machine can read the arguments of a program. */
async function readPassword(): Promise<string> {
  const { isTTY } = process.stdin;
  const password = isTTY ? await askSecret("Password of the link: ") : await Bun.stdin.text();
  const line = password.replace(/\r?\n$/, "");
  if (line === "")
    throw new Fault(
      "Other",
      "no password was given; --password asks on a terminal, else it is read from standard input",
    );
  return line;
}
