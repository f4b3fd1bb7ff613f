/** What is asked before a method is called that changes or ends something; by a part of its name. */
const warnings: ReadonlyArray<readonly [RegExp, string]> = [
  [/self_update/, "It replaces the server's binary and restarts the server."],
  [/exec_sql/, "It runs SQL on the server's own database. What it changes cannot be taken back."],
  [/edit_config/, "It replaces the whole configuration of the server."],
  [
    /_roll_/,
    "The old secret ends at once. The new one is shown in the answer, and only there. Of your own token it signs you out: for that, use the page Tokens.",
  ],
  [/change_password/, "The old password ends at once."],
  [/token_edit/, "The token may do only what is sent here, from the next call on."],
  [/delete|remove|drop|reset/, "What is deleted cannot be brought back."],
  [/upload|rename|_update/, "What stands there already is replaced."],
];

export function dangerOf(method: string): string | undefined {
  return warnings.find(([name]) => name.test(method))?.[1];
}
