// SPDX-License-Identifier: GPL-2.0-or-later
//
// The shells' halves of completion: they hand the words to `weirctl __complete`, which knows the
// commands, and show what it answers.
#pragma once

#include <string_view>

namespace weir::cli {

// bash takes = and : for ends of words; the words are split at blanks here instead, and of each
// candidate only what follows the last of them is handed to it.
inline constexpr std::string_view kBashCompletion = R"script(# bash completion for weirctl
_weirctl() {
  local line=${COMP_LINE:0:COMP_POINT} word kept candidate
  local -a words
  read -r -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=${words[${#words[@]} - 1]}
  kept=''
  [[ $word == *[=:]* ]] && kept=${word%"${word##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == *__files__ ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
      done < <(compgen -f -- "${word##*=}")
    else
      COMPREPLY+=("${candidate#"$kept"}")
    fi
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _weirctl weirctl
)script";

inline constexpr std::string_view kZshCompletion = R"script(#compdef weirctl
# zsh completion for weirctl
_weirctl() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found:#}")
  if (( ${found[(I)*__files__]} )); then
    compset -P '*='
    _files
  elif (( ${#found} )); then
    compadd -- "${found[@]}"
  fi
}
if [[ ${funcstack[1]} == _weirctl ]]; then
  _weirctl "$@"
else
  compdef _weirctl weirctl
fi
)script";

}  // namespace weir::cli
