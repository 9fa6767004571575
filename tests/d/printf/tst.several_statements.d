/*
 * Everything that one clause prints is joined without separators.
 * @flags: -q
 */
BEGIN { printf("a"); printf("b"); trace("c"); trace(4); printf("\n"); exit(0); }
