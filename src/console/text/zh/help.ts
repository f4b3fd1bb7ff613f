import type { help as en } from "../en/help.ts";

export const help: typeof en = {
  title: "帮助与快捷键",
  palette: "前往",
  paletteHint: "页面、存储桶或操作",
  nothingFound: "没有匹配的项目。",
  openBucket: (name) => `存储桶 ${name}`,
  newToken: "新建令牌",
  newBucket: "新建存储桶",
  documentation: "版本 <version> 的文档（英文）：<file>",
  shortcuts: "键盘快捷键",
  keyPalette: "前往页面或存储桶，或执行操作",
  keySearch: "搜索或筛选本页",
  keyHelp: "显示此帮助",
  keyEscape: "关闭对话框；在编辑器中，再按 Tab 可离开",
  keyArrows: "在列表、菜单或表格中移动",
  keyRename: "重命名或移动选中的文件",
  keySave: "在编辑器中保存",
  keyRun: "执行语句、发送请求",
  pages: {
    overview: "服务器是否健康、原因何在、正在做什么，以及最大的存储桶和最近的活动。",
    logs: "实时日志。过滤条件与服务器一致，写法同 RUST_LOG：info，或 debug,db=trace。向上滚动会暂停列表；点击日志可查看字段。",
    activity: "谁在何时从何处更改了什么，最新的在前。",
    buckets:
      "存储桶及其文件。将文件或文件夹拖到列表上即可上传。单击选择，双击打开；Ctrl 和 Shift 可多选。将行拖到文件夹上即可移动；右键显示全部操作。",
    sql: "在服务器自己的数据库上执行语句。选中的文本会单独执行。SQL 权限意味着完全信任。",
    config: "配置文件。输入时服务器会检查，保存后立即应用。",
    tokens:
      "令牌由密钥 ID 和密钥组成，并带有限制：每项权限都有范围。密钥只显示一次。行菜单会说明令牌可以做什么，以及由哪条限制决定。",
    update: "安装其他版本。服务器会先校验并试运行，再重启；如果无法启动，会自动回滚。",
    docs: "此版本服务器的文档（英文）。",
    api: "JSON-RPC 接口的所有方法：表单、请求、响应，以及等效的 curl 命令。",
  },
};
