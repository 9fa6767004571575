/*
 * With -x empty, a program without clauses is accepted.
 * @flags: -e -x empty
 */
/* nothing else */
