import { t } from "../../../text/text.ts";
import { shellQuote } from "../../../ui/visible-text.ts";

/** One step: an instruction, and the text to enter if there is one. */
export interface Step {
  readonly text: string;
  readonly code?: string;
}

interface Way {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** Windows reads the settings of its WebDAV client when the service starts. */
const restartWebClient = "net stop WebClient & net start WebClient";

/**
 * Reads a line into PASS without echo, in sh, bash and zsh: `read -s` is not in POSIX. It must be one line, because the shell would
 * read the next line of a pasted text as the password.
 */
const readPassword = "printf 'Password: '; stty -echo; IFS= read -r PASS; stty echo; echo";

/** Instructions to mount a bucket, by system. `address` ends in a slash; the secret is never filled in. */
export function waysToMount(address: string, bucket: string, user: string): readonly Way[] {
  const url = new URL(address);
  const secure = url.protocol === "https:";
  const bare = address.replace(/\/$/, "");
  const gnome = `${secure ? "davs" : "dav"}://${url.host}${url.pathname}`;
  const kde = `${secure ? "webdavs" : "webdav"}://${url.host}${url.pathname}`;
  const who = shellQuote(user);
  const name = shellQuote(bucket);
  return [
    {
      name: "Windows",
      steps: [
        ...(secure
          ? []
          : [
              {
                text: t.buckets.windowsBasic,
                code: `reg add HKLM\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters /v BasicAuthLevel /t REG_DWORD /d 2 /f\n${restartWebClient}`,
              },
            ]),
        { text: t.buckets.windowsExplorer, code: address },
        {
          text: t.buckets.windowsPrompt,
          code: `net use S: "${bare}" * /user:${user}`,
        },
        {
          text: t.buckets.windowsLimit,
          code: `reg add HKLM\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters /v FileSizeLimitInBytes /t REG_DWORD /d 4294967295 /f\n${restartWebClient}`,
        },
      ],
    },
    {
      name: "macOS",
      steps: [
        { text: t.buckets.macFinder, code: address },
        {
          text: t.buckets.macTerminal,
          code: `mkdir -p ~/${name} && mount_webdav -i ${shellQuote(address)} ~/${name}`,
        },
      ],
    },
    {
      name: "Linux",
      steps: [
        { text: t.buckets.gnomeFiles, code: gnome },
        { text: t.buckets.kdeDolphin, code: kde },
        {
          text: t.buckets.davfs,
          code: `sudo mkdir -p /mnt/${name}\nsudo mount -t davfs -o username=${who} ${shellQuote(address)} /mnt/${name}`,
        },
        {
          text: t.buckets.davfsBuffer,
          code: "buf_size 64",
        },
      ],
    },
    {
      name: "rclone",
      steps: [
        {
          text: t.buckets.rcloneCreate,
          code: `${readPassword}; rclone config create --obscure ${name} webdav url=${shellQuote(bare)} vendor=owncloud user=${who} pass="$PASS"; unset PASS`,
        },
        { text: t.buckets.forExample, code: `rclone sync ./public ${name}:` },
      ],
    },
    {
      name: "cadaver",
      steps: [
        { text: t.buckets.asksBoth, code: `cadaver ${shellQuote(address)}` },
        { text: t.buckets.userNameIs, code: user },
      ],
    },
    {
      name: "curl",
      steps: [
        {
          text: t.buckets.curlUpload,
          code: `curl -u ${who} -T page.html ${shellQuote(address)}`,
        },
        { text: t.buckets.curlList, code: `curl -u ${who} -X PROPFIND -H 'Depth: 1' ${shellQuote(address)}` },
      ],
    },
  ];
}
