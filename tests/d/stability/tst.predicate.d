/*
 * The names in a predicate also affect the stability that -v reports for the statements.
 * @flags: -e -v
 * @stderr
 */
BEGIN /htons(1) != 0/ { trace(pid); }
