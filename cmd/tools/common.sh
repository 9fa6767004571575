# SPDX-License-Identifier: MIT
# The functions that all tools share. A tool parses its options, adds the columns of its output, and calls
# `trace PROGRAM [COMMAND ARGUMENT...]`, which executes dtrace. In PROGRAM, `wanted` is whether the current process is
# to be traced.
#
# A tool may redefine require_all_processes(), which runs if the user names neither a process nor a command.
tool=${0##*/}
pid=
dtrace=$here/dtrace
[ -x "$dtrace" ] || dtrace=$here/../dtrace/dtrace
[ -x "$dtrace" ] || dtrace=dtrace

die() {
    echo "$tool: $*" >&2
    exit 1
}

# Prints the variable `usage` and exits: successfully for -h, otherwise with status 2.
show_usage() {
    if [ "$1" = 0 ]; then echo "$usage"; else echo "$usage" >&2; fi
    exit "$1"
}

# Sets `pid` to the argument of -p.
set_pid() {
    case $1 in
    '' | *[!0-9]*) die "-p takes the number of a process, not '$1'" ;;
    esac
    pid=$1
}

# Ends the tool with the usage if the user names neither a process nor a command. The arguments are the command.
require_target() {
    [ -n "$pid" ] || [ $# -gt 0 ] || {
        echo "$tool: name a process with -p, or a command" >&2
        show_usage 2
    }
}

# The functions that a tool traces, as the module of a probe description, and the D expression that is the name of such
# a function. set_library sets them to those of a library (-u), or to those of all libraries and the program if its
# argument is empty (-U).
library=a.out function_name=probefunc
set_library() {
    case $1 in
    *[!A-Za-z0-9_.+*?-]*) die "-u takes the name of a library, such as libc, not '$1'" ;;
    '') function_name='strjoin(probemod, strjoin("`", probefunc))' ;;
    *) function_name=probefunc ;;
    esac
    library=$1
}

# Prints a text as a string literal of D.
d_string() {
    printf '"%s"' "$(printf %s "$1" | sed 's/[\\"]/\\&/g')"
}

# Prints a word such that dtrace -c reads it unchanged.
quoted() {
    printf "'%s' " "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

# Prints the D expression that is the name of the current error, or "".
error_name() {
    for name in \
        EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK \
        EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE \
        EROFS EMLINK EPIPE EDOM ERANGE EDEADLOCK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENOMSG EIDRM \
        ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT \
        EBFONT ENOSTR ENODATA ETIME ENOSR ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP \
        EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ \
        ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT \
        ESOCKTNOSUPPORT ENOTSUP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH \
        ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT \
        ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM \
        EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED \
        EOWNERDEAD ENOTRECOVERABLE ERFKILL; do
        printf 'errno == %s ? "%s" : ' "$name" "$name"
    done
    printf '""'
}

# add_column HEAD_FORMAT HEAD FORMAT [VALUE]: adds a column to the lines of the output.
columns= heads= head_values= values=
add_column() {
    heads="$heads${heads:+ }$1" head_values="$head_values, \"$2\""
    columns="$columns${columns:+ }$3" values="$values${4:+, $4}"
}
# Prints the D statement that prints a line.
print_columns() {
    printf 'printf("%s\\n"%s);' "$columns" "$values"
}

# add_table NAME TITLE UNIT: adds D statements to `tables` that print the table @NAME, which is indexed by a string. The
# columns have the heads `key_head` and UNIT. If `totals` is set, the sum of the values is also printed.
tables= key_head= totals=
add_table() {
    tables="$tables printf(\"$2\n\n%20s %18s\n\", \"$key_head\", \"$3\"); printa(\"%20s %@18d\n\", @$1);"
    [ -z "$totals" ] || tables="$tables printa(\"             TOTAL: %@18d\n\", @$1_total);"
    tables="$tables printf(\"\n\");"
}
# add_value NAME KEY VALUE: prints the D statements that add a value to the table @NAME.
add_value() {
    printf '@%s[%s] = %s; ' "$1" "$2" "$3"
    [ -z "$totals" ] || printf '@%s_total = %s; ' "$1" "$3"
}

# Ends the tool if not all processes can be traced. A tool that sets needs_module requires the kernel module for this.
needs_module=
require_all_processes() {
    [ -z "$needs_module" ] || "$dtrace" -en 'BEGIN { trace(curthread); }' >/dev/null 2>&1 ||
        die "name a process with -p, or a command, because all processes can be traced only with the kernel" \
            "module; 'dtrace -lP fbt' says why it cannot be used"
    "$dtrace" -en 'syscall::read:entry' >/dev/null 2>&1 ||
        die "name a process with -p, or a command, because only root can trace all processes; 'dtrace -lP syscall' says" \
            "what is missing"
}

# A tool can set `flags`, which are more flags of dtrace, and `runner`, a command that executes dtrace.
flags='-x evaltime=exec' runner=
trace() {
    program=$1
    shift
    only='pid == $target || progenyof($target)'
    if [ -n "$pid" ]; then
        [ $# = 0 ] || die "name a process with -p or a command, not both"
        set -- -p "$pid"
    elif [ $# -gt 0 ]; then
        words=
        for word in "$@"; do words="$words$(quoted "$word")"; done
        # The command loads its libraries after tracing has begun.
        [ "$library" = a.out ] || flags="$flags -Z"
        set -- -c "$words"
    else
        require_all_processes
        only='!progenyof($pid)' # dtrace's own calls are not traced
    fi
    if [ -n "$heads" ]; then
        program="dtrace:::BEGIN { printf(\"$heads\\n\"$head_values); }
$program"
    fi
    # $flags is not quoted, because each of its words is an argument.
    exec $runner "$dtrace" -q -x follow=exec $flags -n "inline int wanted = $only;
$program" "$@"
}
