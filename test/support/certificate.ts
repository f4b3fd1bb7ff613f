/** A self-signed certificate for 127.0.0.1 and its key, as `<name>cert.pem` and `<name>key.pem`; false where openssl is missing. */
export async function makeCertificate(
  { path }: { readonly path: string },
  commonName: string,
  name = "",
): Promise<boolean> {
  if (Bun.which("openssl") === null) {
    console.log("SKIPPED: the stories of TLS need openssl (apt install openssl)");
    return false;
  }
  const args = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=${commonName} -addext subjectAltName=IP:127.0.0.1 -keyout ${name}key.pem -out ${name}cert.pem`;
  const made = Bun.spawn(["openssl", ...args.split(" ")], { cwd: path, stdout: "ignore", stderr: "pipe" });
  if ((await made.exited) !== 0) throw new Error(await made.stderr.text());
  return true;
}
