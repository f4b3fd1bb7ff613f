/**
 * A self-signed certificate for 127.0.0.1 and its key, as `<name>cert.pem` and `<name>key.pem`; false where openssl is missing. It is valid
 * for `days`, and has expired if they are negative.
 */
export async function makeCertificate(
  { path }: { readonly path: string },
  commonName: string,
  name = "",
  days = 2,
): Promise<boolean> {
  if (Bun.which("openssl") === null) {
    console.log("SKIPPED: the stories of TLS need openssl (apt install openssl)");
    return false;
  }
  const request = `-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=${commonName} -addext subjectAltName=IP:127.0.0.1 -keyout ${name}key.pem`;
  // `req` makes none that has expired.
  const commands =
    days > 0
      ? [`req -x509 ${request} -days ${days} -out ${name}cert.pem`]
      : [
          `req -new ${request} -out ${name}request.pem`,
          `x509 -req -in ${name}request.pem -signkey ${name}key.pem -days ${days} -copy_extensions copy -out ${name}cert.pem`,
        ];
  for (const command of commands) {
    const options = { cwd: path, stdout: "ignore", stderr: "pipe" } as const;
    const made = Bun.spawn(["openssl", ...command.split(" ")], options);
    if ((await made.exited) !== 0) throw new Error(await made.stderr.text());
  }
  return true;
}
