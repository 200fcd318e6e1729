# Completion of cascada for fish: save it as cascada.fish in
# /usr/share/fish/vendor_completions.d or ~/.config/fish/completions.
function __cascada_words
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion words -- $words[2..-1] 2>/dev/null
end
function __cascada_has_words
    test -n "$(__cascada_words)"
end
complete -c cascada -f -n __cascada_has_words -a '(__cascada_words)'
