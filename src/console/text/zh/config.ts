import { numberIn } from "../counted.ts";
import type { config as en } from "../en/config.ts";

export const config: typeof en = {
  check: "检查",
  refused: "未保存：内容有错误。请修正后再保存。",
  checking: "正在检查…",
  nothingWrong: "未发现问题。",
  position: (line: number, column: number) => `（第 ${line} 行，第 ${column} 列）`,
  goTo: (line: number, column: number) => `转到第 ${line} 行，第 ${column} 列`,
  unsaved: "对配置的更改",
  nothingToSave: "无需保存：文件内容没有变化。",
  discardQuestion: "放弃你的更改？",
  discardText: "编辑器将重新加载文件。",
  unsavedBadge: "有未保存的更改",
  saveDots: "保存…",
  whereHint: "只有配置文件位于服务器的工作目录时，控制台才会显示。",
  configuration: "配置",
  showPasswords: "显示密码",
  keysHint: "Ctrl+S 保存 · 按 Esc 再按 Tab 离开编辑器 · 草稿保留到退出登录或关闭标签页",
  keyHelp: "配置项说明",
  keyHelpHint: "将光标放在某个配置项上可查看说明。按 Ctrl+Space 列出可用的配置项和值。",
  defaultIs: (value: string) => `默认值 ${value}`,
  required: "必填",
  isDefault: "默认值",
  savedApplied: (keys: string) => `已保存并生效：${keys}。`,
  savedUnchanged: "已保存。生效的设置没有变化。",
  warns: (warning: string) => `警告：${warning}。`,
  savedRefused: (message: string) => `已保存，但未生效：${message}。请修正后再次保存，否则下次启动可能失败。`,
  savedUnheard: "已保存，但服务器没有返回是否已应用。请查看其日志。",
  savedGone: "已保存。服务器已改用其他地址，此控制台无法再连接。<where>",
  seeLog: "新地址见其日志。",
  shouldBeAt: "新地址应为 <link>。",
  conflictTitle: "他人修改了此文件",
  conflictText: "你开始编辑后，文件发生了以下更改：",
  keepEditing: "继续编辑",
  useTheirs: "放弃我的更改，使用他人的",
  keepMine: "保留我的更改",
  saveQuestion: "保存这些更改？",
  saveText: "服务器会检查内容，写入文件并立即应用。",
  saveAndApply: "保存并应用",
  changes: "更改",
  added: "新增：",
  removed: "删除：",
  countWarnings: (n) => `${numberIn("zh", n)} 条警告`,
  countUnchanged: (n) => `${numberIn("zh", n)} 行未修改`,
  descriptions: {
    ws_listener: "HTTP 和 WebSocket 的监听地址。端口 0 表示任意空闲端口。",
    server_uuid:
      "`node-server_uuid` 返回的标识。`auto_gen` 会在首次启动时生成一个，并保存在本文件旁边的文件中。",
    trusted_proxies:
      '可信的反向代理，由它们告知客户端地址：可填地址或网段，`"unix"` 表示 Unix 套接字的客户端。不设置时，以连接的地址为准。',
    proxy_header:
      "可信代理用来告知客户端地址的请求头：`x-forwarded-for` 或 `forwarded`（RFC 7239）。不读取其他请求头，因为它们可能来自客户端。",
    jsonrpc_max_connections: "处理中的 JSON-RPC 请求与打开的 WebSocket 的总数上限；超出时返回 429。",
    max_request_body_size:
      "JSON-RPC 请求或 WebSocket 消息的最大大小，至少 64 KiB。内存较少时上限可能更低：`client_memory_bytes` 的一半由 `jsonrpc_max_connections` 个连接分摊。",
    max_response_body_size: "JSON-RPC 响应的最大大小。",
    client_memory_bytes:
      "客户端可让服务器占用的内存：正在读取的请求、等待中的调用、尚未发出的响应。超出时返回 503，由客户端重试。0 表示进程可用内存（可能受 cgroup 限制）的四分之一。",
    max_upload_size: "WebDAV 上传的最大大小；0 表示不限制。",
    enable_unix_socket: "同时在 Unix 套接字上提供服务。",
    unix_socket_path: "该套接字的路径；默认为数据库旁边的 `node.sock`。",
    unix_socket_group:
      "其成员可以连接该套接字的用户组，可填名称或编号；不设置时，只有服务器的用户和 root 可以连接。运行服务器的用户必须属于该组。",
    link_key_file:
      "保存签名链接密钥中不在数据库里的那一部分的文件；不存在时会自动创建。默认是本文件旁边的 `config.link-key`。集群的所有节点必须使用内容相同的文件。",
    http_listener:
      "明文 http 的地址，把所有请求重定向（308）到 https，并应答证书颁发机构；`ws_listener` 必须启用 TLS。默认：`[tls]` 中设置了 `auto` 且没有 `dns_hook` 时为 `ws_listener` 的地址上的 80 端口，否则没有。",
    "tls.auto":
      "为 `server_name`、`[s3]` 的主机名和所有已启用存储桶的主机名申请证书并续期。启用即表示您接受证书颁发机构的条款。",
    "tls.email": "证书颁发机构账户的邮箱地址，该机构可能会发送邮件。",
    "tls.directory":
      "证书颁发机构的 ACME 目录。若想不受其限额影响地试用，请使用 `https://acme-staging-v02.api.letsencrypt.org/directory`。",
    "tls.ca": "签发 `directory` 自身证书的证书（PEM），用于私有证书颁发机构。默认：系统信任的证书。",
    "tls.eab_kid": "外部账户绑定的 ID，用于需要它的证书颁发机构。",
    "tls.eab_hmac_key": "外部账户绑定的密钥（base64url）。",
    "tls.dns_hook":
      "在无法访问 80 端口时，通过 DNS 证明域名（dns-01）的程序。调用参数为 `add` 或 `remove`、TXT 记录的名称及其值；DNS 能以该值应答后程序才应结束。",
    "tls.secret":
      "用此密钥把私钥加密保存在数据库中，使所有节点都能使用。PostgreSQL 必须设置，且所有节点的值相同。默认：SQLite 文件旁 `certificates` 中模式为 0600 的文件。",
    "tls.hsts_days":
      "浏览器在多少天内对服务器自己的名称只使用 https（`Strict-Transport-Security`）；0 表示在再次访问的浏览器中取消。存储桶在 `_headers` 中为自己的主机名设置。默认：不发送。",
    "tls.server_name":
      "服务器自己的主机名。设置后，控制台和 JSON-RPC 只在此名称、`node_url` 中的名称和 IP 地址上应答，https 不应答未知名称。默认：在所有不属于存储桶的名称上应答。",
    tls_cert: "PEM 证书链；与 `tls_key` 一起设置后，监听地址提供 https 和 wss。",
    tls_key: "`tls_cert` 的 PEM 私钥。",
    static_path: "存放所有存储桶文件夹的文件夹。",
    sync_uploads: "每次上传先同步到磁盘再应答；设为 false 则交给操作系统处理。",
    keep_removed_days:
      "已删除和被替换的文件在多少天内可以恢复；0 表示不保留。默认值：设置了 `[files] url` 时为 7，否则为 0。已在回收站中的普通文件仍按原定天数保留。设置了 `[files] url` 时，单独的数据库备份也可在同样的天数内恢复，因为其文件的内容仍然存在。",
    keep_deploys: "每个存储桶保留多少个已发布的部署（包括当前的）；可以回滚到其中任意一个。",
    static_cache_bytes: "用于缓存经常被请求的小文件的内存。",
    node_name: "本节点在节点列表中的名称；默认为机器名。",
    node_url:
      "操作人员和其他节点直接访问本节点（而非负载均衡器）的地址；默认为 `ws_listener` 的地址，除非它表示所有地址（`0.0.0.0`）。",
    drain_seconds:
      "服务器在停止或重启之前继续服务多久；其间 `/node/ready` 返回 503，使负载均衡器不再发送请求。应长于均衡器察觉所需的时间；再发一次信号可立即结束。",
    backup_dir:
      "服务器自动备份的文件夹；默认为 SQLite 文件旁边的 `backup`，使用 PostgreSQL 时位于本文件旁边。",
    backup_every: "自动备份的间隔，例如 `24h`、`12h` 或 `7d`；不设置则不备份，但迁移之前仍会备份。",
    backup_keep: "保留多少个自动备份；新备份完成后删除更早的。",
    backup_files: "自动备份中也包含所有存储桶的文件。",
    backup_before_migration: "更新要更改数据库结构时先备份数据库；备份失败则拒绝启动。",
    console:
      "在 `/node/console/` 提供网页控制台，存储桶的主机名除外。启用时，HTTP 根目录的顶层文件夹不能含有 service worker；使用自己主机名的站点可以。",
    release_url: "自动更新的发布地址；不设置则关闭自动更新。",
    release_public_key: "minisign 公钥：设置后，更新必须带有有效签名。",
    "logging.log_filter":
      "终端显示哪些日志，语法与 `RUST_LOG` 相同；默认为 `info`。环境变量 `RUST_LOG` 优先于它。",
    "logging.log_format": "标准错误输出中日志的格式：`text` 供人阅读；`json` 每行一个对象，适用于容器。",
    "logging.json_log_file": "同时把每条日志追加到此文件，每行一个 JSON 对象。",
    "logging.json_log_filter": "写入该文件的日志；默认与 `log_filter` 相同。",
    "logging.memory_log_capacity": "内存中为 `node-server_log` 保留的日志条数；0 表示关闭。",
    "logging.memory_log_filter": "保留在内存中的日志；默认与 `log_filter` 相同。",
    "logging.keep_audit_days": "数据库保留审计记录（谁改动了什么）的天数；最多 100,000 条和 64 MiB。",
    "logging.access_log": "把每个 HTTP 请求作为一行写入此文件；不设置则没有访问日志。",
    "logging.access_log_format":
      "访问日志的格式：`combined` 为 Web 服务器的常用格式，行末附请求的耗时和编号；`vhost_combined` 相同，但行首为主机名和端口；或 `json`，含主机名和存储桶。",
    "database.database_url": "`sqlite://path?mode=rwc` 或 `postgres://user:password@host:port/name`。",
    "database.timeout_ms":
      "PostgreSQL 接受连接和应答服务器自身语句的最长时间，也是语句等待空闲连接的最长时间；超时后调用以 103 和 `unavailable` 失败，HTTP 返回 503。",
    "database.stale_seconds":
      "数据库不可用时，普通 HTTP 继续提供已知存储桶多少秒；0 表示不提供。令牌始终从数据库读取。",
    "database.max_connections": "PostgreSQL 连接的最大数量。",
    "database.sql_timeout_ms": "`node-server_exec_sql` 的语句最多运行多久；0 表示不限制。",
    "files.url":
      "文件内容的存放位置：`file:///absolute/folder` 或 `s3://bucket/prefix`，文件名存放在数据库中。不设置时，文件是 `static_path` 下的普通文件。如何选择见 [storage.md](storage.md)；`node-server migrate --files` 可在两者之间移动文件。",
    "files.endpoint":
      "S3 兼容存储的地址；默认为 Amazon 在 `region` 的地址。未设置时使用环境变量 `AWS_ENDPOINT_URL`。",
    "files.region": "S3 存储桶所在的区域；默认为 `us-east-1`。未设置时使用环境变量 `AWS_REGION`。",
    "files.access_key_id": "S3 的访问密钥。未设置时使用环境变量 `AWS_ACCESS_KEY_ID`。",
    "files.secret_access_key": "访问密钥对应的私密密钥。未设置时使用环境变量 `AWS_SECRET_ACCESS_KEY`。",
    "files.path_style":
      "在路径中指定 S3 存储桶（`https://host/bucket/…`），所有存储都支持；设为 false 则在主机名中指定（`https://bucket.host/…`），部分存储要求这样。",
    "files.cache_path":
      "存放从 S3 读取的内容副本的文件夹；默认为 SQLite 文件旁边的 `blob-cache`，使用 PostgreSQL 时为本文件旁边的 `data/blob-cache`。",
    "files.cache_bytes": "该文件夹的最大大小；最久未读取的内容先被删除。0 表示关闭。",
    "s3.listener":
      "S3 客户端专用的监听地址，例如 `127.0.0.1:2213`，使用 `ws_listener` 的证书。`listener` 和 `host` 都不设置时，服务器不提供 S3 接口。",
    "s3.host":
      "所有监听地址在此主机名上为 S3 客户端提供服务；存储桶可写在路径中（`https://s3.example.com/bucket/key`），也可写在主机名中（`https://bucket.s3.example.com/key`）。",
    "s3.anonymous": "未签名的请求能否像普通 HTTP 一样通过 S3 读取公开存储桶的文件。不能列出文件。",
    "hooks.url": "以 POST 发送事件的地址。只发送到此地址，不跟随重定向；可以是内网地址。",
    "hooks.secret":
      "用于按 [Standard Webhooks](https://www.standardwebhooks.com/) 对每个请求签名的密钥。以 `whsec_` 开头时，其余部分为 base64 编码的密钥。",
    "hooks.events":
      "发送哪些事件：`file.created`、`file.changed`、`file.moved`、`file.deleted`、`deploy.published`、`verdict.changed`、一类事件（如 `file.*`）或全部。",
    "hooks.buckets": "发送哪些存储桶的事件；默认为全部。",
    "files.request_timeout_ms": "S3 完成请求的每一步（例如开始应答或发送后续字节）的最长时间。",
  },
  types: {
    address: "地址",
    boolean: "布尔值",
    bytes: "字节",
    days: "天",
    filter: "筛选条件",
    interval: "时间间隔",
    list: "列表",
    ms: "毫秒",
    number: "数字",
    path: "路径",
    seconds: "秒",
    text: "文本",
    URL: "URL",
    UUID: "UUID",
  },
};
