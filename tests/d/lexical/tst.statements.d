/*
 * Empty statements do nothing, and the last statement needs no semicolon.
 * @flags: -q
 */
BEGIN { ; printf("a"); ; ; printf("b"); exit(0) }
