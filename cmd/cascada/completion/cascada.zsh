#compdef cascada
# Completion of cascada for zsh: save it as _cascada in a directory of $fpath.
_cascada() {
    local -a described
    local line word about
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        about=${line#*$'\t'}
        described+=("${word//:/\\:}${about:+:$about}")
    done < <("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#described )); then
        _describe -t words word described
    else
        _files
    fi
}
if [[ $funcstack[1] == _cascada ]]; then
    _cascada "$@"
else
    compdef _cascada cascada
fi
