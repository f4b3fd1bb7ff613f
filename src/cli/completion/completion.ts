import { command } from "../command.ts";

export const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** Scripts by shell. Each asks the program for the candidates, so that a script never becomes outdated. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# node-server, completion for bash. In ~/.bashrc: source <(node-server completion bash)
_node_server() {
  local word end
  local -a typed=()
  COMPREPLY=()
  # Bash takes a = for a word of its own; file names stand behind it.
  [[ \${COMP_WORDS[COMP_CWORD]} == = || \${COMP_WORDS[COMP_CWORD-1]} == = ]] && return
  # Words come as they were typed, with quotes.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    word=\${word#[\\"\\']}
    word=\${word%[\\"\\']}
    typed+=("\${word//\\\\/}")
  done
  # Names of files come from the server: each is quoted, or left out where the quotes that were typed cannot hold it.
  while IFS= read -r word; do
    word=\${word%%$'\\t'*}
    end=\${word: -1}
    case \${COMP_WORDS[COMP_CWORD]} in
      \\'*) [[ $word == *\\'* ]] && continue ;;
      \\"*) [[ $word == *[\\$\\\`\\"\\\\!]* ]] && continue ;;
      *) [[ $word == *[!A-Za-z0-9_./=,:@%+-]* ]] && printf -v word %q "$word" ;;
    esac
    COMPREPLY+=("$word")
  done < <("\${COMP_WORDS[0]/#\\~\\//$HOME/}" complete -- "\${typed[@]}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} == 1 && $end == [=/] ]] && compopt -o nospace
  return 0
}
complete -o default -F _node_server node-server
`,
  zsh: `#compdef node-server
# node-server, completion for zsh. In ~/.zshrc, behind compinit: source <(node-server completion zsh)
# Or, before compinit, as a file _node-server in a folder of fpath.
_node_server() {
  local line word meaning
  local -a plain open
  for line in "\${(@f)$("\${words[1]/#\\~\\//$HOME/}" complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    word=\${line%%$'\\t'*} meaning=\${line#*$'\\t'}
    if [[ $word == *[=/] ]]; then open+=("$word"); else plain+=("\${word//:/\\\\:}:$meaning"); fi
  done
  (( \${#open} )) && compadd -S '' -- "\${open[@]}"
  if (( \${#plain} )); then _describe 'node-server' plain; elif (( ! \${#open} )); then _files; fi
}
# A file of fpath is run by the first Tab, which wants an answer too.
if [[ \${funcstack[1]} == _node[-_]server ]]; then _node_server "$@"; else compdef _node_server node-server; fi
`,
  fish: `# node-server, completion for fish. In a shell: node-server completion fish > ~/.config/fish/completions/node-server.fish
function __node_server_complete
    set -l current (commandline -ct)
    set -l plain (string unescape -- $current)
    set -q plain[1]; or set plain $current
    set -l typed (commandline -opc) $plain
    set -l program (string replace -r '^~/' "$HOME/" -- $typed[1])
    set -e typed[1]
    set -l found ($program complete -- $typed 2>/dev/null)
    if set -q found[1]
        string join \\n -- $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c node-server -f -a '(__node_server_complete)'
`,
};

export const completion = command({
  name: "completion <shell>",
  summary: "print the completion script for a shell",
  choices: shells,
  // Commander has refused every other name.
  run: async ({ shell }) => ({ text: completionScripts[shell as Shell] }),
});
