import { expect } from "bun:test";
import { join } from "node:path";
import { makeCertificate } from "../support/certificate.ts";
import { tempFolder, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";

test("sslyze finds nothing but that the certificate is of an authority of our own", async () => {
  if (Bun.which("sslyze") === null) {
    console.log("SKIPPED: the scan of TLS needs sslyze (pip install sslyze, with its folder in PATH)");
    return;
  }
  await using folder = await tempFolder();
  if (!(await makeCertificate(folder, "node", "", 90))) return;
  const at = (name: string) => JSON.stringify(join(folder.path, name));
  await using node = await testNode({ top: `tls_cert = ${at("cert.pem")}\ntls_key = ${at("key.pem")}\n` });
  // Every scan, judged by what Mozilla recommends to servers for everybody.
  const scan = Bun.spawn(["sslyze", "--mozilla_config", "intermediate", new URL(node.url).host], {
    stdout: "pipe",
    stderr: "ignore",
  });
  const report = await new Response(scan.stdout).text();
  const compliance = report.slice(report.indexOf("COMPLIANCE AGAINST"));
  expect(compliance).toContain("intermediate");
  expect(compliance.match(/^ +\* .*$/gm)?.map((line) => line.trim())).toEqual([
    "* certificate_path_validation: Certificate path validation failed for CN=node.",
  ]);
  const versions = [...report.matchAll(/\* (SSL|TLS) (\d\.\d) Cipher Suites:[^*]*?accepted the following/g)];
  expect(versions.map(([, name, version]) => `${name} ${version}`)).toEqual(["TLS 1.2", "TLS 1.3"]);
  expect(report.match(/^.*(?:VULNERABLE|WARNING|INSECURE).*$/gm) ?? []).toEqual([]);
  expect(report).toContain("Not vulnerable to Heartbleed");
}, 60_000);
