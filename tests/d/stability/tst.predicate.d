/*
 * What a predicate names counts, too.
 * @flags: -e -v
 * @stderr
 */
BEGIN /htons(1) != 0/ { trace(pid); }
