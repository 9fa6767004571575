/*
 * A statement is as stable as the least stable name in it.
 * @flags: -e -v
 * @stderr
 */
BEGIN { trace(pid); trace(htons(1) + 1); }
