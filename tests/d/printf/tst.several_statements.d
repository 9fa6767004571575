/*
 * All text that one clause prints is joined.
 * @flags: -q
 */
BEGIN { printf("a"); printf("b"); trace("c"); trace(4); printf("\n"); exit(0); }
