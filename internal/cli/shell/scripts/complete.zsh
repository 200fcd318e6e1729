#compdef {{program}}
# Completion of {{program}} for zsh: save it as _{{program}} in a directory of $fpath.
_{{program}}() {
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
if [[ $funcstack[1] == _{{program}} ]]; then
    _{{program}} "$@"
else
    compdef _{{program}} {{program}}
fi
