/*
 * The names in a predicate affect the stability as well.
 * @flags: -e -v
 * @stderr
 */
BEGIN /htons(1) != 0/ { trace(pid); }
