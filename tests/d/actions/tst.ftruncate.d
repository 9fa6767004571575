/*
 * ftruncate is accepted even if the output is not a regular file.
 * @flags: -q
 */
BEGIN { printf("a"); ftruncate(); printf("b\n"); exit(0); }
