// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "cli/cli.h"
#include <errno.h>

/* The scripts only pass the words on: what they may become is decided by `muster __complete`, so
 * the three shells cannot disagree. Each answer is "word<TAB>meaning"; ":files" and ":dirs" ask
 * the shell for its own. */

/* The line is split by hand because bash breaks words at '=' and ':'. */
static const char BASH[] =
    "# bash completion of muster; load it with: source <(muster completion bash)\n"
    "_muster() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words current answer word\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=(\"\")\n"
    "    current=${words[-1]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r answer; do\n"
    "        word=${answer%%$'\\t'*}\n"
    "        case $word in\n"
    "        :files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f "
    "-- \"${current##*=}\") ;;\n"
    "        :dirs) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d "
    "-- \"${current##*=}\") ;;\n"
    "        *) [[ $current == *=* ]] && word=${word#\"${current%=*}=\"}\n"
    "           [[ $word == *= || $word == */ ]] && compopt -o nospace\n"
    "           COMPREPLY+=(\"$word\") ;;\n"
    "        esac\n"
    "    done < <(\"${words[0]}\" __complete \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _muster muster\n";

static const char ZSH[] =
    "#compdef muster\n"
    "# zsh completion of muster; put it into a folder of $fpath as _muster\n"
    "_muster() {\n"
    "    local answer word\n"
    "    local -a plain open\n"
    "    for answer in \"${(@f)$(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)}\"; do\n"
    "        word=${answer%%$'\\t'*}\n"
    "        case $word in\n"
    "        '') ;;\n"
    "        :files) _files ;;\n"
    "        :dirs) _files -/ ;;\n"
    "        *=|*/) open+=(\"${word//:/\\\\:}:${answer#*$'\\t'}\") ;;\n"
    "        *) plain+=(\"${word//:/\\\\:}:${answer#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( ${#plain} )) && _describe -t muster muster plain\n"
    "    (( ${#open} )) && _describe -t muster muster open -S ''\n"
    "}\n"
    "compdef _muster muster\n"
    "[[ $funcstack[1] == _muster ]] && _muster \"$@\"\n";

static const char FISH[] = "# fish completion of muster\n"
                           "function __muster_complete\n"
                           "    set -l words (commandline -opc) (commandline -ct)\n"
                           "    for answer in ($words[1] __complete $words[2..-1] 2>/dev/null)\n"
                           "        switch $answer\n"
                           "            case ':files*'\n"
                           "                __fish_complete_path (commandline -ct)\n"
                           "            case ':dirs*'\n"
                           "                __fish_complete_directories (commandline -ct)\n"
                           "            case '*'\n"
                           "                echo $answer\n"
                           "        end\n"
                           "    end\n"
                           "end\n"
                           "complete -c muster -f -a '(__muster_complete)'\n";

int verb_completion(struct cli *cli, int argc, char **argv)
{
    static const char *const SHELLS[] = {"bash", "zsh", "fish"};
    static const char *const SCRIPTS[] = {BASH, ZSH, FISH};
    (void)argc;
    for (size_t i = 0; i < ARRAY_LEN(SHELLS); i++) {
        if (str_eq(argv[0], SHELLS[i])) {
            fputs(SCRIPTS[i], cli->out);
            return CLI_OK;
        }
    }
    struct err err = {0};
    const char *nearest = str_nearest(argv[0], SHELLS, ARRAY_LEN(SHELLS));
    (void)err_set(&err, -EINVAL, "there is no completion for '%s'", argv[0]);
    (void)err_hint(&err, nearest ? "did you mean '%s'?" : "there is one for bash, zsh and fish",
                   nearest);
    return cli_error(cli, CLI_USAGE, &err);
}
