import { exitCodes } from "../command.ts";
import { print } from "../terminal/output.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Each asks the program itself what may stand there, so that it never grows old. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `# node-server, completion for bash. In ~/.bashrc: source <(node-server completion bash)
_node_server() {
  local word IFS=$'\\n'
  COMPREPLY=()
  # Bash takes a = for a word of its own; file names stand behind it.
  [[ \${COMP_WORDS[COMP_CWORD]} == = || \${COMP_WORDS[COMP_CWORD-1]} == = ]] && return
  for word in $("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    COMPREPLY+=("\${word%%$'\\t'*}")
  done
  [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}
complete -o default -F _node_server node-server
`,
  zsh: `#compdef node-server
# node-server, completion for zsh. In ~/.zshrc, behind compinit: source <(node-server completion zsh)
_node_server() {
  local line
  local -a plain open
  for line in "\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    local word=\${line%%$'\\t'*} meaning=\${line#*$'\\t'}
    if [[ $word == *= ]]; then open+=("$word"); else plain+=("\${word//:/\\\\:}:$meaning"); fi
  done
  (( \${#open} )) && compadd -S '' -- "\${open[@]}"
  if (( \${#plain} )); then _describe 'node-server' plain; elif (( ! \${#open} )); then _files; fi
}
compdef _node_server node-server
`,
  fish: `# node-server, completion for fish. In a shell: node-server completion fish > ~/.config/fish/completions/node-server.fish
function __node_server_complete
    set -l typed (commandline -opc) (commandline -ct)
    set -l program $typed[1]
    set -e typed[1]
    $program complete -- $typed 2>/dev/null
end
complete -c node-server -a '(__node_server_complete)'
`,
};

export async function completion(shell: Shell): Promise<number> {
  await print(scripts[shell]);
  return exitCodes.done;
}
