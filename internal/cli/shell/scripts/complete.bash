# Completion of {{program}} for bash: source this file, or save it as
# /usr/share/bash-completion/completions/{{program}}.
_{{program}}() {
    local line words=() i joined=""
    # bash splits words at = and :, but the program needs them whole.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == [=:] && ${#words[@]} -gt 0 ]]; then
            words[-1]+=${COMP_WORDS[i]}
            joined=yes
        elif [[ -n $joined ]]; then
            words[-1]+=${COMP_WORDS[i]}
            joined=""
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
    COMPREPLY=()
    while IFS=$'\t' read -r line _; do
        COMPREPLY+=("${line##*[=:]}")
    done < <("$1" completion words -- "${words[@]}" 2>/dev/null)
}
complete -o default -F _{{program}} {{program}}
