import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Setup is what a peer's configuration is made of. */
export interface Setup {
  /** For its configuration and temporary files. */
  readonly folder: string;
  /** The folder that it serves; `dav/` in it is for WebDAV, with the password of the user. */
  readonly root: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** If set, it speaks https. */
  readonly tls?: CertificateFiles | undefined;
}

/** CertificateFiles are a certificate and its key, both PEM. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** The user and group "nobody". */
export const unprivileged = 65534;

export const apacheModules = "/usr/lib/apache2/modules";

export function rclone(folder: string, kind: string, port: number): string[] {
  return ["rclone", "serve", kind, "--config", join(folder, "none.conf"), "--addr", `127.0.0.1:${port}`];
}

export async function caddy({ folder, root, port, tls }: Setup): Promise<string[]> {
  const config = join(folder, "Caddyfile");
  await writeFile(
    config,
    `{\n  admin off\n  auto_https off\n}\n${tls === undefined ? "http" : "https"}://127.0.0.1:${port} {\n  bind 127.0.0.1\n${tls === undefined ? "" : `  tls ${tls.cert} ${tls.key}\n`}  root * ${root}\n  file_server\n}\n`,
  );
  // It keeps a copy of its configuration in the user's folder otherwise.
  const home = ["env", `XDG_CONFIG_HOME=${folder}`, `XDG_DATA_HOME=${folder}`];
  return [...home, "caddy", "run", "--adapter", "caddyfile", "--config", config];
}

export async function nginx(
  { folder, root, port, user, password, tls }: Setup,
  cache: string,
): Promise<string[]> {
  const [config, users] = [join(folder, "nginx.conf"), join(folder, "users")];
  await writeFile(users, `${user}:{PLAIN}${password}\n`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ");
  const ssl = tls === undefined ? "" : ` ssl; ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key}`;
  await writeFile(
    config,
    `worker_processes 1; daemon off; master_process off; error_log /dev/null; pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; etag on; ${cache} ${temporary}
  server { listen 127.0.0.1:${port}${ssl}; root ${root};
    location /dav/ { dav_methods PUT DELETE MKCOL COPY MOVE; auth_basic bench; auth_basic_user_file ${users}; } } }
`,
  );
  return ["nginx", "-p", folder, "-c", config];
}

export async function apache({ folder, root, port, user, password }: Setup): Promise<string[]> {
  const [config, users] = [join(folder, "apache.conf"), join(folder, "users")];
  const hash = new Bun.CryptoHasher("sha1").update(password).digest("base64");
  await writeFile(users, `${user}:{SHA}${hash}\n`);
  const modules = "mpm_event authn_core authn_file authz_core authz_user auth_basic dav dav_fs"
    .split(" ")
    .map((name) => `LoadModule ${name}_module ${apacheModules}/mod_${name}.so`);
  await writeFile(
    config,
    `${modules.join("\n")}
ServerRoot ${folder}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
ErrorLog /dev/null
User #${unprivileged}
Group #${unprivileged}
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 60
EnableSendfile On
DocumentRoot ${root}
DAVLockDB ${folder}/locks
<Directory ${root}>
  Require all granted
</Directory>
<Location /dav/>
  DAV On
  AuthType Basic
  AuthName bench
  AuthUserFile ${users}
  Require valid-user
</Location>
`,
  );
  return ["apache2", "-f", config, "-DFOREGROUND"];
}

export async function lighttpd({ folder, root, port, user, password }: Setup): Promise<string[]> {
  const [config, users] = [join(folder, "lighttpd.conf"), join(folder, "users")];
  await writeFile(users, `${user}:${password}\n`);
  await writeFile(
    config,
    `server.modules = ("mod_auth", "mod_authn_file", "mod_webdav")
server.bind = "127.0.0.1"
server.port = ${port}
server.document-root = "${root}"
server.errorlog = "/dev/null"
server.upload-dirs = ("${folder}")
server.max-keep-alive-requests = 1000000000
server.max-keep-alive-idle = 60
mimetype.assign = (".txt" => "text/plain", "" => "application/octet-stream")
$HTTP["url"] =~ "^/dav/" {
  webdav.activate = "enable"
  auth.backend = "plain"
  auth.backend.plain.userfile = "${users}"
  auth.require = ("" => ("method" => "basic", "realm" => "bench", "require" => "valid-user"))
}
`,
  );
  return ["lighttpd", "-D", "-f", config];
}
