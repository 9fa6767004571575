/*
 * The text of one clause is joined.
 * @flags: -q
 */
BEGIN { printf("a"); printf("b"); trace("c"); trace(4); printf("\n"); exit(0); }
