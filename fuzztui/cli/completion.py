"""``fuzztui completion``: print the function by which a shell completes fuzztui's commands."""

from __future__ import annotations

import argparse
from typing import Final

from fuzztui.cli.output import DONE

COMMAND: Final = "complete-words"
"""What the functions call: ``completing.py``."""

INSTALLING: Final = """\
bash, with the package bash-completion:
  mkdir -p ~/.local/share/bash-completion/completions
  fuzztui completion bash > ~/.local/share/bash-completion/completions/fuzztui
bash, without it, in ~/.bashrc:
  source <(fuzztui completion bash)
zsh, in ~/.zshrc, after compinit:
  source <(fuzztui completion zsh)
fish:
  mkdir -p ~/.config/fish/completions
  fuzztui completion fish > ~/.config/fish/completions/fuzztui.fish
Then start a new shell."""
"""Where the scripts are put."""

_BASH: Final = """\
# Completion of fuzztui for bash.
@INSTALLING@
_fuzztui() {
    local flags reply
    COMPREPLY=()
    mapfile -t reply < <(
        "${COMP_WORDS[0]}" @COMMAND@ bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null
    )
    flags=${reply[0]}
    COMPREPLY=("${reply[@]:1}")
    if [[ $flags == *nospace* ]]; then compopt -o nospace; fi
    # Without a word readline completes names of files.
    if [[ $flags == *files* ]]; then compopt -o default; fi
} 2>/dev/null
complete -o nosort -F _fuzztui fuzztui
"""

_ZSH: Final = """\
#compdef fuzztui
# Completion of fuzztui for zsh.
@INSTALLING@
_fuzztui() {
    local -a reply values shown
    local line flags
    reply=("${(@f)$("${(Q)words[1]}" @COMMAND@ zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    flags=${reply[1]}
    for line in "${(@)reply[2,-1]}"; do
        [[ -n $line ]] || continue
        values+=("${line%%$'\\t'*}")
        shown+=("${${line/$'\\t'/  }%  }")
    done
    if (( $#values )); then
        if [[ $flags == *nospace* ]]; then
            compadd -S '' -l -d shown -a values
        else
            compadd -l -d shown -a values
        fi
    fi
    if [[ $flags == *files* ]]; then _files; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _fuzztui "$@"
else
    compdef _fuzztui fuzztui
fi
"""

_FISH: Final = """\
# Completion of fuzztui for fish.
@INSTALLING@
function __fuzztui_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l reply ($before[1] @COMMAND@ fish $before[2..-1] "$current" 2>/dev/null)
    printf '%s\\n' $reply[2..-1]
    if string match -q '*files*' -- "$reply[1]"
        __fish_complete_path "$current"
    end
end
complete -c fuzztui -f -a '(__fuzztui_complete)'
"""

_INSTALLING_COMMENT: Final = "\n".join(f"# {line}" for line in INSTALLING.splitlines())

SCRIPTS: Final = {
    shell: text.replace("@COMMAND@", COMMAND).replace("@INSTALLING@", _INSTALLING_COMMENT)
    for shell, text in (("bash", _BASH), ("zsh", _ZSH), ("fish", _FISH))
}


def completion(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    print(SCRIPTS[options.shell], end="")
    return DONE
