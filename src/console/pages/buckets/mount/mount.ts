import { shellQuote } from "../../../ui/shell-quote.ts";

/** One step: an instruction, and the text to enter if there is one. */
export interface Step {
  readonly text: string;
  readonly code?: string;
}

export interface Way {
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
                text: "Windows sends no password over plain http until it is allowed to. In a command prompt as administrator, once:",
                code: `reg add HKLM\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters /v BasicAuthLevel /t REG_DWORD /d 2 /f\n${restartWebClient}`,
              },
            ]),
        { text: "In Explorer: This PC, Map network drive, with this folder:", code: address },
        {
          text: "Or in a command prompt; it asks for the password:",
          code: `net use S: "${bare}" * /user:${user}`,
        },
        {
          text: "Windows reads no file above 50 MB unless FileSizeLimitInBytes is raised; 4 GB is the most that it can. It takes effect when WebClient is restarted, which the second line does. In a command prompt as administrator:",
          code: `reg add HKLM\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters /v FileSizeLimitInBytes /t REG_DWORD /d 4294967295 /f\n${restartWebClient}`,
        },
      ],
    },
    {
      name: "macOS",
      steps: [
        { text: "In Finder: Go, Connect to Server (⌘K), with this address:", code: address },
        {
          text: "Or in a terminal; it asks for the user name and the password:",
          code: `mkdir -p ~/${name} && mount_webdav -i ${shellQuote(address)} ~/${name}`,
        },
      ],
    },
    {
      name: "Linux",
      steps: [
        { text: "GNOME Files: Other Locations, with this address:", code: gnome },
        { text: "KDE Dolphin, in the address bar:", code: kde },
        {
          text: "davfs2 (apt install davfs2); it asks for the password:",
          code: `sudo mkdir -p /mnt/${name}\nsudo mount -t davfs -o username=${who} ${shellQuote(address)} /mnt/${name}`,
        },
        {
          text: "On Linux 6.16 and newer davfs2 1.6 lists folders only with a larger buffer, in /etc/davfs2/davfs2.conf:",
          code: "buf_size 64",
        },
      ],
    },
    {
      name: "rclone",
      steps: [
        {
          text: "Create the remote; it asks for the password. The vendor owncloud makes rclone keep the times of files:",
          code: `${readPassword}; rclone config create --obscure ${name} webdav url=${shellQuote(bare)} vendor=owncloud user=${who} pass="$PASS"; unset PASS`,
        },
        { text: "Then, for example:", code: `rclone sync ./public ${name}:` },
      ],
    },
    {
      name: "cadaver",
      steps: [
        { text: "It asks for the user name and the password:", code: `cadaver ${shellQuote(address)}` },
        { text: "The user name is:", code: user },
      ],
    },
    {
      name: "curl",
      steps: [
        {
          text: "Upload a file; it asks for the password:",
          code: `curl -u ${who} -T page.html ${shellQuote(address)}`,
        },
        { text: "List the folder:", code: `curl -u ${who} -X PROPFIND -H 'Depth: 1' ${shellQuote(address)}` },
      ],
    },
  ];
}
