/*
 * If a record of END is larger than the buffer, the program is refused with a message about END.
 * @flags: -q -x bufsize=1k -x bufresize=manual -x strsize=4k
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
END { trace(execname); }
