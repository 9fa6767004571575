/*
 * With droptags, the message about a drop begins with the kind of the drop.
 * @flags: -q -x droptags
 * @stderr
 */
BEGIN { a = speculation(); b = speculation(); exit(0); }
