/*
 * With droptags, the message for a drop begins with its kind.
 * @flags: -q -x droptags
 * @stderr
 */
BEGIN { a = speculation(); b = speculation(); exit(0); }
