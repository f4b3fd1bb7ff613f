import type { editor as en } from "../en/editor.ts";

export const editor: typeof en = {
  leave: "按 Escape 再按 Tab 可离开编辑器",
  phrases: {
    Find: "查找",
    Replace: "替换为",
    next: "下一个",
    previous: "上一个",
    all: "全选",
    "match case": "区分大小写",
    regexp: "正则表达式",
    "by word": "全词匹配",
    replace: "替换",
    "replace all": "全部替换",
    close: "关闭",
    "Go to line": "转到行",
    go: "转到",
    "current match": "当前匹配",
    "on line": "所在行",
    "replaced match on line $": "已替换第 $ 行的匹配",
    "replaced $ matches": "已替换 $ 处匹配",
    Completions: "建议",
    "Control character": "控制字符",
    "Selection deleted": "已删除所选内容",
  },
};
