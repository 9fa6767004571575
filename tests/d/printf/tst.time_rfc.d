/*
 * %T prints nanoseconds since 1970 in the format of mail headers.
 * @flags: -q
 */
BEGIN { printf("%T\n", 123456789000000000); exit(0); }
