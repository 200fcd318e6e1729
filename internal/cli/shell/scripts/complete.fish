# Completion of {{program}} for fish: save it as {{program}}.fish in
# /usr/share/fish/vendor_completions.d or ~/.config/fish/completions.
function __{{program}}_words
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion words -- $words[2..-1] 2>/dev/null
end
function __{{program}}_has_words
    test -n "$(__{{program}}_words)"
end
complete -c {{program}} -f -n __{{program}}_has_words -a '(__{{program}}_words)'
