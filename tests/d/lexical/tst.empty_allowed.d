/*
 * With -x empty, a program may have no clauses.
 * @flags: -e -x empty
 */
/* nothing else */
