# Runs one control inside a task's container: remove old reports, run the test command, leave what it says.
# Read by the image's sh, whichever that is: POSIX builtins, and rm and find of any kind.
#
# usage: sh HERE/control.sh HERE WORKDIR COMMAND [ARGUMENT...]
#   HERE/in/delete     files that a patch deletes, one a line
#   HERE/in/junit      glob patterns of report files, one a line, relative to the working directory
#   HERE/in/test_cmd   the command as a text, where COMMAND is "-"
#   HERE/in/watch      there where the engine tells of no memory kill, so that a run whose time is out must have told
#   HERE/out/begun     written first; reports that are older are not this run's
#   HERE/out/exit      the command's exit status, written when it has ended; "-" until then
#   HERE/out/disk      what was free at the end, in blocks and in files, where the image has a df
#   HERE/out/memory    the kernel's count of memory kills, at the end, and each second before where `watch` is there
#   HERE/out/changed   there where record or report were written to when pytest had ended
#   HERE/out/reports   the report files that this run wrote, one a line, and a line with a slash at its end
#
# All of it is functions, so that sh has read it before the first test runs: a test may write over this file.
# It ends with 0 whatever the command's status is: any other end is somebody else's doing.

fits() { # does a file's name fit a pattern, each `**/` of it standing for any folders or none?
    case $2 in
        *'**/'*) fits "$1" "${2%%'**/'*}*/${2#*'**/'}" || fits "$1" "${2%%'**/'*}${2#*'**/'}" ;;
        *) case $1 in $2) true ;; *) false ;; esac ;;
    esac
}

stays() { # is a file older than the run, and one of the old ones where these are known?
    [ "$here/out/begun" -nt "$1" ] && case $old in
        "" | *"
$1
"*) true ;;
        *) false ;;
    esac
}

matches() { # every file that one of the patterns on stdin names (the client looks closer)
    # `**` stands for folders at any depth: a repo's own fixtures may look like reports, so what was there and is old
    # does not count there. It is listed instead with an argument.
    IFS=
    while read -r pattern; do
        case $pattern in
            *'**'*)
                above=${pattern%%'**'*}
                for folder in ${above:-.}; do
                    find "$folder" ! -type d -name "${pattern##*/}" 2>/dev/null
                done | while read -r file; do
                    fits "${file#./}" "${pattern#./}" || continue
                    if stays "$file"; then [ $# -gt 0 ]; else [ $# -eq 0 ]; fi && printf '%s\n' "$file"
                done
                ;;
            *)
                for file in $pattern; do
                    if [ -f "$file" ] || [ -L "$file" ]; then printf '%s\n' "$file"; fi
                done
                ;;
        esac
    done
}

delete() { # the files that a patch deletes
    while IFS= read -r file; do
        rm -f -- "$file"
        if [ -e "$file" ] || [ -L "$file" ]; then
            echo "repair: cannot delete $file, which a patch deletes" >&2
            exit 98
        fi
        folder=${file%/*}
        while rmdir "$folder" 2>/dev/null; do folder=${folder%/*}; done # as git does with folders left empty
    done < "$here/in/delete"
}

free() { # ends with a line of its own, since a longer text may have stood there before
    df -Pk / /tmp .
    df -Pi / /tmp .
    echo end
}

plain() { # have plain files of these names, or none: a test may have made links or pipes of them
    for name in "$@"; do
        if [ -L "$here/out/$name" ] || [ ! -f "$here/out/$name" ]; then rm -rf "$here/out/$name"; fi
    done
}

written() { # what record and report are now
    cksum "$here"/out/record-* "$here/out/report.xml" 2>/dev/null
}

end_what_is_left() { # whatever the command has started and left running has no say in what is read now
    # Only as the child of the container's init, where nobody else's processes are, and only with sh's own `kill`,
    # which spares this shell.
    case $PPID:$here:$kill in
        1:/.repair-*:kill) kill -0 -1 2>/dev/null || return ;;
        *) return ;;
    esac
    before=$(written)
    # What makes a log or a report of a pipe (`> >(tee log)`) may read it to its end: a second at most, in which what
    # is ours lies where nothing looks for it.
    mv "$here/out" "$here/kept" 2>/dev/null && mkdir "$here/out" 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 -1 2>/dev/null || break
        sleep 0.1 2>/dev/null || { sleep 1 && break; }
    done
    kill -9 -1 2>/dev/null
    if [ -d "$here/kept" ]; then rm -rf "$here/out" && mv "$here/kept" "$here/out"; fi
    if [ "$(written)" != "$before" ]; then echo changed > "$here/out/changed"; fi
}

run() { # the test command
    if [ "$1" = - ]; then
        shift
        if bash -c : 2>/dev/null; then
            bash "$here/in/test_cmd" "$@"
        else
            sh "$here/in/test_cmd" "$@"
        fi
    else
        command -- "$@" # and none of the functions here
    fi
}

count() { # the kernel's memory kills here, by cgroup 2 or 1
    cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 1<> "$here/out/memory" 2>/dev/null
}

main() {
    here=$1
    cd -- "$2" || exit 97
    shift 2
    : > "$here/out/begun" || exit 97
    # Written now, and later in place: where the tests fill the disk there is room for nothing new.
    free > "$here/out/disk" 2>/dev/null
    printf '%-7s\n' - > "$here/out/exit"
    : > "$here/out/reports"
    : > "$here/out/memory"
    kill=$(command -v kill)
    delete
    # Shells that compare whole seconds could not tell what a patch wrote just now from what this run will write.
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        if [ "$here/out/begun" -nt "$here/in/junit" ]; then break; fi
        sleep 0.1 2>/dev/null || { sleep 1 && : > "$here/out/begun" && break; }
        : > "$here/out/begun"
    done
    patterns=
    while IFS= read -r line; do
        patterns="$patterns$line
"
    done < "$here/in/junit"
    old=
    printf %s "$patterns" | (matches) | while IFS= read -r file; do rm -f -- "$file"; done
    old="
$(printf %s "$patterns" | (matches old))
"
    rm -rf /tmp/repair-junit /tmp/repair-junit-*.xml # where our own options have reports written
    if [ -d "$here/plugin" ]; then
        PYTHONPATH=$here/plugin${PYTHONPATH:+:$PYTHONPATH}
        export PYTHONPATH
    fi
    watcher=
    if [ -f "$here/in/watch" ]; then
        while sleep 1; do count; done 2>/dev/null &
        watcher=$!
    fi
    run "$@"
    status=$?
    if [ -n "$watcher" ]; then { kill "$watcher" && wait "$watcher"; } 2>/dev/null; fi
    end_what_is_left
    plain reports memory disk exit
    # in one go with a mark at its end, so that a full disk leaves no half of it
    found=$(printf %s "$patterns" | (matches))
    printf '%s\n/\n' "$found" > "$here/out/reports"
    count # the engine's own word may come too late
    free 1<> "$here/out/disk" 2>/dev/null
    printf '%-7s\n' "$status" 1<> "$here/out/exit"
    exit 0
}

main "$@"
