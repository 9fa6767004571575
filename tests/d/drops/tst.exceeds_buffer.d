/*
 * A program is refused if one of its records is larger than the buffer.
 * @flags: -q -x bufsize=1k -x bufresize=manual -x strsize=4k
 * @exit: 1
 * @stderr
 */
string s;
BEGIN { s = execname; trace(s); exit(0); }
