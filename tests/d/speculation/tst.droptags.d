/*
 * With droptags a drop says its kind.
 * @flags: -q -x droptags
 * @stderr
 */
BEGIN { a = speculation(); b = speculation(); exit(0); }
