import type { help as en } from "../en/help.ts";

export const help: typeof en = {
  title: "帮助与快捷键",
  palette: "前往",
  paletteHint: "页面、存储桶或操作",
  nothingFound: "没有匹配项。",
  openBucket: (name) => `存储桶 ${name}`,
  newToken: "新建令牌",
  newBucket: "新建存储桶",
  documentation: "版本 <version> 的文档（英文）：<file>",
  shortcuts: "键盘快捷键",
  keyPalette: "前往页面或存储桶，或执行操作",
  keySearch: "搜索或筛选本页",
  keyHelp: "显示此帮助",
  keyEscape: "关闭对话框；在编辑器中，再按 Tab 可离开编辑器",
  keyArrows: "在列表、菜单或表格中移动",
  keyRename: "重命名或移动选中的文件",
  keySave: "在编辑器中保存",
  keyRun: "执行语句、发送请求",
  pages: {
    overview: "显示服务器是否健康、正在做什么，以及最大的存储桶和最近的活动。",
    logs: "实时日志。筛选条件的写法同 RUST_LOG：info，或 debug,db=trace。向上滚动可暂停列表，点击日志可查看字段。",
    activity: "谁在何时从何处更改了什么，最新的在前。",
    buckets:
      "存储桶及其文件。将文件或文件夹拖到列表上即可上传。单击选择（按住 Ctrl 或 Shift 可多选），双击打开。将行拖到文件夹上即可移动，右键可显示全部操作。",
    sql: "在服务器自己的数据库上执行语句。选中一部分则只执行该部分。SQL 权限意味着完全信任。",
    config: "配置文件。服务器会在你输入时检查，保存后立即应用。",
    tokens:
      "令牌由密钥 ID、密钥和授权规则组成，每条规则在指定的作用域内授予权限。密钥只显示一次。每行的菜单可查看令牌可以做什么，以及由哪条授权规则授予。",
    update: "安装其他版本。服务器会先校验并试运行，再重启。如果新版本无法启动，会自动回滚。",
    docs: "此版本服务器的文档（英文）。",
    api: "JSON-RPC 接口的所有方法：表单、请求、响应，以及等效的 curl 命令。",
  },
};
