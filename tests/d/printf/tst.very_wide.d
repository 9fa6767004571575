/*
 * A width of several thousand characters is accepted.
 * @replace: [ ]{9999}x -> WIDE
 * @flags: -q
 */
BEGIN { printf("%10000s\n", "x"); exit(0); }
